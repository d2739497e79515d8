package contexts

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
)

func newDagSince(p *cli.Process) *cobra.Command {
	var heads []string
	var o dag.SinceOptions
	var asBytes bool
	var limit uint
	return onContext(p, "dag", command{
		Name: "since", Offline: true, Short: "List the deltas that a node with given heads lacks",
		Long: `List the applied deltas that are neither given heads nor ancestors of them, parents first:
what a node with these heads lacks. --bytes prints what to send to it, in hex, one delta to
a line, as ` + "`stoa dag add`" + ` takes it. Of a node that was seeded, name the delta that it was seeded
with too: it can't take what is before that. --after goes on after a delta of an earlier
answer to the same heads, by its number.`,
		Example: "\n--head " + cli.ExampleDigits + " --bytes",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringSliceVar(&heads, "head", nil, "a head of that node (default: it has nothing)")
			fs.Uint64Var(&o.After.Seq, "after", 0, "the number of the delta to begin after")
			registerDeltaFlags(fs, &limit, &asBytes)
		},
		Run: func(c *call) error {
			has, err := c.deltaArgs("--head", heads)
			if err != nil {
				return err
			}
			o.Unknown = func(ids []codec.DeltaID) {
				for _, id := range ids {
					fmt.Fprintf(c.Stderr, "head %s is not here: it is left out of account\n", id)
				}
			}
			return c.emitApplied(c.dag.Since(c.Ctx, c.context, has, o), limit, asBytes, func(dag.Position) error { return nil })
		},
	})
}

// registerDeltaFlags adds the flags of commands that list whole deltas.
func registerDeltaFlags(fs *pflag.FlagSet, limit *uint, asBytes *bool) {
	fs.UintVar(limit, "limit", 0, "the most deltas; 0: all")
	fs.BoolVar(asBytes, "bytes", false, "print the bytes of each delta as they travel, in hex")
}

// emitApplied prints deltas as they come, at most limit of them unless that is 0,
// and calls done after each.
func (c *call) emitApplied(all iter.Seq2[dag.AppliedDelta, error], limit uint, asBytes bool, done func(dag.Position) error) error {
	n := uint(0)
	for a, err := range all {
		if err != nil {
			return c.UntilInterrupted(err)
		}
		n++
		if a.Withdrawn {
			err = c.emitWithdrawn(a.Position)
		} else {
			err = c.emitDelta(&a, asBytes)
		}
		if err == nil {
			err = done(a.Position)
		}
		if err != nil {
			return err
		}
		if n == limit {
			break
		}
	}
	c.Guide(cli.Count(int(n), "delta"))
	return nil
}

// emitDelta prints a delta.
func (c *call) emitDelta(a *dag.AppliedDelta, asBytes bool) (err error) {
	d := newDeltaDoc(a.Delta, a.Position.Delta)
	d.Seq, d.Base = a.Seq, a.Base
	if asBytes {
		if d.Bytes, err = a.Delta.AppendBinary(nil); err != nil {
			return err
		}
	}
	return c.Emit(d, func(w io.Writer) {
		if asBytes {
			fmt.Fprintf(w, "%x\n", []byte(d.Bytes))
			return
		}
		fmt.Fprintf(w, "%d  %s  %s, %s\n", d.Seq, d.ID, cli.Count(len(d.Actions), "action"), cli.Count(len(d.Events), "event"))
		for _, e := range d.Events {
			fmt.Fprintf(w, "  event %s %s\n", cli.Plain(e.Kind), cli.Shorten(bytesText(e.Data), cli.LineText))
		}
	})
}

// emitWithdrawn prints that a delta is applied no more.
func (c *call) emitWithdrawn(at dag.Position) error {
	return c.Emit(struct {
		ID        string `json:"delta_id"`
		Seq       uint64 `json:"seq,string"`
		Withdrawn bool   `json:"withdrawn"`
		Context   string `json:"context_id"`
	}{at.Delta.String(), at.Seq, true, c.context.String()}, func(w io.Writer) {
		fmt.Fprintf(w, "%d  %s  withdrawn: its writes are undone\n", at.Seq, at.Delta)
	})
}

func newDagFollow(p *cli.Process) *cobra.Command {
	var o dag.FollowOptions
	var ack, asBytes bool
	var limit uint
	return onContext(p, "dag", command{
		Name: "follow", Offline: true, Short: "List deltas and their events in the order in which this node applied them",
		Long: `List deltas and their events in the order in which this node applied them, and with
--live go on as they are applied, until Ctrl-C. --cursor begins after what a named cursor
has acknowledged; --ack acknowledges each delta once it is printed.`,
		Example: "\n--cursor app --ack --live --json",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&o.Cursor, "cursor", "", "the cursor to go on from")
			fs.Uint64Var(&o.From, "after", 0, "the number of the delta to begin after")
			fs.BoolVar(&o.Live, "live", false, "wait for more")
			fs.BoolVar(&ack, "ack", false, "move the cursor behind each delta that was printed")
			registerDeltaFlags(fs, &limit, &asBytes)
		},
		Check: func() error {
			if ack && o.Cursor == "" {
				return cli.Bad(errors.New("--ack moves a cursor: name it with --cursor"), "")
			}
			return nil
		},
		Run: func(c *call) error {
			return c.emitApplied(c.dag.Follow(c.Ctx, c.context, o), limit, asBytes, func(at dag.Position) error {
				if !ack {
					return nil
				}
				return c.dag.Ack(c.Ctx, c.context, o.Cursor, at, engine.Synced)
			})
		},
	})
}

func newDagCursors(p *cli.Process) *cobra.Command {
	var drop string
	return onContext(p, "dag", command{
		Name: "cursors", Offline: true, Short: "List the cursors of a context, or drop one",
		Long: "List the named cursors of a context and the deltas that they have acknowledged, or drop one.", Example: "\n--drop app",
		Flags: func(fs *pflag.FlagSet) { fs.StringVar(&drop, "drop", "", "the cursor to drop") },
		Run: func(c *call) error {
			if drop != "" {
				existed, err := c.dag.DropCursor(c.Ctx, c.context, drop)
				if err == nil && !existed {
					err = fmt.Errorf("%w: there is no cursor %s", engine.ErrNotFound, cli.Plain(drop))
				}
				if err != nil {
					return err
				}
				return c.Emit(map[string]any{"cursor": drop, "dropped": true}, func(w io.Writer) { fmt.Fprintf(w, "dropped %s\n", drop) })
			}
			return cli.List(c.Process, "cursor", c.dag.Cursors(c.Ctx, c.context), func(k dag.Cursor) (any, error) {
				return struct {
					Name string `json:"cursor"`
					Seq  uint64 `json:"seq,string"`
				}{k.Name, k.Seq}, nil
			}, func(w io.Writer, k dag.Cursor) { fmt.Fprintf(w, "%s  %d\n", cli.Plain(k.Name), k.Seq) })
		},
	})
}
