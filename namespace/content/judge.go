package content

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace"
)

// node is an envelope that is looked at, by what is clear of it.
type node struct {
	id      codec.EnvelopeID
	delta   codec.DeltaID
	time    uint64
	v       *codec.DeltaEnvelope
	held    *held // nil: it counts so far
	permit  namespace.Permit
	vouched bool // its permit stands, or that of one that descends from it
	out     bool
}

// walk goes from all heads of a context to their ancestors, the newest first, as far as there may be
// one that nobody vouches for. A parent has an earlier time than its children, so that all that descends
// from a node has been looked at before it.
type walk struct {
	c      *state
	queue  []*node
	known  map[codec.EnvelopeID]*node
	doubts int                 // in queue, and not vouched so far
	judged map[[32]byte]judged // by author, cut and key
	open   []*node             // what nobody vouches for, the newest first
}

// judged is what governance says of an origin.
type judged struct {
	permit namespace.Permit
	stands bool
}

func (w *walk) Len() int { return len(w.queue) }
func (w *walk) Less(i, j int) bool {
	a, b := w.queue[i], w.queue[j]
	return newest(a.time, b.time, a.id, b.id) < 0
}
func (w *walk) Swap(i, j int) { w.queue[i], w.queue[j] = w.queue[j], w.queue[i] }
func (w *walk) Push(x any)    { w.queue = append(w.queue, x.(*node)) }
func (w *walk) Pop() any {
	last := w.queue[len(w.queue)-1]
	w.queue = w.queue[:len(w.queue)-1]
	return last
}

// errForgotten is returned where ops are gone.
var errForgotten = errors.New("content: governance does not know any more what it made of a delta")

// permitOf returns by what the author of an envelope that was admitted writes, and whether that stands.
func (w *walk) permitOf(v *codec.DeltaEnvelope) (j judged, err error) {
	memo := [32]byte(idOfCut(append([]codec.OpID{codec.OpID(v.Author), v.KeyOp}, v.Cut...)))
	if j, known := w.judged[memo]; known {
		return j, nil
	}
	a, err := w.c.s.gov.Origins(w.c.ns, []namespace.Origin{originOf(v)})
	if err != nil {
		return j, err
	}
	if a[0].Kind != namespace.OriginAllowed { // it was when it was taken, and its cut is the same
		return j, fmt.Errorf("%w by %s, at ops %s, of context %s", errForgotten, v.Author, v.Cut, w.c.id)
	}
	stand, err := w.c.s.gov.Standing(w.c.ns, []namespace.Permit{a[0].Permit})
	if err != nil {
		return j, err
	}
	j = judged{a[0].Permit, stand[0]}
	w.judged[memo] = j
	return j, nil
}

// add has a node looked at in its turn.
func (w *walk) add(n *node) error {
	j, err := w.permitOf(n.v)
	if err != nil {
		return err
	}
	n.permit, n.vouched = j.permit, j.stands
	w.known[n.id] = n
	if !n.vouched {
		w.doubts++
	}
	heap.Push(w, n)
	return nil
}

// find returns the node of an envelope, which is looked at in its turn; nil: it is not here.
func (w *walk) find(id codec.EnvelopeID) (*node, error) {
	if n := w.known[id]; n != nil {
		return n, nil
	}
	if h := w.c.held[id]; h != nil {
		n := &node{id: id, delta: h.delta, time: h.time, v: &h.DeltaEnvelope, held: h}
		return n, w.add(n)
	}
	delta, found, err := DeltaOf(w.c.s.db, w.c.id, id)
	if err != nil || !found {
		return nil, err
	}
	return w.counting(delta)
}

// counting returns the node of a delta that counts so far.
func (w *walk) counting(delta codec.DeltaID) (*node, error) {
	v, err := w.c.signedOf(delta)
	if err != nil {
		return nil, err
	}
	if n := w.known[v.id]; n != nil {
		return n, nil
	}
	n := &node{id: v.id, delta: delta, time: v.time, v: &v.DeltaEnvelope}
	return n, w.add(n)
}

