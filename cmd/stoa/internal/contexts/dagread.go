package contexts

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc"
)

func newDagHeads(p *cli.Process) *cobra.Command {
	return onContext(p, "dag", command{
		Name: "heads", Offline: true, Short: "Show the heads and the root of a context", Long: "Show the deltas that no other names as its parent, and the root.",
		Run: func(c *call) error {
			heads, root, err := c.dag.Heads(c.Ctx, c.context)
			if err != nil {
				return err
			}
			type headDoc struct {
				ID  string   `json:"delta_id"`
				HLC stampDoc `json:"hlc"`
				Seq uint64   `json:"seq,string"`
			}
			d := struct {
				Root   string    `json:"root_hash"`
				Heads  []string  `json:"heads"`
				Deltas []headDoc `json:"deltas"` // the heads
			}{root.String(), []string{}, []headDoc{}}
			for _, h := range heads {
				d.Heads = append(d.Heads, h.ID.String())
				d.Deltas = append(d.Deltas, headDoc{h.ID.String(), newStampDoc(h.HLC), h.Seq})
			}
			return c.Emit(d, func(w io.Writer) {
				fmt.Fprintf(w, "root  %s\n", d.Root)
				for _, h := range d.Deltas {
					fmt.Fprintf(w, "head  %s  %s by %s\n", h.ID, h.HLC.Around, h.HLC.Node)
				}
			})
		},
	})
}

// headerDoc is a delta without what it does, as JSON.
type headerDoc struct {
	ID      string   `json:"delta_id"`
	Seq     uint64   `json:"seq,string"`
	Parents []string `json:"parents"`
	HLC     stampDoc `json:"hlc"`
	Root    string   `json:"expected_root_hash"`
	Actions uint32   `json:"actions"`
	Events  uint32   `json:"events"`
	Bytes   uint32   `json:"bytes"`
	Base    bool     `json:"base,omitempty"`
	Author  string   `json:"author,omitempty"` // who has signed it
}

func newHeaderDoc(h rpc.Header) headerDoc {
	return headerDoc{h.Position.Delta.String(), h.Seq, cli.Texts(h.Parents), newStampDoc(h.HLC), h.ExpectedRoot.String(), h.Actions, h.Events, h.Size, h.Base, authorText(h.Author)}
}

// authorText is who has signed a delta, as JSON has it.
func authorText(who codec.Identity) string {
	if who.IsZero() {
		return ""
	}
	return who.String()
}

// walkFlags say what part of a history is shown.
type walkFlags struct {
	from  []string
	limit int
}

func (f *walkFlags) register(fs *pflag.FlagSet, limit int) {
	fs.StringSliceVar(&f.from, "from", nil, "the deltas to begin with (default: the heads)")
	fs.IntVar(&f.limit, "limit", limit, "the most deltas; 0: all")
}

func (f *walkFlags) walk(c *call) (func(func(rpc.Header, error) bool), error) {
	o := dag.WalkOptions{Limit: f.limit}
	if f.limit < 0 {
		return nil, cli.Bad(fmt.Errorf("--limit: %d is less than 0", f.limit), "")
	}
	var err error
	if o.From, err = c.deltaArgs("--from", f.from); err != nil {
		return nil, err
	}
	return c.dag.Walk(c.Ctx, c.context, o), nil
}

func newDagLog(p *cli.Process) *cobra.Command {
	var f walkFlags
	return onContext(p, "dag", command{
		Name: "log", Offline: true, Short: "List applied deltas, newest first",
		Long:    "List the applied deltas of a context, newest first: the reverse of the order in which this\nnode applied them.",
		Example: "\n--limit 10 --json", Flags: func(fs *pflag.FlagSet) { f.register(fs, 0) },
		Run: func(c *call) error {
			all, err := f.walk(c)
			if err != nil {
				return err
			}
			known, err := c.names()
			if err != nil {
				return err
			}
			return cli.List(c.Process, "delta", all, func(h rpc.Header) (any, error) { return newHeaderDoc(h), nil }, func(w io.Writer, h rpc.Header) {
				d := newHeaderDoc(h)
				fmt.Fprintf(w, "%d  %s  %s by %s, %s, %s\n", d.Seq, d.ID, d.HLC.Around, madeBy(h.Author, d.HLC.Node, known), cli.Count(int(d.Actions), "action"), cli.Count(int(d.Events), "event"))
			})
		},
	})
}

