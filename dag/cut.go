package dag

import (
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
	v                  *view
	id                 codec.ContextID
	trie               *merkle.Trie // of all that is applied
	heads              heads
	recent             *recent
	lasts              map[codec.Hash]uint64        // of keys whose newest version is no longer what is stored, its number
	noneGone, noneLate bool                         // dag-gone, dag-late has no rows
	lates              map[codec.Hash][]lateVersion // all of them; nil: see readLates
	base               stamp                        // of a seeded context; the zero id: none
	budget             int                          // how many deltas and keys may be looked at; negative: any number
	ctx                context.Context              // ends the work; nil: never
}

// concurrency is a delta's causal cut, compared with the present.
type concurrency struct {
	deltas map[codec.DeltaID]bool  // applied, and no ancestors of the delta
	keys   map[codec.Hash]*touched // what they have written
}

// touched is a key in the present and at a cut. The zero version is none.
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
		for i := range d.writes {
			key := d.writes[i].key
			if c.keys[key] != nil {
				continue
			}
			if err := p.spend(); err != nil {
				return nil, err
			}
			c.keys[key] = new(touched)
		}
	}
	unknown := 0
	for key := range c.keys {
		if p.recent.known[key] == nil {
			unknown++
		}
	}
	if err := p.readLates(unknown); err != nil {
		return nil, err
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
	err := p.versions(&key, func(v *version) bool {
		h.newest = append(h.newest, *v)
		h.whole = deltas[v.id]
		return h.whole
	})
	if err != nil {
		return err
	}
	if len(h.newest) == 0 {
		return damagedRow(column.Generic, goneKey(nil, &p.id, &key), "a key that was written has no version")
	}
	if t.now = h.newest[0]; !h.whole {
		then := &h.newest[len(h.newest)-1]
		if then.id == p.base.id {
			if then.value, err = p.seeded(&key); err != nil {
				return err
			}
		}
		t.then = *then
	}
	p.recent.keep(key, &h)
	return nil
}

// seeded returns the hash of the value of a key that the context was seeded with, and that was overwritten.
func (p *past) seeded(key *codec.Hash) (codec.Hash, error) {
	value, err := readSeeded(p.v, &p.id, key)
	return merkle.HashValue(value), err
}

// root returns the root of a causal cut with writes on top, which are the newest there; and that of the cut
// itself, zero if it is not worth keeping.
func (p *past) root(c *concurrency, x *candidate) (root, cut codec.Hash, err error) {
	changes := make([]merkle.Change, 0, len(x.p.writes)+len(c.keys))
	for key, t := range c.keys {
		if t.now.put != t.then.put || t.now.value != t.then.value {
			changes = append(changes, merkle.Change{Key: key, Value: t.then.value, Delete: !t.then.put})
		}
	}
	t := p.trie.Overlay()
	defer t.Discard()
	if len(changes) < keptFrom {
		changes = slices.DeleteFunc(changes, func(c merkle.Change) bool { return x.p.writesTo(&c.Key) })
		changes = x.p.appendChanges(changes)
		merkle.SortChanges(changes)
		err = t.Update(changes)
		t.Leave()
		return t.Root(), codec.Hash{}, err
	}
	merkle.SortChanges(changes)
	if err = t.Update(changes); err != nil {
		return codec.Hash{}, codec.Hash{}, err
	}
	t.Leave()
	root, err = x.on(t)
	return root, t.Root(), err
}

// on returns the root of a trie with the writes of x on top, which is one of the past from then on.
func (x *candidate) on(t *merkle.Trie) (codec.Hash, error) {
	o := t.Overlay()
	defer o.Discard()
	err := o.Update(x.p.appendChanges(nil))
	o.Leave()
	return o.Root(), err
}

// A context keeps its past while it has several heads, and until keptFor deltas have been applied of which
// none had others beside it. Of a delta on one parent the cut is what that has made, so that its root is that
// of the parent; where it is on several and at least keptFrom keys differ there from the present, the root is
// kept, of the keptCuts that were used last. Tests change keptFrom and keptFor.
var (
	keptFrom = 16
	keptFor  = uint64(4096)
)

const (
	keptCuts = 16
	keptTips = 1024
)

// keptPast is how many bytes the pages take that all contexts of a store keep of their past.
const keptPast = 16 << 20

