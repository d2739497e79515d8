package blobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc"
)

func newBlob(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("blob", "Store and read content-addressed binary data",
		"  stoa blob put app.wasm\n  stoa blob get "+cli.ExampleDigits+" -o app.wasm\n  stoa blob list",
		newPut(p), newGet(p), newStat(p), newDelete(p), newList(p), newVerify(p))
	cmd.Long = `Store and read binary data of up to 4 GiB. The id of a blob is the SHA-256 of its
content, which is checked on the way in and out.`
	return cmd
}

// blobDoc is a blob as JSON.
type blobDoc struct {
	ID      string `json:"blob_id"`
	Size    uint64 `json:"size"`
	Chunks  uint32 `json:"chunks"`
	Existed *bool  `json:"existed,omitempty"` // of put: it was there already
	File    string `json:"file,omitempty"`    // of get: where it was written

	Healed *healedDoc `json:"healed,omitempty"` // of put: what was damaged
}

// healedDoc is what an upload has made good, as JSON.
type healedDoc struct {
	Chunks   uint32 `json:"chunks"`
	Manifest bool   `json:"manifest"`
	Surplus  bool   `json:"surplus"`
}

func newBlobDoc(b blob.Info) blobDoc {
	return blobDoc{ID: b.ID.String(), Size: b.Size, Chunks: b.Chunks}
}

func newStat(p *cli.Process) *cobra.Command {
	var from cli.ReadFlags
	cmd := &cobra.Command{
		Use:     "stat ID",
		Short:   "Describe a blob",
		Long:    "Describe a blob. It exits 4 if there is none.",
		Example: "  stoa blob stat " + cli.ExampleDigits,
		Args:    cli.Exactly("ID"),
		RunE: func(_ *cobra.Command, args []string) error {
			return onBlob(p, from.Dial, args[0], func(ctx context.Context, client *rpc.Client, id codec.BlobID) error {
				b, err := client.BlobStat(ctx, id)
				if err != nil {
					return err
				}
				return p.Emit(newBlobDoc(b), func(w io.Writer) {
					var t cli.Table
					t.Add("blob", b.ID.String())
					t.Add("size", fmt.Sprintf("%s (%d bytes)", cli.SizeText(b.Size), b.Size))
					t.Add("chunks", fmt.Sprint(b.Chunks))
					t.Write(w, "")
				})
			})
		},
	}
	from.Register(cmd.Flags())
	return cmd
}

func newDelete(p *cli.Process) *cobra.Command {
	var daemon cli.DaemonFlags
	var force bool
	var sure cli.Confirmation
	cmd := &cobra.Command{
		Use:     "delete ID",
		Short:   "Delete a blob",
		Long:    "Delete a blob. One that an application names is not deleted, and it exits 5, without --force.",
		Example: "  stoa blob delete " + cli.ExampleDigits + "\n  stoa blob delete " + cli.ExampleDigits + " --force",
		Args:    cli.Exactly("ID"),
		RunE: func(_ *cobra.Command, args []string) error {
			return onBlob(p, daemon.Dial, args[0], func(ctx context.Context, client *rpc.Client, id codec.BlobID) error {
				b, err := client.BlobStat(ctx, id)
				if err != nil && !errors.Is(err, engine.ErrCorrupt) { // one that is damaged can go too
					return err
				}
				had := cli.SizeText(b.Size)
				if err != nil {
					had = "damaged"
				}
				err = sure.Confirm(ctx, p, func() (string, error) { return fmt.Sprintf("delete the blob %s, %s", id, had), nil })
				if err != nil {
					return err
				}
				if err := client.BlobDelete(ctx, id, force); err != nil {
					return err
				}
				done := struct {
					ID      string `json:"blob_id"`
					Deleted bool   `json:"deleted"`
					Size    uint64 `json:"size"`
				}{id.String(), true, b.Size}
				return p.Emit(done, func(w io.Writer) { fmt.Fprintf(w, "deleted %s, %s\n", id, had) })
			})
		},
	}
	daemon.Register(cmd.Flags())
	sure.Register(cmd.Flags())
	cmd.Flags().BoolVar(&force, "force", false, "delete it even if an application names it")
	return cmd
}

func newList(p *cli.Process) *cobra.Command {
	var from cli.ReadFlags
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all blobs in the order of their ids",
		Example: "  stoa blob list\n  stoa blob list --json",
		Args:    cli.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			ctx, forget := cli.Interruptible()
			defer forget()
			client, err := from.Dial(p)
			if err != nil {
				return err
			}
			defer client.Close()
			w := bufio.NewWriter(p.Stdout)
			blobs, bytes := 0, uint64(0)
			for b, err := range client.BlobList(ctx) {
				if err != nil {
					return errors.Join(err, w.Flush())
				}
				blobs, bytes = blobs+1, bytes+b.Size
				if p.JSON {
					err = cli.WriteJSON(w, newBlobDoc(b))
				} else {
					_, err = fmt.Fprintf(w, "%s  %10s  %4d\n", b.ID, cli.SizeText(b.Size), b.Chunks)
				}
				if err != nil {
					return err
				}
			}
			if !p.JSON {
				fmt.Fprintf(p.Stderr, "%s, %s\n", cli.Count(blobs, "blob"), cli.SizeText(bytes))
			}
			return w.Flush()
		},
	}
	from.Register(cmd.Flags())
	return cmd
}

// onBlob calls do with the daemon and the blob that an argument names, and a
// context that Ctrl-C ends.
func onBlob(p *cli.Process, dial func(*cli.Process) (*rpc.Client, error), arg string, do func(context.Context, *rpc.Client, codec.BlobID) error) error {
	ctx, forget := cli.Interruptible()
	defer forget()
	client, err := dial(p)
	if err != nil {
		return err
	}
	defer client.Close()
	id, err := cli.Find[codec.BlobID](cli.FinderOf(ctx, client), "ID", arg, naming.Query{Kind: naming.Blob})
	if err != nil {
		return err
	}
	err = do(ctx, client, id)
	if errors.Is(err, engine.ErrCorrupt) {
		return cli.Fail(cli.ExitDamage, err, "`stoa blob put` of the file that it was made of heals it; `stoa blob verify` says more")
	}
	return err
}

// transferred returns the error of a transfer; where it was interrupted, that is
// what it says.
func transferred(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return cli.Bad(errors.New("interrupted: nothing of the blob is left behind"), "")
	}
	return err
}
