package dag

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
)

// candidate is a delta that is being judged.
type candidate struct {
	p       *prepared
	parents []head // those that are applied; all of them, in their order, once it is to be settled
	waited  bool   // it is pending: it has rows that say so
	ready   bool   // and one that says that it waits for no other delta
	beside  Beside // and so it does not wait
}

// judge finds out what a delta is: applied, refused, or one that has to wait, and
// puts into the batch what follows. verified is the root of its causal cut if that
// is known. What waits for it is left to drain.
func (g *writeGroup) judge(x *candidate, a *Answer, verified *codec.Hash) error {
	absent, refused, err := g.resolve(x)
	if err != nil {
		return err
	}
	if refused != nil {
		return g.refuse(x, &Refusal{Delta: x.p.id, Reason: RefusedAncestor, Ancestor: *refused}, a)
	}
	if g.beforeBase(x, len(absent) == 0) {
		return g.answerBeforeSnapshot(x, a)
	}
	if len(absent) > 0 {
		return g.pend(x, absent, a)
	}
	for i := range x.parents {
		if x.p.d.HLC.Time <= x.parents[i].hlc.Time {
			return g.refuse(x, &Refusal{Delta: x.p.id, Reason: BadTime, Ancestor: x.parents[i].id}, a)
		}
	}
	return g.settle(x, a, verified)
}

// resolve finds the parents of x that are applied; absent are the others, refused
// is one of them that is known to be refused.
func (g *writeGroup) resolve(x *candidate) (absent []codec.DeltaID, refused *codec.DeltaID, err error) {
	x.parents = x.parents[:0]
	for i := range x.p.d.Parents {
		id := &x.p.d.Parents[i]
		if h, ok := g.c.heads.get(id); ok {
			x.parents = append(x.parents, h)
			continue
		}
		seq, ok, err := readSeq(&g.view, &g.c.id, id)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			row, err := readOrder(&g.view, &g.c.id, seq)
			if err != nil {
				return nil, nil, err
			}
			x.parents = append(x.parents, head{stamp{row.hlc, *id}, seq})
			continue
		}
		r, err := g.refusal(id)
		if err != nil {
			return nil, nil, err
		}
		if r != nil && refused == nil {
			refused = id
		}
		absent = append(absent, *id)
	}
	return absent, refused, nil
}

// settle judges a delta whose parents are all applied by the root of its causal
// cut.
func (g *writeGroup) settle(x *candidate, a *Answer, verified *codec.Hash) error {
	var won *outcome
	var root codec.Hash
	var err error
	onHeads := g.c.onHeads(x.p.d.Parents)
	g.keepPast(!onHeads)
	switch {
	case onHeads:
		won, err = g.linear(x)
		if err == nil {
			root = won.trie.Root()
		}
	case len(x.p.d.Parents) == 0:
		won, root, err = g.first(x)
	case verified != nil:
		root = *verified
		if root == x.p.d.ExpectedRoot {
			won, err = g.compete(x)
		}
	default:
		won, root, err = g.concurrent(x, g.s.options.CutBudget)
		if errors.Is(err, errBudget) {
			return g.verifyLater(x, a)
		}
	}
	if err != nil {
		return err
	}
	if root != x.p.d.ExpectedRoot {
		return g.refuse(x, &Refusal{Delta: x.p.id, Reason: RootMismatch, Expected: x.p.d.ExpectedRoot, Computed: root}, a)
	}
	switch err := g.s.clock.Observe(x.p.d.HLC); {
	case errors.Is(err, hlc.ErrEarly): // the physical clock has gone back since it came
		return g.tooEarly(x, err, a)
	case err != nil:
		return err
	}
	return g.apply(x, won, a)
}

// first is the outcome of a first delta beside others, and the root of its causal cut, which is
// of its own writes: however many others there are.
func (g *writeGroup) first(x *candidate) (*outcome, codec.Hash, error) {
	root, err := x.on(g.c.trie.Past(merkle.EmptyRoot()))
	if err != nil || root != x.p.d.ExpectedRoot {
		return nil, root, err
	}
	won, err := g.compete(x)
	return won, root, err
}