// deltaDoc is a whole delta as JSON.
type deltaDoc struct {
	ID      string       `json:"delta_id"`
	State   string       `json:"state,omitempty"`
	Seq     uint64       `json:"seq,string,omitempty"`
	Base    bool         `json:"base,omitempty"`
	Context string       `json:"context_id"`
	Parents []string     `json:"parents"`
	Actions []actionDoc  `json:"actions"`
	HLC     stampDoc     `json:"hlc"`
	Author  string       `json:"author,omitempty"` // who has signed it, if it is applied
	Root    string       `json:"expected_root_hash"`
	Events  []eventDoc   `json:"events"`
	Bytes   cli.HexBytes `json:"bytes,omitempty"` // with --bytes

	madeBy string // for people
}

type actionDoc struct {
	Kind   string        `json:"kind"`
	AppKey cli.HexBytes  `json:"app_key"`
	Value  *cli.HexBytes `json:"value,omitempty"`
}

type eventDoc struct {
	Kind string       `json:"kind"`
	Data cli.HexBytes `json:"data"`
}

func newDeltaDoc(delta *dag.Delta, id codec.DeltaID) deltaDoc {
	d := deltaDoc{
		ID: id.String(), Context: delta.Context.String(), Parents: cli.Texts(delta.Parents), Actions: []actionDoc{},
		HLC: newStampDoc(delta.HLC), Root: delta.ExpectedRoot.String(), Events: []eventDoc{},
	}
	for _, a := range delta.Actions {
		doc := actionDoc{Kind: a.Kind.String(), AppKey: a.Key}
		if a.Kind == codec.ActionPut {
			doc.Value = (*cli.HexBytes)(&a.Value)
		}
		d.Actions = append(d.Actions, doc)
	}
	for _, e := range delta.Events {
		d.Events = append(d.Events, eventDoc{e.Kind, e.Data})
	}
	return d
}

func (d deltaDoc) write(w io.Writer) {
	var t cli.Table
	t.Add("delta", d.ID)
	if d.State != "" {
		t.Add("state", d.State)
	}
	if d.Seq != 0 {
		t.Add("seq", fmt.Sprint(d.Seq))
	}
	t.Add("context", d.Context)
	for _, parent := range d.Parents {
		t.Add("parent", parent)
	}
	t.Add("time", fmt.Sprintf("%s by %s", d.HLC.Around, d.madeBy))
	t.Add("root", d.Root)
	for _, a := range d.Actions {
		text := cli.Shorten(bytesText(a.AppKey), cli.LineText)
		if a.Value != nil {
			text += " = " + cli.Shorten(bytesText(*a.Value), cli.LineText)
		}
		t.Add(a.Kind, text)
	}
	for _, e := range d.Events {
		t.Add("event", cli.Plain(e.Kind)+" "+cli.Shorten(bytesText(e.Data), cli.LineText))
	}
	t.Write(w, "")
}

func newDagShow(p *cli.Process) *cobra.Command {
	var asBytes bool
	return onContext(p, "dag", command{
		Name: "show", Offline: true, Args: []string{"DELTA"}, Short: "Show one delta",
		Long:    "Show one delta that is here, applied or waiting. It exits 4 if there is none. --bytes prints\nwhat travels, in hex.",
		Example: cli.ExampleDigits, Flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&asBytes, "bytes", false, "print its bytes as they travel, in hex")
		},
		Run: func(c *call) error {
			id, err := c.deltaArg("DELTA", c.Args[0])
			if err != nil {
				return err
			}
			delta, state, err := c.dag.Get(c.Ctx, c.context, id)
			if err != nil {
				return err
			}
			d := newDeltaDoc(delta, id)
			d.State = state.String()
			if err := c.addPlace(&d, id, state); err != nil {
				return err
			}
			if !asBytes {
				return c.Emit(d, d.write)
			}
			if d.Bytes, err = delta.AppendBinary(nil); err != nil {
				return err
			}
			return c.Emit(d, func(w io.Writer) { fmt.Fprintf(w, "%x\n", []byte(d.Bytes)) })
		},
	})
}