// tips are roots of causal cuts that may be asked for again: so each of many deltas beside each other, and
// of long lines that take turns, costs what it writes, and not what is beside it.
type tips struct {
	beside uint64                       // seq of the last delta that had others beside it; 0: none
	kept   bool                         // the context keeps its past
	walked int                          // of how many deltas the cut was made anew
	roots  map[codec.DeltaID]codec.Hash // that deltas have made while it did; when there are keptTips, it begins again
	cuts   []keptCut                    // of several parents, the one that was used last first
}

// keptCut is the root of the cut of some parents, by their seqs.
type keptCut struct {
	parents []uint64
	root    codec.Hash
}

// made notes what root a delta has made.
func (t *tips) made(x *candidate) {
	if t.roots == nil || len(t.roots) >= keptTips {
		t.roots = map[codec.DeltaID]codec.Hash{}
	}
	t.roots[x.p.id] = x.p.d.ExpectedRoot
}

// keep notes the root of the cut of several parents.
func (t *tips) keep(parents []head, root codec.Hash) {
	k := keptCut{root: root}
	for i := range parents {
		k.parents = append(k.parents, parents[i].seq)
	}
	t.cuts = slices.Insert(t.cuts, 0, k)
	t.cuts = t.cuts[:min(len(t.cuts), keptCuts)]
}

// of returns the root of the cut of several parents, zero if it is not kept.
func (t *tips) of(parents []head) codec.Hash {
	at := slices.IndexFunc(t.cuts, func(k keptCut) bool {
		return slices.EqualFunc(k.parents, parents, func(seq uint64, h head) bool { return seq == h.seq })
	})
	if at < 0 {
		return codec.Hash{}
	}
	k := t.cuts[at]
	copy(t.cuts[1:], t.cuts[:at])
	t.cuts[0] = k
	return k.root
}

// keepPast has the context keep its past, or not. beside says that the delta that is judged has others beside it.
func (g *writeGroup) keepPast(beside bool) {
	t := &g.c.tips
	if beside {
		t.beside = g.c.next
	}
	t.kept = g.c.heads.len() > 1 || t.beside > 0 && g.c.next-t.beside <= keptFor
	if t.kept {
		g.c.trie.Keep(g.s.past)
	} else {
		g.c.trie.Keep(nil)
	}
}

// cutOf returns the root of the causal cut of a delta, zero if it is not known.
func (g *writeGroup) cutOf(x *candidate) (codec.Hash, error) {
	if len(x.parents) > 1 {
		return g.c.tips.of(x.parents), nil
	}
	if root, ok := g.c.tips.roots[x.parents[0].id]; ok {
		return root, nil
	}
	past := g.past(-1)
	d, err := past.order(x.parents[0].seq)
	if err != nil {
		return codec.Hash{}, err
	}
	if d.root.IsZero() {
		parent, _, err := readDelta(&g.view, g.c.id, &d.id)
		if err != nil {
			return codec.Hash{}, err
		}
		d.root = parent.ExpectedRootHash
	}
	return d.root, nil
}

// byPast returns the root of the causal cut of a delta with its writes on top, by what is kept of the past;
// zero if that is not enough.
func (g *writeGroup) byPast(x *candidate) (codec.Hash, error) {
	cut, err := g.cutOf(x)
	if err != nil || cut.IsZero() {
		return codec.Hash{}, err
	}
	root, err := x.on(g.c.trie.Past(cut))
	if errors.Is(err, merkle.ErrGone) {
		return codec.Hash{}, nil
	}
	return root, err
}

// past returns what causal cuts are computed from.
func (g *writeGroup) past(budget int) past {
	return past{v: &g.view, id: g.c.id, trie: g.c.trie, heads: g.c.heads, recent: &g.c.recent,
		lasts: g.lasts, noneGone: !g.c.gone, noneLate: !g.c.late, base: g.c.row.base, budget: budget}
}

// concurrent is the outcome of a delta beside which others have been applied, and
// the root of its causal cut.
func (g *writeGroup) concurrent(x *candidate, budget int) (*outcome, codec.Hash, error) {
	root, err := g.byPast(x)
	if err != nil {
		return nil, codec.Hash{}, err
	}
	if root == x.p.d.ExpectedRoot {
		won, err := g.compete(x)
		return won, root, err
	}
	g.c.tips.walked++ // nothing is refused by what was kept
	p := g.past(budget)
	c, err := p.concurrentWith(x.parents)
	if err != nil {
		return nil, codec.Hash{}, err
	}
	root, cut, err := p.root(c, x)
	if err != nil {
		return nil, codec.Hash{}, err
	}
	if len(x.parents) > 1 && !cut.IsZero() {
		g.c.tips.keep(x.parents, cut)
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