// run finds what nobody vouches for.
func (w *walk) run(ctx context.Context) error {
	heads, _, err := w.c.s.dag.Heads(w.c.id)
	if err != nil {
		return err
	}
	for _, h := range heads {
		if _, err := w.counting(h.ID); err != nil {
			return err
		}
	}
	for id := range w.c.held {
		if _, err := w.find(id); err != nil {
			return err
		}
	}
	for w.doubts > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := heap.Pop(w).(*node)
		if !n.vouched {
			w.doubts--
			w.open = append(w.open, n)
		}
		for _, id := range n.v.Parents {
			p, err := w.find(id)
			if err != nil {
				return err
			}
			if p == nil {
				return damage(rowKey(envelopeScope, w.c.id, id), fmt.Sprintf("it is a parent of %s, and is not here", n.id))
			}
			if n.vouched && !p.vouched {
				p.vouched = true
				w.doubts--
			}
		}
	}
	return nil
}

// vouchedCuts returns the heads of governance of all that somebody vouches for.
func (w *walk) vouchedCuts() ([][]codec.OpID, error) {
	open, used := map[codec.EnvelopeID]*node{}, map[cutID][]codec.OpID{}
	for _, n := range w.open {
		open[n.id] = n
	}
	for _, n := range w.known {
		if n.held != nil && n.vouched {
			used[idOfCut(n.v.Cut)] = n.v.Cut
		}
	}
	for id, heads := range w.c.cuts {
		is, err := isUsed(w.c.s.db, w.c.id, id, open)
		if err != nil {
			return nil, err
		}
		if is {
			used[id] = heads
		}
	}
	return slices.Collect(maps.Values(used)), nil
}

// close finds out which of those that nobody vouches for are out: against whose permits the context is
// closed, and what descends from them.
func (w *walk) close() error {
	if len(w.open) == 0 {
		return nil
	}
	permits := make([]namespace.Permit, len(w.open))
	for i, n := range w.open {
		permits[i] = n.permit
	}
	cuts, err := w.vouchedCuts()
	if err != nil {
		return err
	}
	closed, err := w.c.s.gov.Closed(w.c.ns, permits, cuts)
	if err != nil {
		return err
	}
	for i, n := range slices.Backward(w.open) {
		n.out = closed[i] || slices.ContainsFunc(n.v.Parents, func(p codec.EnvelopeID) bool { return w.known[p].out })
	}
	return nil
}

// walked returns a walk that has found out which envelopes are out.
func (c *state) walked(ctx context.Context) (*walk, error) {
	w := &walk{c: c, known: map[codec.EnvelopeID]*node{}, judged: map[[32]byte]judged{}}
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	return w, w.close()
}

// judge finds out which envelopes of the context count, and makes it so.
func (c *state) judge(ctx context.Context) error {
	if !c.isSigned() {
		return nil
	}
	for {
		w, err := c.walked(ctx)
		if err != nil {
			return err
		}
		c.doubts = len(w.open) + len(c.held)
		var aside []codec.DeltaID
		for _, n := range w.open {
			if n.out && n.held == nil {
				aside = append(aside, n.delta)
			}
		}
		if err := c.setAside(ctx, aside); err != nil {
			return err
		}
		var back []*held
		for _, h := range sortedHeld(c.held) {
			if n := w.known[h.ID]; n != nil && !n.out {
				back = append(back, h)
			}
		}
		slices.Reverse(back)
		fell, err := c.takeBack(ctx, back)
		if err != nil {
			return err
		}
		if !fell {
			return c.makeRoom()
		}
		// What has fallen vouches for nothing.
	}
}

