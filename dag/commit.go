package dag

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/engine"
)

// Commit is one execution of the node: what it has read, and what it writes.
type Commit struct {
	Context    codec.ContextID
	Actions    []codec.Action // on the shared state; no key twice
	Events     []codec.Event
	Private    []codec.Action // on the node's private state, in order
	ReadRoot   codec.Hash     // of the state that the execution has read
	Durability engine.Durability

	// Author returns whose stamp a delta with these parents has, which are in ascending order and
	// not to be kept; nil: Options.Node. It is not to call the store.
	Author    func(parents []codec.DeltaID) (codec.NodeID, error)
	MostHeads int    // in place of Options.MaxJoined; 0: that
	Beside    Beside // of each delta that it takes
}

// Committed is what became of a commit.
type Committed struct {
	Delta  codec.DeltaID // the delta of the commit, now the only head
	Seq    uint64        // its number in the order of application
	Root   codec.Hash
	Deltas [][]byte // what to send to peers: deltas that join heads, if there were too many, and at the end the commit's own
}

// Commit makes a delta of an execution, on top of all heads, and applies it, all in
// one batch. It returns a [*RootMoved], which is engine.ErrConflict, if the root is
// not the one that the execution has read; a [*Refusal] for actions of a wrong form
// or over a limit; [hlc.ErrAhead]; or an error as [Store.Add] has it. With an error
// nothing is written.
//
// Where there are more heads than Options.MaxJoined, those that are lowest by stamp are
// joined first, by deltas without actions.
func (s *Store) Commit(ctx context.Context, c Commit) (Committed, error) {
	if err := ready(ctx, c.Durability); err != nil {
		return Committed{}, err
	}
	d := Delta{Context: c.Context, Actions: c.Actions, Events: c.Events, HLC: codec.HybridTimestamp{ID: s.options.Node}}
	p := prepare(&d)
	defer p.release()
	if p.refusal != nil {
		return Committed{}, p.refusal
	}
	var done Committed
	r := &request{Task: task{synced: c.Durability == engine.Synced}}
	r.Task.do = func(g *writeGroup) error {
		var err error
		done, err = g.commit(p, &c)
		return err
	}
	if err := s.submit(ctx, c.Context, r); err != nil {
		return Committed{}, err
	}
	return done, r.Err
}

// commit puts a delta of this node's own into the batch.
func (g *writeGroup) commit(p *prepared, c *Commit) (done Committed, err error) {
	if have := g.c.trie.Root(); have != c.ReadRoot {
		return done, &RootMoved{Context: c.Context, Read: c.ReadRoot, Have: have}
	}
	most := cmp.Or(c.MostHeads, g.s.options.MaxJoined)
	for n := g.c.heads.len(); n > most || n > 1 && p.fits(1) && !p.fits(n); n = g.c.heads.len() {
		wire, err := g.join(c, most)
		if err != nil {
			return done, err
		}
		done.Deltas = append(done.Deltas, wire)
	}
	parents := g.c.heads.list()
	d := p.d
	d.Parents = d.Parents[:0]
	for i := range parents {
		d.Parents = append(d.Parents, parents[i].id)
	}
	if d.HLC, err = g.stampAfter(parents, d.Parents, c); err != nil {
		return done, err
	}
	if reason, detail := p.encode(); reason != 0 {
		return done, &Refusal{Delta: d.ID(), Reason: reason, Detail: detail}
	}
	g.keepPast(false)
	x := candidate{p: p, parents: parents, beside: c.Beside}
	won, err := g.linear(&x)
	if err != nil {
		return done, err
	}
	p.expect(won.trie.Root())
	var a Answer
	if err := g.apply(&x, won, &a); err != nil {
		return done, err
	}
	for i := range c.Private {
		g.key = stateKey(g.key[:0], &c.Context, c.Private[i].Key)
		if c.Private[i].Kind == codec.ActionDelete {
			g.batch.Delete(column.PrivateState, g.key)
		} else {
			g.batch.Put(column.PrivateState, g.key, c.Private[i].Value)
		}
	}
	done.Delta, done.Seq, done.Root = p.id, a.Seq, d.ExpectedRoot
	done.Deltas = append(done.Deltas, bytes.Clone(p.wire()))
	return done, nil
}

// join puts a delta into the batch that joins as many heads as it may, those that are lowest by
// stamp, and returns its bytes.
func (g *writeGroup) join(c *Commit, most int) ([]byte, error) {
	lowest := g.c.heads.list()
	slices.SortFunc(lowest, func(a, b head) int {
		if a.after(&b.stamp) {
			return 1
		}
		return -1
	})
	lowest = lowest[:min(len(lowest), most)]
	slices.SortFunc(lowest, func(a, b head) int { return bytes.Compare(a.id[:], b.id[:]) })
	d := Delta{Context: g.c.id}
	for i := range lowest {
		d.Parents = append(d.Parents, lowest[i].id)
	}
	var err error
	if d.HLC, err = g.stampAfter(lowest, d.Parents, c); err != nil {
		return nil, err
	}
	past := g.past(-1)
	cut, err := past.concurrentWith(lowest)
	if err != nil {
		return nil, err
	}
	if d.ExpectedRoot, _, err = past.root(cut, &candidate{p: new(prepared), parents: lowest}); err != nil {
		return nil, err
	}
	p := prepare(&d)
	defer p.release()
	x := candidate{p: p, parents: lowest, beside: c.Beside}
	won, err := g.outcome(&x, nil)
	if err != nil {
		return nil, err
	}
	var a Answer
	return bytes.Clone(p.wire()), g.apply(&x, won, &a)
}

// stampAfter returns a stamp of the author of a commit that is after all of heads, whose ids are
// parents.
func (g *writeGroup) stampAfter(heads []head, parents []codec.DeltaID, c *Commit) (codec.HybridTimestamp, error) {
	var latest uint64
	for i := range heads {
		latest = max(latest, heads[i].hlc.Time)
	}
	t, err := g.s.clock.StampAfter(hlc.NTP64(latest))
	if err == nil && c.Author != nil {
		t.ID, err = c.Author(parents)
	}
	return t, err
}

// expect sets the expected root of a delta, and its id by that.
func (p *prepared) expect(root codec.Hash) {
	p.d.ExpectedRoot = root
	copy(p.bytes[p.at:], root[:])
	p.id = hashDelta(p.bytes)
}
