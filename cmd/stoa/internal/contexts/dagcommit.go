package contexts

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace/naming"
)

// commitFlags are what a commit does.
type commitFlags struct {
	in                                                 bytesFlags
	puts, deletes, events, privatePuts, privateDeletes []string
	attach, detach                                     []string // blobs
	root                                               string
	level                                              cli.Durability
	bytes, empty                                       bool
}

func newDagCommit(p *cli.Process) *cobra.Command {
	var f commitFlags
	return onContext(p, "dag", command{
		Name: "commit", Short: "Make a delta on the heads of a context, and apply it",
		Long: `Make a delta on the heads of a context, and apply it. --root is the root of the state
that was read: if another delta has come meanwhile, nothing is written and it exits 5.
Without it the present root is taken. A VALUE or DATA of - is stdin, @FILE a file.
--bytes prints what to send to other nodes, in hex, one delta to a line: in a context of a group
its envelope, signed by this daemon's identity and sealed for members. A delta that does
nothing has to be meant: --empty.`,
		Example: "--put counter=1 --event changed=counter\n--put photo=" + cli.ExampleDigits + " --attach " + cli.ExampleDigits + "\n--delete counter --private-put seen=1 --bytes",
		Flags:   f.register,
		Run:     f.run,
	})
}

func (f *commitFlags) register(fs *pflag.FlagSet) {
	f.in.register(fs)
	f.level.Register(fs)
	fs.StringArrayVar(&f.puts, "put", nil, "KEY=VALUE to put into the shared state")
	fs.StringArrayVar(&f.deletes, "delete", nil, "KEY to delete from the shared state")
	fs.StringArrayVar(&f.events, "event", nil, "KIND or KIND=DATA to tell the application's handlers")
	fs.StringArrayVar(&f.privatePuts, "private-put", nil, "KEY=VALUE to put into the private state, in the same batch")
	fs.StringArrayVar(&f.privateDeletes, "private-delete", nil, "KEY to delete from the private state, in the same batch")
	fs.StringArrayVar(&f.attach, "attach", nil, "BLOB, an id, that whoever may read the context may have: stoa sync --blobs takes it along")
	fs.StringArrayVar(&f.detach, "detach", nil, "BLOB to attach no longer")
	fs.StringVar(&f.root, "root", "", "the root of the state that was read (default: the present one)")
	fs.BoolVar(&f.empty, "empty", false, "make a delta that does nothing, such as one that joins the heads")
	fs.BoolVar(&f.bytes, "bytes", false, "print the bytes to send to other nodes, in hex")
}

func (f *commitFlags) run(c *call) (err error) {
	commit := dag.Commit{Context: c.context, Durability: engine.Durability(f.level)}
	if commit.Actions, err = f.actions(c.Process, "--put", f.puts, "--delete", f.deletes); err != nil {
		return err
	}
	if err = f.attachments(c, &commit); err != nil {
		return err
	}
	if commit.Private, err = f.actions(c.Process, "--private-put", f.privatePuts, "--private-delete", f.privateDeletes); err != nil {
		return err
	}
	if commit.Events, err = f.told(c.Process); err != nil {
		return err
	}
	if len(commit.Actions)+len(commit.Events)+len(commit.Private) == 0 && !f.empty {
		return cli.Bad(errors.New("dag commit: nothing to commit"), "say what it does with --put, --delete, --attach or --event; --empty makes a delta that does nothing")
	}
	if f.root != "" {
		commit.ReadRoot, err = cli.ParseID[codec.Hash]("--root", f.root)
	} else {
		_, commit.ReadRoot, err = c.dag.Heads(c.Ctx, c.context)
	}
	if err != nil {
		return err
	}
	done, err := c.dag.Commit(c.Ctx, commit)
	if err != nil {
		return err
	}
	d := struct {
		ID        string         `json:"delta_id"`
		Seq       uint64         `json:"seq,string"`
		Root      string         `json:"root_hash"`
		Deltas    []cli.HexBytes `json:"deltas"`
		Envelopes []cli.HexBytes `json:"envelopes,omitempty"` // in place of Deltas, where they are signed
		Ops       []cli.HexBytes `json:"ops,omitempty"`       // of governance, which go before
	}{ID: done.Delta.String(), Seq: done.Seq, Root: done.Root.String()}
	d.Deltas, d.Envelopes, d.Ops = hexOf(done.Deltas), hexOf(done.Envelopes), hexOf(done.Ops)
	return c.Emit(d, func(w io.Writer) {
		if f.bytes {
			for _, b := range slices.Concat(done.Deltas, done.Envelopes) {
				fmt.Fprintf(w, "%x\n", b)
			}
			return
		}
		var t cli.Table
		t.Add("delta", d.ID)
		t.Add("root", d.Root)
		t.Write(w, "")
	})
}

// attachments adds to a commit what attaches blobs, and detaches others.
func (f *commitFlags) attachments(c *call, commit *dag.Commit) error {
	for _, text := range f.attach {
		id, err := cli.Find[codec.BlobID](c.Find, "--attach", text, naming.Query{Kind: naming.Blob})
		if err != nil {
			return err
		}
		a, err := c.Client.BlobAttachment(c.Ctx, c.context, id)
		if err != nil {
			return err
		}
		commit.Actions = append(commit.Actions, codec.Put(a.AppKey, a.Value))
	}
	for _, text := range f.detach {
		id, err := cli.Find[codec.BlobID](c.Find, "--detach", text, naming.Query{Kind: naming.Blob})
		if err != nil {
			return err
		}
		commit.Actions = append(commit.Actions, codec.Delete(blob.AttachedKey(id)))
	}
	return nil
}

func hexOf(all [][]byte) (list []cli.HexBytes) {
	for _, b := range all {
		list = append(list, b)
	}
	return list
}

// actions returns the puts and the deletes of one state.
func (f *commitFlags) actions(p *cli.Process, put string, puts []string, del string, deletes []string) (list []codec.Action, err error) {
	for _, text := range puts {
		key, value, err := f.in.pair(p, put, text)
		if err != nil {
			return nil, err
		}
		list = append(list, codec.Put(key, value))
	}
	for _, text := range deletes {
		key, err := f.in.written(del, text)
		if err != nil {
			return nil, err
		}
		list = append(list, codec.Delete(key))
	}
	return list, nil
}

func (f *commitFlags) told(p *cli.Process) (list []codec.Event, err error) {
	for _, text := range f.events {
		e := codec.Event{Kind: text}
		if kind, data, ok := strings.Cut(text, "="); ok {
			e.Kind = kind
			if e.Data, err = f.in.value(p, "--event", data); err != nil {
				return nil, err
			}
		}
		list = append(list, e)
	}
	return list, nil
}
