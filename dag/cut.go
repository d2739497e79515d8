package dag

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
)

// errBudget says that a causal cut takes more looking than there is budget for.
var errBudget = errors.New("dag: over the budget")

// past is what a causal cut is computed from: a context in one state.
type past struct {
	v      *view
	id     codec.ContextID
	trie   *merkle.Trie // of all that is applied
	heads  heads
	recent *recent
	budget int             // how many deltas and keys may be looked at; negative: any number
	ctx    context.Context // ends the work; nil: never
}

// concurrency is a delta's causal cut, compared with the present.
type concurrency struct {
	deltas map[codec.DeltaID]bool  // applied, and no ancestors of the delta
	keys   map[codec.Hash]*touched // what they have written
}

// touched is a key in the present and at a cut.
type touched struct{ now, then version }

// concurrentWith finds what is applied and not among parents and their ancestors.
func (p *past) concurrentWith(parents []head) (*concurrency, error) {
	c := &concurrency{deltas: make(map[codec.DeltaID]bool), keys: make(map[codec.Hash]*touched)}
	l := newLineage(p)
	for h := range p.heads.all() {
		l.wanted(h.seq)
	}
	for i := range parents {
		l.had(parents[i].seq)
	}
	for {
		seq, err := l.next()
		if err != nil {
			return nil, err
		}
		if seq == 0 {
			break
		}
		d, err := p.delta(seq)
		if err != nil {
			return nil, err
		}
		c.deltas[d.id] = true
		for _, key := range d.keys {
			if c.keys[key] != nil {
				continue
			}
			if err := p.spend(); err != nil {
				return nil, err
			}
			c.keys[key] = new(touched)
		}
	}
	for key, t := range c.keys {
		if err := p.compare(key, t, c.deltas); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// compare finds the newest version of a key, and the newest that none of deltas
// wrote.
func (p *past) compare(key codec.Hash, t *touched, deltas map[codec.DeltaID]bool) error {
	*t = touched{}
	if h := p.recent.known[key]; h != nil {
		t.now = h.newest[0]
		if then := slices.IndexFunc(h.newest, func(v version) bool { return !deltas[v.id] }); then >= 0 {
			t.then = h.newest[then]
			return nil
		} else if h.whole {
			return nil
		}
	}
	h := versions{whole: true}
	err := versionsOf(p.v, &p.id, &key, func(v *version) bool {
		h.newest = append(h.newest, *v)
		h.whole = deltas[v.id]
		if !h.whole {
			t.then = *v
		}
		return h.whole
	})
	if err != nil {
		return err
	}
	if len(h.newest) == 0 {
		return damagedRow(column.Generic, versionPrefix(nil, &p.id, &key), "a key that was written has no version")
	}
	t.now = h.newest[0]
	p.recent.keep(key, &h)
	return nil
}

// root returns the root of a causal cut with writes on top, which are the newest there; and the
// cut, if it is worth keeping.
func (p *past) root(c *concurrency, x *candidate) (codec.Hash, *keptCut, error) {
	changes := make([]merkle.Change, 0, len(x.p.writes)+len(c.keys))
	for key, t := range c.keys {
		if t.now.put != t.then.put || t.now.value != t.then.value {
			changes = append(changes, merkle.Change{Key: key, Value: t.then.value, Delete: !t.then.put})
		}
	}
	cut := p.trie.Overlay()
	if len(changes) < keptFrom {
		changes = slices.DeleteFunc(changes, func(c merkle.Change) bool { return x.p.writesTo(&c.Key) })
		changes = x.p.appendChanges(changes)
		merkle.SortChanges(changes)
		err := cut.Update(changes)
		cut.Discard()
		return cut.Root(), nil, err
	}
	merkle.SortChanges(changes)
	if err := cut.Update(changes); err != nil {
		return codec.Hash{}, nil, err
	}
	k := &keptCut{trie: cut}
	for i := range x.parents {
		k.parents = append(k.parents, x.parents[i].seq)
	}
	root, err := k.with(x)
	return root, k, err
}

// A cut is kept if at least keptFrom keys differ there from the present, until it takes
// keptMemory bytes. Tests change them.
var (
	keptFrom   = 16
	keptMemory = 4 << 20
)

// A context keeps the keptCuts that were used last, each until keptFor deltas have been applied
// without it.
const (
	keptCuts = 2
	keptFor  = 4096
)

// keptCut is a causal cut that is likely to be asked for again: by a delta on the same parents,
// or on the one that was last judged by it. So each of many deltas beside each other, and of two
// long lines, costs what it writes, and not what is beside it.
type keptCut struct {
	parents []uint64      // seqs of those whose cut it is
	trie    *merkle.Trie  // there; an overlay that the present keeps
	tip     codec.DeltaID // the delta judged last,
	next    *merkle.Trie  // and what its writes make: an overlay of trie
	used    uint64        // seq of the delta that used it last
}

// with returns the root of the cut with the writes of x on top.
func (k *keptCut) with(x *candidate) (codec.Hash, error) {
	next, err := x.on(k.trie)
	if err != nil {
		return codec.Hash{}, err
	}
	k.tip, k.next = x.p.id, next
	return next.Root(), nil
}

// on returns an overlay of a trie with the writes of x.
func (x *candidate) on(t *merkle.Trie) (*merkle.Trie, error) {
	o := t.Overlay()
	return o, o.Update(x.p.appendChanges(nil))
}

// keep keeps a cut.
func (c *loaded) keep(k *keptCut) {
	k.used = c.next
	c.trie.Keep(k.trie)
	c.cuts = append(c.cuts, k)
	if len(c.cuts) > keptCuts {
		c.forget(slices.MinFunc(c.cuts, func(a, b *keptCut) int { return cmp.Compare(a.used, b.used) }))
	}
}

// forget ends what keep began.
func (c *loaded) forget(k *keptCut) {
	c.trie.Forget(k.trie)
	k.trie.Discard()
	c.cuts = slices.DeleteFunc(c.cuts, func(one *keptCut) bool { return one == k })
}

// kept returns the cut of parents if it is kept, else nil. Others that should not be are
// forgotten.
func (c *loaded) kept(parents []head) *keptCut {
	for _, k := range slices.Clone(c.cuts) {
		if k.trie.Memory() > keptMemory || c.next-k.used > keptFor {
			c.forget(k)
		}
	}
	for _, k := range c.cuts {
		switch {
		case len(parents) == 1 && parents[0].id == k.tip:
			k.next.Merge()
			k.parents = append(k.parents[:0], parents[0].seq)
		case slices.EqualFunc(k.parents, parents, func(seq uint64, h head) bool { return seq == h.seq }):
			k.next.Discard()
		default:
			continue
		}
		k.used = c.next
		return k
	}
	return nil
}

// concurrent is the outcome of a delta beside which others have been applied, and
// the root of its causal cut.
func (g *writeGroup) concurrent(x *candidate, budget int) (*outcome, codec.Hash, error) {
	if k := g.c.kept(x.parents); k != nil {
		root, err := k.with(x)
		if err == nil && root == x.p.d.ExpectedRoot {
			won, err := g.compete(x)
			return won, root, err
		}
		g.c.forget(k) // nothing is refused on its word
	}
	p := past{v: &g.view, id: g.c.id, trie: g.c.trie, heads: g.c.heads, recent: &g.c.recent, budget: budget}
	c, err := p.concurrentWith(x.parents)
	if err != nil {
		return nil, codec.Hash{}, err
	}
	root, cut, err := p.root(c, x)
	if err != nil {
		return nil, codec.Hash{}, err
	}
	if cut != nil {
		g.c.keep(cut)
	}
	if root != x.p.d.ExpectedRoot {
		return nil, root, nil
	}
	var lost map[int]bool
	mine := stamp{x.p.d.HLC, x.p.id}
	for i := range x.p.writes {
		w := &x.p.writes[i]
		if t := c.keys[w.Key]; t != nil && t.now.after(&mine) {
			if lost == nil {
				lost = make(map[int]bool)
			}
			lost[w.action] = true
		}
	}
	won, err := g.outcome(x, lost)
	return won, root, err
}

// spend takes one from the budget.
func (p *past) spend() error {
	if p.ctx != nil && p.ctx.Err() != nil {
		return p.ctx.Err()
	}
	if p.budget == 0 {
		return errBudget
	}
	p.budget--
	return nil
}

// parents appends the seqs of the parents of an applied delta, and takes one from the
// budget.
func (p *past) parents(dst []uint64, seq uint64) ([]uint64, error) {
	if err := p.spend(); err != nil {
		return dst, err
	}
	d, err := p.order(seq)
	if err != nil {
		return dst, err
	}
	return append(dst, d.parents...), nil
}
