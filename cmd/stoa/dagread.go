package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc"
)

func newDagHeads(p *process) *cobra.Command {
	return daemonCommand{
		about: aboutContext,
		name:  "heads", offline: true, short: "Show the heads and the root of a context", long: "Show the deltas that no other names as its parent, and the root.",
		run: func(c *daemonCall) error {
			heads, root, err := c.dag.Heads(c.ctx, c.context)
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
			return c.emit(d, func(w io.Writer) {
				fmt.Fprintf(w, "root  %s\n", d.Root)
				for _, h := range d.Deltas {
					fmt.Fprintf(w, "head  %s  %s by %s\n", h.ID, h.HLC.Around, h.HLC.Node)
				}
			})
		},
	}.command(p, "dag")
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
}

func newHeaderDoc(h rpc.Header) headerDoc {
	return headerDoc{h.Position.Delta.String(), h.Seq, texts(h.Parents), newStampDoc(h.HLC), h.ExpectedRoot.String(), h.Actions, h.Events, h.Size, h.Base}
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

func (f *walkFlags) walk(c *daemonCall) (func(func(rpc.Header, error) bool), error) {
	o := dag.WalkOptions{Limit: f.limit}
	if f.limit < 0 {
		return nil, bad(fmt.Errorf("--limit: %d is less than 0", f.limit), "")
	}
	var err error
	if o.From, err = c.deltaArgs("--from", f.from); err != nil {
		return nil, err
	}
	return c.dag.Walk(c.ctx, c.context, o), nil
}

func newDagLog(p *process) *cobra.Command {
	var f walkFlags
	return daemonCommand{
		about: aboutContext,
		name:  "log", offline: true, short: "List applied deltas, newest first",
		long:    "List the applied deltas of a context, newest first: the reverse of the order in which this\nnode applied them.",
		example: "\n--limit 10 --json", flags: func(fs *pflag.FlagSet) { f.register(fs, 0) },
		run: func(c *daemonCall) error {
			all, err := f.walk(c)
			if err != nil {
				return err
			}
			return list(c, "delta", all, func(h rpc.Header) (any, error) { return newHeaderDoc(h), nil }, func(w io.Writer, h rpc.Header) {
				d := newHeaderDoc(h)
				fmt.Fprintf(w, "%d  %s  %s by %s, %s, %s\n", d.Seq, d.ID, d.HLC.Around, d.HLC.Node, count(int(d.Actions), "action"), count(int(d.Events), "event"))
			})
		},
	}.command(p, "dag")
}

// deltaDoc is a whole delta as JSON.
type deltaDoc struct {
	ID      string      `json:"delta_id"`
	State   string      `json:"state,omitempty"`
	Seq     uint64      `json:"seq,string,omitempty"`
	Base    bool        `json:"base,omitempty"`
	Context string      `json:"context_id"`
	Parents []string    `json:"parents"`
	Actions []actionDoc `json:"actions"`
	HLC     stampDoc    `json:"hlc"`
	Root    string      `json:"expected_root_hash"`
	Events  []eventDoc  `json:"events"`
	Bytes   hexBytes    `json:"bytes,omitempty"` // with --bytes
}

type actionDoc struct {
	Kind   string    `json:"kind"`
	AppKey hexBytes  `json:"app_key"`
	Value  *hexBytes `json:"value,omitempty"`
}

type eventDoc struct {
	Kind string   `json:"kind"`
	Data hexBytes `json:"data"`
}

func newDeltaDoc(delta *dag.Delta, id codec.DeltaID) deltaDoc {
	d := deltaDoc{
		ID: id.String(), Context: delta.Context.String(), Parents: texts(delta.Parents), Actions: []actionDoc{},
		HLC: newStampDoc(delta.HLC), Root: delta.ExpectedRoot.String(), Events: []eventDoc{},
	}
	for _, a := range delta.Actions {
		doc := actionDoc{Kind: a.Kind.String(), AppKey: a.Key}
		if a.Kind == codec.ActionPut {
			doc.Value = (*hexBytes)(&a.Value)
		}
		d.Actions = append(d.Actions, doc)
	}
	for _, e := range delta.Events {
		d.Events = append(d.Events, eventDoc{e.Kind, e.Data})
	}
	return d
}

func (d deltaDoc) write(w io.Writer) {
	var t table
	t.add("delta", d.ID)
	if d.State != "" {
		t.add("state", d.State)
	}
	if d.Seq != 0 {
		t.add("seq", fmt.Sprint(d.Seq))
	}
	t.add("context", d.Context)
	for _, parent := range d.Parents {
		t.add("parent", parent)
	}
	t.add("time", fmt.Sprintf("%s by %s", d.HLC.Around, d.HLC.Node))
	t.add("root", d.Root)
	for _, a := range d.Actions {
		text := shortened(bytesText(a.AppKey), lineText)
		if a.Value != nil {
			text += " = " + shortened(bytesText(*a.Value), lineText)
		}
		t.add(a.Kind, text)
	}
	for _, e := range d.Events {
		t.add("event", plain(e.Kind)+" "+shortened(bytesText(e.Data), lineText))
	}
	t.write(w, "")
}

func newDagShow(p *process) *cobra.Command {
	var asBytes bool
	return daemonCommand{
		about: aboutContext,
		name:  "show", offline: true, args: []string{"DELTA"}, short: "Show one delta",
		long:    "Show one delta that is here, applied or waiting. It exits 4 if there is none. --bytes prints\nwhat travels, in hex.",
		example: exampleDigits, flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&asBytes, "bytes", false, "print its bytes as they travel, in hex")
		},
		run: func(c *daemonCall) error {
			id, err := c.deltaArg("DELTA", c.args[0])
			if err != nil {
				return err
			}
			delta, state, err := c.dag.Get(c.ctx, c.context, id)
			if err != nil {
				return err
			}
			d := newDeltaDoc(delta, id)
			d.State = state.String()
			if !asBytes {
				return c.emit(d, d.write)
			}
			if d.Bytes, err = delta.AppendBinary(nil); err != nil {
				return err
			}
			return c.emit(d, func(w io.Writer) { fmt.Fprintf(w, "%x\n", []byte(d.Bytes)) })
		},
	}.command(p, "dag")
}