// outcome is what a delta changes of the present state: of its writes those that
// win, and the trie after them.
type outcome struct {
	trie *merkle.Trie    // an overlay
	lost map[int]bool    // by index of action: those that a newer write of the key hides; nil: none
	wins []merkle.Change // the others, by key
}

// linear is the outcome of a delta on top of all others: it is newer than they
// are, so that nothing has to be compared.
func (g *writeGroup) linear(x *candidate) (*outcome, error) {
	return g.outcome(x, nil)
}

func (g *writeGroup) outcome(x *candidate, lost map[int]bool) (*outcome, error) {
	g.changes = g.changes[:0]
	for i := range x.p.writes {
		if !lost[x.p.writes[i].action] {
			c := x.p.writes[i].Change
			c.Mark = g.c.next
			g.changes = append(g.changes, c)
		}
	}
	o := g.c.trie.Overlay()
	if err := o.Update(g.changes); err != nil {
		return nil, err
	}
	return &outcome{trie: o, lost: lost, wins: g.changes}, nil
}

// compete is the outcome of a delta beside which others have been applied: each
// of its writes is compared with the newest of that key.
func (g *writeGroup) compete(x *candidate) (*outcome, error) {
	lost := make(map[int]bool)
	mine := stamp{x.p.d.HLC, x.p.id}
	for i := range x.p.writes {
		w := &x.p.writes[i]
		now, err := g.newest(&w.Key)
		if err != nil {
			return nil, err
		}
		if now != nil && now.after(&mine) {
			lost[w.action] = true
		}
	}
	return g.outcome(x, lost)
}

// newest returns the delta whose write to a key makes the present state; nil if it was
// never written.
func (g *writeGroup) newest(key *codec.Hash) (*pastDelta, error) {
	p := g.past(-1)
	seq, err := p.last(key)
	if err != nil || seq == 0 {
		return nil, err
	}
	return p.order(seq)
}

// apply puts into the batch what a delta changes.
func (g *writeGroup) apply(x *candidate, o *outcome, a *Answer) error {
	c, p := g.c, x.p
	if c.row.seeded() {
		if err := g.keepSeeded(x, o); err != nil {
			return err
		}
	}
	g.key = deltaKey(g.key[:0], &c.id, &p.id)
	g.value = p.appendRow(g.value[:0], true)
	g.batch.Put(column.Delta, g.key, g.value)
	g.bytes += len(g.value)

	seq := c.next
	mine := stamp{p.d.HLC, p.id}
	order := orderRow{id: p.id, hlc: p.d.HLC}
	g.seqs = g.seqs[:0] // of a delta that has failed
	for i := range x.parents {
		g.seqs = append(g.seqs, x.parents[i].seq)
	}
	parents := len(g.seqs)
	if err := g.link(x, o, &mine); err != nil {
		return err
	}
	order.parents, order.before, g.seqs = g.seqs[:parents], g.seqs[parents:], g.seqs[:0]
	c.recent.applied(seq, &order, p)
	g.key, g.value = orderKey(g.key[:0], &c.id, seq), order.appendBinary(g.value[:0])
	g.put(g.key, g.value)
	g.key, g.value = seqKey(g.key[:0], &c.id, &p.id), appendU64(g.value[:0], seq)
	g.put(g.key, g.value)

	for i := range p.writes {
		if w := &p.writes[i]; !o.lost[w.action] {
			g.write1(&p.d.Actions[w.action])
		}
	}
	o.trie.Merge()
	if err := g.dropWaiting(x); err != nil {
		return err
	}
	g.advance(p.d.Parents, head{mine, seq})
	g.meta = true
	g.applied++
	if x.beside != nil {
		if err := x.beside(p.d, p.id, &g.batch); err != nil {
			return err
		}
	}

	if c.tips.kept {
		c.tips.made(x)
	}
	if a.Kind == 0 {
		a.Kind, a.Seq = Applied, seq
	}
	a.Applied = append(a.Applied, p.id)
	return g.wake(&p.id, false, a)
}

