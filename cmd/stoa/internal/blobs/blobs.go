package blobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace/naming"
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

// command describes a command about one blob.
type command = cli.Command[*call]

// call is one run of such a command.
type call struct {
	*cli.Call
	id codec.BlobID
}

// onBlob returns a command about the blob that its argument names.
func onBlob(p *cli.Process, d command) *cobra.Command {
	d.Args = []string{"ID"}
	return d.Cobra(p, "blob", func(c *cli.Call, run func(*call) error) error {
		id, err := cli.Find[codec.BlobID](c.Find, "ID", c.Args[0], naming.Query{Kind: naming.Blob})
		if err != nil {
			return err
		}
		err = run(&call{c, id})
		if errors.Is(err, engine.ErrCorrupt) {
			return cli.Fail(cli.ExitDamage, err, "`stoa blob put` of the file that it was made of heals it; `stoa blob verify` says more")
		}
		return err
	})
}

func newStat(p *cli.Process) *cobra.Command {
	return onBlob(p, command{
		Name: "stat", Offline: true, Short: "Describe a blob", Long: "Describe a blob. It exits 4 if there is none.", Example: cli.ExampleDigits,
		Run: func(c *call) error {
			b, err := c.Client.BlobStat(c.Ctx, c.id)
			if err != nil {
				return err
			}
			return c.Emit(newBlobDoc(b), func(w io.Writer) {
				var t cli.Table
				t.Add("blob", b.ID.String())
				t.Add("size", fmt.Sprintf("%s (%d bytes)", cli.SizeText(b.Size), b.Size))
				t.Add("chunks", fmt.Sprint(b.Chunks))
				t.Write(w, "")
			})
		},
	})
}

func newDelete(p *cli.Process) *cobra.Command {
	var force bool
	var sure cli.Confirmation
	return onBlob(p, command{
		Name: "delete", Short: "Delete a blob",
		Long:    "Delete a blob. One that an application names is not deleted, and it exits 5, without --force.",
		Example: cli.ExampleDigits + "\n" + cli.ExampleDigits + " --force",
		Flags: func(fs *pflag.FlagSet) {
			sure.Register(fs)
			fs.BoolVar(&force, "force", false, "delete it even if an application names it")
		},
		Run: func(c *call) error {
			b, err := c.Client.BlobStat(c.Ctx, c.id)
			if err != nil && !errors.Is(err, engine.ErrCorrupt) { // one that is damaged can go too
				return err
			}
			had := cli.SizeText(b.Size)
			if err != nil {
				had = "damaged"
			}
			err = sure.Confirm(c.Ctx, p, func() (string, error) { return fmt.Sprintf("delete the blob %s, %s", c.id, had), nil })
			if err != nil {
				return err
			}
			if err := c.Client.BlobDelete(c.Ctx, c.id, force); err != nil {
				return err
			}
			done := struct {
				ID      string `json:"blob_id"`
				Deleted bool   `json:"deleted"`
				Size    uint64 `json:"size"`
			}{c.id.String(), true, b.Size}
			return c.Emit(done, func(w io.Writer) { fmt.Fprintf(w, "deleted %s, %s\n", c.id, had) })
		},
	})
}

func newList(p *cli.Process) *cobra.Command {
	return cli.Command[*cli.Call]{
		Name: "list", Offline: true, Short: "List all blobs in the order of their ids", Example: "\n--json",
		Run: func(c *cli.Call) error {
			w := bufio.NewWriter(c.Stdout)
			blobs, bytes := 0, uint64(0)
			for b, err := range c.Client.BlobList(c.Ctx) {
				if err != nil {
					return errors.Join(err, w.Flush())
				}
				blobs, bytes = blobs+1, bytes+b.Size
				if c.JSON {
					err = cli.WriteJSON(w, newBlobDoc(b))
				} else {
					_, err = fmt.Fprintf(w, "%s  %10s  %4d\n", b.ID, cli.SizeText(b.Size), b.Chunks)
				}
				if err != nil {
					return err
				}
			}
			c.Guide(cli.Count(blobs, "blob") + ", " + cli.SizeText(bytes))
			return w.Flush()
		},
	}.Cobra(p, "blob", cli.Plainly)
}

// transferred returns the error of a transfer; where it was interrupted, that is
// what it says.
func transferred(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return cli.Bad(errors.New("interrupted: nothing of the blob is left behind"), "")
	}
	return err
}
