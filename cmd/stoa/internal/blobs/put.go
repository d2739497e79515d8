package blobs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
)

func newPut(p *cli.Process) *cobra.Command {
	var idText string
	var id codec.BlobID
	return cli.Command[*cli.Call]{
		Name: "put", Args: []string{"FILE|-"}, Short: "Store a file, or stdin, as a blob, and print its id",
		Long: `Store a file, or stdin, as a blob, and print its id. A file is hashed first, so that
one that is there already is not sent again. What is damaged of a blob that is there is
written anew, and said. --id declares the id; content that has another one is refused.`,
		Example: "app.wasm\n  curl -s https://example.org/app.wasm | stoa blob put -",
		Flags:   func(fs *pflag.FlagSet) { fs.StringVar(&idText, "id", "", "the SHA-256 of the content, in hex") },
		Check: func() (err error) {
			if idText != "" {
				id, err = cli.ParseID[codec.BlobID]("--id", idText)
			}
			return err
		},
		Run: func(c *cli.Call) error {
			u := upload{Process: p, path: c.Args[0], options: rpc.BlobPutOptions{ID: id}}
			b, existed, err := u.run(c.Ctx, c.Client)
			if err != nil {
				return transferred(c.Ctx, err)
			}
			d := newBlobDoc(b)
			d.Existed = &existed
			if h := b.Healed; h != (blob.Healing{}) {
				d.Healed = &healedDoc{h.Chunks, h.Manifest, h.Surplus}
			}
			return p.Emit(d, func(w io.Writer) {
				fmt.Fprintln(w, b.ID)
				switch {
				case b.Healed != (blob.Healing{}):
					fmt.Fprintln(p.Stderr, "it was there, damaged: "+healedText(b.Healed))
				case existed:
					fmt.Fprintln(p.Stderr, "it was there already")
				}
			})
		},
	}.Cobra(p, "blob", cli.Plainly)
}

// healedText says what an upload has made good.
func healedText(h blob.Healing) string {
	var parts []string
	if h.Chunks > 0 {
		parts = append(parts, cli.Count(uint64(h.Chunks), "chunk")+" written anew")
	}
	if h.Manifest {
		parts = append(parts, "the manifest written anew")
	}
	if h.Surplus {
		parts = append(parts, "chunks beyond the last removed")
	}
	return strings.Join(parts, ", ")
}

// upload is one blob on its way to the daemon.
type upload struct {
	*cli.Process
	path    string
	options rpc.BlobPutOptions
}

func (u *upload) run(ctx context.Context, client *rpc.Client) (b blob.Info, existed bool, err error) {
	if u.path == "-" {
		return u.send(ctx, client, abandonable(ctx, u.Stdin))
	}
	f, err := os.Open(u.path)
	if err != nil {
		return b, false, cli.Bad(err, "")
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return b, false, cli.Bad(err, "")
	case st.IsDir():
		return b, false, cli.Bad(fmt.Errorf("%s is a directory", u.path), "name a file, or - for stdin")
	case !st.Mode().IsRegular():
		return u.send(ctx, client, abandonable(ctx, f))
	case st.Size() > blob.MaxSize:
		return b, false, fmt.Errorf("%w: %s has %s, a blob at most %s", engine.ErrTooLarge, u.path, cli.SizeText(uint64(st.Size())), cli.SizeText(blob.MaxSize))
	}
	u.options.Size = uint64(st.Size())
	if !u.options.ID.IsZero() { // declared, which the daemon checks, there already or not
		return u.send(ctx, client, f)
	}
	if err := u.hash(ctx, f); err != nil {
		return b, false, err
	}
	whole, err := u.isWhole(ctx, client)
	if err != nil {
		return b, false, err
	}
	if whole {
		b, err = client.BlobStat(ctx, u.options.ID)
		if err == nil || !errors.Is(err, engine.ErrNotFound) {
			return b, true, err
		}
	}
	return u.send(ctx, client, f)
}

// isWhole reports whether the blob is there, with nothing of it damaged. A daemon that
// is too old to say so compares what it is sent.
func (u *upload) isWhole(ctx context.Context, client *rpc.Client) (bool, error) {
	v, err := client.BlobVerify(ctx, blob.VerifyOptions{ID: u.options.ID}, func(blob.Damage) error { return nil })
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrUnsupported) {
		return false, nil
	}
	return v.Damaged == 0, err
}

// hash finds the id of a file, which is at its start before and after.
func (u *upload) hash(ctx context.Context, f *os.File) error {
	bar := transfer(u.Process, "hashing", u.options.Size)
	sum := sha256.New()
	_, err := io.Copy(io.MultiWriter(sum, bar), untilDone{ctx, f})
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	u.options.ID = codec.BlobID(sum.Sum(nil))
	return errors.Join(err, bar.Finish())
}

func (u *upload) send(ctx context.Context, client *rpc.Client, content io.Reader) (blob.Info, bool, error) {
	bar := transfer(u.Process, "sending", u.options.Size)
	b, existed, err := client.BlobPut(ctx, io.TeeReader(content, bar), u.options)
	return b, existed, errors.Join(err, bar.Finish())
}

// untilDone is a reader that fails once its context is done.
type untilDone struct {
	ctx context.Context
	io.Reader
}

// Read reads on, or fails with the error of the context.
func (r untilDone) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// abandonable returns a reader of what r has that fails once ctx is done, even
// while r keeps it waiting, as a pipe may. Who waits for r then is left behind,
// until r or the process ends.
func abandonable(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	go func() {
		_, err := io.Copy(in, r)
		in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	return out
}