// setAside withdraws deltas, and keeps their envelopes.
func (c *state) setAside(ctx context.Context, deltas []codec.DeltaID) error {
	if len(deltas) == 0 {
		return nil
	}
	var aside []*held
	err := c.s.dag.Withdraw(ctx, dag.Withdrawal{Context: c.id, Deltas: deltas, Beside: func(d *dag.Delta, id codec.DeltaID, b *engine.Batch) error {
		v, err := c.signedOf(id)
		if err != nil {
			return err
		}
		e, err := c.rebuild(&v, d)
		if err != nil {
			return err
		}
		h := &held{e, id, d.HLC.Time}
		aside = append(aside, h)
		b.Delete(column.Generic, rowKey(signedScope, c.id, id))
		b.Delete(column.Generic, rowKey(envelopeScope, c.id, e.ID))
		b.Put(column.Generic, rowKey(heldScope, c.id, e.ID), appendHeld(nil, h))
		b.Delete(column.Generic, memberKey(c.id, idOfCut(e.Cut), e.ID))
		return nil
	}})
	if err != nil {
		return err
	}
	for _, h := range aside {
		c.held[h.ID] = h
		c.s.o.Log.Info("a delta was set aside: its author may not write any more, and nobody who may has built on it", "context", c.id, "delta", h.delta, "author", h.Author)
	}
	return nil
}

// takeBack applies what was set aside, parents first. It reports whether any was refused, which goes.
func (c *state) takeBack(ctx context.Context, back []*held) (fell bool, err error) {
	for _, h := range back {
		if c.held[h.ID] == nil {
			continue // with its parent
		}
		key, err := c.key(&h.DeltaEnvelope)
		if err != nil {
			return fell, err
		}
		d, err := h.Open(key)
		if err != nil {
			return fell, damage(rowKey(heldScope, c.id, h.ID), err.Error())
		}
		a, err := c.add(ctx, []*arrival{{Envelope: h.Envelope, delta: d}})
		if err != nil {
			return fell, err
		}
		switch a[0].Kind {
		case dag.Applied:
			delete(c.held, h.ID)
			c.s.o.Log.Info("a delta counts again that was set aside", "context", c.id, "delta", h.delta, "author", h.Author)
		case dag.TooEarly: // the clock went back; it comes with the next look
			c.seen = nil
			c.s.lookAgain(c.id)
			return fell, nil
		default:
			fell = true
			if err := c.drop(h.ID); err != nil {
				return fell, err
			}
		}
	}
	return fell, nil
}

// drop forgets envelopes that are set aside, and what descends from them.
func (c *state) drop(ids ...codec.EnvelopeID) error {
	b := engine.Batch{Durability: engine.WAL}
	for len(ids) > 0 {
		id := ids[len(ids)-1]
		ids = ids[:len(ids)-1]
		if c.held[id] == nil {
			continue
		}
		delete(c.held, id)
		b.Delete(column.Generic, rowKey(heldScope, c.id, id))
		for other, h := range c.held {
			if slices.Contains(h.Parents, id) {
				ids = append(ids, other)
			}
		}
	}
	return c.s.db.Apply(&b)
}

// makeRoom drops what is too much to be set aside: of who has most of it, the newest first, which
// fewest descend from.
func (c *state) makeRoom() error {
	type share struct {
		list  []*held // the newest first
		bytes int64
	}
	for {
		authors, bytes := map[codec.Identity]*share{}, int64(0)
		for _, h := range sortedHeld(c.held) {
			a := authors[h.Author]
			if a == nil {
				a = &share{}
				authors[h.Author] = a
			}
			a.list = append(a.list, h)
			a.bytes += int64(len(h.Bytes()))
			bytes += int64(len(h.Bytes()))
		}
		var most *share
		for _, a := range authors {
			if len(a.list) <= c.s.o.MaxHeld/8 && a.bytes <= c.s.o.MaxHeldBytes/8 && len(c.held) <= c.s.o.MaxHeld && bytes <= c.s.o.MaxHeldBytes {
				continue
			}
			if most == nil || a.bytes > most.bytes || a.bytes == most.bytes && a.list[0].ID.String() > most.list[0].ID.String() {
				most = a
			}
		}
		if most == nil {
			return nil
		}
		last := most.list[0]
		c.s.o.Log.Warn("a delta that is set aside was dropped: there is no room for more of its author", "context", c.id, "delta", last.delta, "author", last.Author)
		c.full = last.ID
		if err := c.drop(last.ID); err != nil {
			return err
		}
	}
}
