package dag

import (
	"bytes"
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

// root returns the root of a causal cut with writes on top, which are the newest
// there.
func (p *past) root(c *concurrency, writes []write) (codec.Hash, error) {
	changes := make([]merkle.Change, 0, len(writes)+len(c.keys))
	for i := range writes {
		changes = append(changes, writes[i].Change)
	}
	mine := len(changes)
	for key, t := range c.keys {
		if t.now.put == t.then.put && t.now.value == t.then.value {
			continue
		}
		if _, own := slices.BinarySearchFunc(changes[:mine], key, func(c merkle.Change, key codec.Hash) int { return bytes.Compare(c.Key[:], key[:]) }); own {
			continue
		}
		changes = append(changes, merkle.Change{Key: key, Value: t.then.value, Delete: !t.then.put})
	}
	merkle.SortChanges(changes)
	o := p.trie.Overlay()
	if err := o.Update(changes); err != nil {
		return codec.Hash{}, err
	}
	o.Discard()
	return o.Root(), nil
}

// concurrent is the outcome of a delta beside which others have been applied, and
// the root of its causal cut.
func (g *writeGroup) concurrent(x *candidate, budget int) (*outcome, codec.Hash, error) {
	p := past{v: &g.view, id: g.c.id, trie: g.c.trie, heads: g.c.heads, recent: &g.c.recent, budget: budget}
	c, err := p.concurrentWith(x.parents)
	if err != nil {
		return nil, codec.Hash{}, err
	}
	root, err := p.root(c, x.p.writes)
	if err != nil || root != x.p.d.ExpectedRoot {
		return nil, root, err
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
