package blobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc"
)

func newGet(p *cli.Process) *cobra.Command {
	g := download{Process: p}
	return onBlob(p, command{
		Name: "get", Offline: true, Short: "Write a blob, or a part of it, to a file or to stdout",
		Long: `Write a blob, or a part of it, to a file or to stdout. The content is checked against
the id; a file appears under its name only when it is whole. Content goes to a
terminal only with -o - .`,
		Example: cli.ExampleDigits + " -o app.wasm\n" + cli.ExampleDigits + " --offset 1048576 --length 64 | xxd",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVarP(&g.out, "output", "o", "", "the file to write; - is stdout")
			fs.Uint64Var(&g.part.Offset, "offset", 0, "the first byte")
			fs.Uint64Var(&g.part.Length, "length", 0, "the most bytes; 0: to the end")
		},
		Check: g.check,
		Run:   func(c *call) error { return transferred(c.Ctx, g.run(c.Ctx, c.Client, c.id)) },
	})
}

// download is one blob on its way from the daemon.
type download struct {
	*cli.Process
	out  string
	part rpc.BlobGetOptions
}

func (g *download) toFile() bool { return g.out != "" && g.out != "-" }

func (g *download) check() error {
	switch {
	case g.JSON && !g.toFile():
		return cli.Bad(errors.New("--json needs a file for the content: -o FILE"), "")
	case g.out == "" && cli.IsTerminal(g.Stdout):
		return cli.Bad(errors.New("the content of a blob may upset a terminal"), "-o FILE writes it to a file, -o - to the terminal all the same")
	}
	return nil
}

func (g *download) run(ctx context.Context, client *rpc.Client, id codec.BlobID) error {
	if !g.toFile() {
		_, err := client.BlobGet(ctx, id, g.Stdout, g.part)
		return err
	}
	b, err := g.save(ctx, client, id)
	if err != nil {
		return err
	}
	d := newBlobDoc(b)
	d.File = g.out
	return g.Emit(d, func(w io.Writer) { fmt.Fprintf(w, "wrote %s\n", g.out) })
}

// save writes the content beside its place, and moves it there when it is whole.
func (g *download) save(ctx context.Context, client *rpc.Client, id codec.BlobID) (b blob.Info, err error) {
	whole, err := client.BlobStat(ctx, id)
	if err != nil {
		return b, err
	}
	f, err := cli.CreateBeside(g.out)
	if err != nil {
		return b, cli.Bad(fmt.Errorf("-o: %w", err), "")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	length := whole.Size - min(whole.Size, g.part.Offset)
	if g.part.Length != 0 {
		length = min(length, g.part.Length)
	}
	bar := transfer(g.Process, "receiving", length)
	b, err = client.BlobGet(ctx, id, io.MultiWriter(f, bar), g.part)
	if err = errors.Join(err, bar.Finish(), f.Close()); err != nil {
		return b, err
	}
	return b, os.Rename(f.Name(), g.out)
}