// link gives each write of a delta its place among the versions of the key, and appends to seqs which version is
// before it. The batch has changed before: an error leaves what is in memory half done.
func (g *writeGroup) link(x *candidate, o *outcome, mine *stamp) error {
	p := g.past(-1)
	wins := o.wins
	for i := range x.p.writes {
		w := &x.p.writes[i]
		var before uint64
		var err error
		if o.lost[w.action] {
			g.key, g.value = lateKey(g.key[:0], &g.c.id, &w.Key, mine), appendU64(g.value[:0], g.c.next)
			g.put(g.key, g.value)
			g.c.late = true
		} else {
			if before, err = g.win(&p, &wins[0]); err != nil {
				return err
			}
			wins = wins[1:]
		}
		g.seqs = append(g.seqs, before)
		g.c.recent.wrote(&w.Key, version{stamp: *mine, seq: g.c.next, put: !w.Delete, value: w.Value, before: before})
	}
	return nil
}

// win makes the next number the newest version of a key, and returns which one is before it. In the trie it is already.
func (g *writeGroup) win(p *past, c *merkle.Change) (before uint64, err error) {
	if before = c.Before; before == 0 {
		if before, err = p.gone(&c.Key); err != nil {
			return 0, err
		}
		if before != 0 && !c.Delete {
			g.key = goneKey(g.key[:0], &g.c.id, &c.Key)
			g.delete(g.key)
		}
	}
	if c.Delete {
		g.putGone(&c.Key, g.c.next)
		p.noneGone = false
	}
	return before, nil
}

// putGone says which is the newest version of a key that is deleted.
func (g *writeGroup) putGone(key *codec.Hash, seq uint64) {
	g.key, g.value = goneKey(g.key[:0], &g.c.id, key), appendU64(g.value[:0], seq)
	g.put(g.key, g.value)
	g.c.gone = true
}

// setBefore makes a number the version before that of number seq.
func (g *writeGroup) setBefore(p *past, seq uint64, key *codec.Hash, before uint64) error {
	d, err := p.delta(seq)
	if err != nil {
		return err
	}
	at, ok := place(d.writes, key)
	if !ok {
		return damagedRow(column.Generic, orderKey(nil, &g.c.id, seq), "it has not written a key whose version it is")
	}
	d.before[at] = before
	row := orderRow{id: d.id, hlc: d.hlc, parents: d.parents, before: d.before}
	g.key, g.value = orderKey(g.key[:0], &g.c.id, seq), row.appendBinary(g.value[:0])
	g.put(g.key, g.value)
	return nil
}

// write1 puts one action into the batch.
func (g *writeGroup) write1(action *codec.Action) {
	g.key = stateKey(g.key[:0], &g.c.id, action.Key)
	if action.Kind == codec.ActionDelete {
		g.batch.Delete(column.State, g.key)
	} else {
		g.batch.Put(column.State, g.key, action.Value)
	}
}

// advance makes a delta the newest: it takes the place of those of its parents
// that were heads.
func (g *writeGroup) advance(parents []codec.DeltaID, h head) {
	for i := range parents {
		g.removeHead(&parents[i])
	}
	g.addHead(h)
	g.c.next++
}

// readDelta returns a delta of the context, and false if it is not here.
func readDelta(r engine.Getter, context codec.ContextID, id *codec.DeltaID) (v codec.ContextDagDeltaValue, ok bool, err error) {
	key := deltaKey(nil, &context, id)
	b, err := r.Get(nil, column.Delta, key)
	if errors.Is(err, engine.ErrNotFound) {
		return v, false, nil
	}
	if err != nil {
		return v, false, err
	}
	if v, err = v.Decode(b); err != nil {
		return v, false, fmt.Errorf("%w: %w", engine.ErrCorrupt, damagedRow(column.Delta, key, err.Error()))
	}
	return v, true, nil
}