func newDagMissing(p *process) *cobra.Command {
	return daemonCommand{
		about: aboutContext,
		name:  "missing", offline: true, short: "List deltas that others wait for and that are not here", long: "List the deltas to ask other nodes for, in the order of their ids.",
		run: func(c *daemonCall) error {
			return list(c, "delta", c.dag.Missing(c.ctx, c.context), func(id codec.DeltaID) (any, error) { return map[string]string{"delta_id": id.String()}, nil },
				func(w io.Writer, id codec.DeltaID) { fmt.Fprintln(w, id) })
		},
	}.command(p, "dag")
}

func newDagPending(p *process) *cobra.Command {
	return daemonCommand{
		about: aboutContext,
		name:  "pending", offline: true, short: "List deltas that wait", long: "List the deltas that wait for others, in the order in which they came.",
		run: func(c *daemonCall) error {
			return list(c, "delta", c.dag.Pending(c.ctx, c.context), func(d dag.PendingDelta) (any, error) {
				return struct {
					ID      string `json:"delta_id"`
					Arrival uint64 `json:"arrival,string"`
					Bytes   uint64 `json:"bytes"`
				}{d.ID.String(), d.Arrival, d.Bytes}, nil
			}, func(w io.Writer, d dag.PendingDelta) { fmt.Fprintf(w, "%s  %s\n", d.ID, sizeText(d.Bytes)) })
		},
	}.command(p, "dag")
}

func newDagRefused(p *process) *cobra.Command {
	return daemonCommand{
		about: aboutContext,
		name:  "refused", offline: true, short: "List deltas that were refused", long: "List the refusals that are remembered, the oldest first.",
		run: func(c *daemonCall) error {
			return list(c, "delta", c.dag.Refusals(c.ctx, c.context, 0), func(r dag.ListedRefusal) (any, error) { return newRefusalDoc(&r.Refusal), nil },
				func(w io.Writer, r dag.ListedRefusal) {
					d := newRefusalDoc(&r.Refusal)
					fmt.Fprintf(w, "%s  %s\n", d.ID, d.said())
				})
		},
	}.command(p, "dag")
}

func newDagAncestor(p *process) *cobra.Command {
	return daemonCommand{
		about: aboutContext,
		name:  "ancestor", offline: true, args: []string{"A", "B"}, short: "Tell whether a delta is an ancestor of another",
		long: `Tell whether delta A is an ancestor of delta B: whether B was made by a node that had applied
A. Both must be applied here. No delta is its own ancestor.`,
		example: exampleDigits + " " + exampleDigits,
		run: func(c *daemonCall) error {
			a, err := c.deltaArg("A", c.args[0])
			if err != nil {
				return err
			}
			b, err := c.deltaArg("B", c.args[1])
			if err != nil {
				return err
			}
			is, err := c.dag.IsAncestor(c.ctx, c.context, a, b)
			if err != nil {
				return err
			}
			return c.emit(map[string]any{"ancestor": a.String(), "descendant": b.String(), "is_ancestor": is}, func(w io.Writer) {
				fmt.Fprintln(w, map[bool]string{true: "yes", false: "no"}[is])
			})
		},
	}.command(p, "dag")
}