// addPlace adds the place of a delta in this node's order, and who has signed it.
func (c *call) addPlace(d *deltaDoc, id codec.DeltaID, state dag.DeltaState) error {
	var h rpc.Header
	if state == dag.StateApplied {
		for at, err := range c.dag.Walk(c.Ctx, c.context, dag.WalkOptions{From: []codec.DeltaID{id}, Limit: 1}) {
			if err != nil {
				return err
			}
			h = at
		}
	}
	known, err := c.names()
	d.Seq, d.Base, d.Author, d.madeBy = h.Seq, h.Base, authorText(h.Author), madeBy(h.Author, d.HLC.Node, known)
	return err
}

func newDagMissing(p *cli.Process) *cobra.Command {
	return onContext(p, "dag", command{
		Name: "missing", Offline: true, Short: "List deltas that others wait for and that are not here", Long: "List the deltas to ask other nodes for, in the order of their ids.",
		Run: func(c *call) error {
			return cli.List(c.Process, "delta", c.dag.Missing(c.Ctx, c.context), func(id codec.DeltaID) (any, error) { return map[string]string{"delta_id": id.String()}, nil },
				func(w io.Writer, id codec.DeltaID) { fmt.Fprintln(w, id) })
		},
	})
}

func newDagPending(p *cli.Process) *cobra.Command {
	return onContext(p, "dag", command{
		Name: "pending", Offline: true, Short: "List deltas that wait", Long: "List the deltas that wait for others, in the order in which they came.",
		Run: func(c *call) error {
			return cli.List(c.Process, "delta", c.dag.Pending(c.Ctx, c.context), func(d dag.PendingDelta) (any, error) {
				return struct {
					ID      string `json:"delta_id"`
					Arrival uint64 `json:"arrival,string"`
					Bytes   uint64 `json:"bytes"`
				}{d.ID.String(), d.Arrival, d.Bytes}, nil
			}, func(w io.Writer, d dag.PendingDelta) { fmt.Fprintf(w, "%s  %s\n", d.ID, cli.SizeText(d.Bytes)) })
		},
	})
}

func newDagRefused(p *cli.Process) *cobra.Command {
	return onContext(p, "dag", command{
		Name: "refused", Offline: true, Short: "List deltas that were refused", Long: "List the refusals that are remembered, the oldest first.",
		Run: func(c *call) error {
			return cli.List(c.Process, "delta", c.dag.Refusals(c.Ctx, c.context, 0), func(r dag.ListedRefusal) (any, error) { return newRefusalDoc(&r.Refusal), nil },
				func(w io.Writer, r dag.ListedRefusal) {
					d := newRefusalDoc(&r.Refusal)
					fmt.Fprintf(w, "%s  %s\n", d.ID, d.said())
				})
		},
	})
}

func newDagAncestor(p *cli.Process) *cobra.Command {
	return onContext(p, "dag", command{
		Name: "ancestor", Offline: true, Args: []string{"A", "B"}, Short: "Tell whether a delta is an ancestor of another",
		Long: `Tell whether delta A is an ancestor of delta B: whether B was made by a node that had applied
A. Both must be applied here. No delta is its own ancestor.`,
		Example: cli.ExampleDigits + " " + cli.ExampleDigits,
		Run: func(c *call) error {
			a, err := c.deltaArg("A", c.Args[0])
			if err != nil {
				return err
			}
			b, err := c.deltaArg("B", c.Args[1])
			if err != nil {
				return err
			}
			is, err := c.dag.IsAncestor(c.Ctx, c.context, a, b)
			if err != nil {
				return err
			}
			return c.Emit(map[string]any{"ancestor": a.String(), "descendant": b.String(), "is_ancestor": is}, func(w io.Writer) {
				fmt.Fprintln(w, map[bool]string{true: "yes", false: "no"}[is])
			})
		},
	})
}
