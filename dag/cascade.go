package dag

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// woken is a waiting delta to be judged again, because of a parent.
type woken struct {
	id      codec.DeltaID
	parent  codec.DeltaID
	refused bool // the parent is
	stored  bool // a row says that it is ready
	a       *Answer
}

// wake leaves what waits for a delta, which is applied or refused now, to drain.
func (g *writeGroup) wake(id *codec.DeltaID, refused bool, a *Answer) error {
	if g.c.waiting == 0 {
		return nil
	}
	children, err := g.waiters(id, 0)
	for i := range children {
		g.key = waiterKey(g.key[:0], &g.c.id, id, &children[i])
		g.delete(g.key)
		g.ready = append(g.ready, woken{id: children[i], parent: *id, refused: refused, a: a})
	}
	return err
}

// drain judges what has been woken, until the batch is full.
func (g *writeGroup) drain() error {
	for len(g.ready) > g.judged && !g.Full() {
		w := g.ready[g.judged]
		g.judged++
		if err := g.judgeAgain(&w, nil); err != nil {
			return err
		}
	}
	if g.judged == len(g.ready) {
		g.ready, g.judged = g.ready[:0], 0
	}
	return nil
}

// judgeAgain judges a waiting delta, unless it waits no longer.
func (g *writeGroup) judgeAgain(w *woken, verified *codec.Hash) error {
	x, err := g.waiting(&w.id)
	if x == nil || err != nil {
		return err
	}
	defer x.p.release()
	defer func() { w.a.Root = g.c.trie.Root() }()
	x.ready = w.stored
	if w.refused {
		return g.refuse(x, &Refusal{Delta: w.id, Reason: RefusedAncestor, Ancestor: w.parent}, w.a)
	}
	return g.judge(x, w.a, verified)
}

// storeReady makes what is left to drain known to the next process.
func (g *writeGroup) storeReady() {
	for i := g.judged; i < len(g.ready); i++ {
		if w := &g.ready[i]; !w.stored {
			g.key = pendingKey(g.key[:0], readyRow, &g.c.id, &w.id)
			g.put(g.key, nil)
			w.stored = true
		}
	}
}

// beforeBase reports whether a seeded context can't take a delta, for it does not
// descend from the base.
func (g *writeGroup) beforeBase(x *candidate, allApplied bool) bool {
	base := &g.c.row.base
	if !g.c.row.seeded() {
		return false
	}
	return len(x.p.d.Parents) == 0 || !allApplied && x.p.d.HLC.Time <= base.hlc.Time
}

// answerBeforeSnapshot answers a delta from before the base, and throws out what waits for it.
func (g *writeGroup) answerBeforeSnapshot(x *candidate, a *Answer) error {
	c := g.c
	g.flag(true)
	if a.Kind == 0 {
		a.Kind = BeforeSnapshot
	}
	lost := []codec.DeltaID{x.p.id}
	for n := 0; n < len(lost) && g.batch.Size() < maxThrownBytes; n++ {
		children, err := g.waiters(&lost[n], 0)
		if err != nil {
			return err
		}
		lost = append(lost, children...)
		if n == 0 && !x.waited {
			continue
		}
		// Two that are lost may have had one child.
		g.key = pendingKey(g.key[:0], indexRow, &c.id, &lost[n])
		waits, err := g.view.has(g.key)
		if err != nil {
			return err
		}
		if !waits {
			continue
		}
		if err := g.throwOut(&lost[n]); err != nil {
			return err
		}
		a.Dropped = append(a.Dropped, lost[n])
	}
	return nil
}

// flag says whether a seeded context should be seeded again.
func (g *writeGroup) flag(reseed bool) {
	c := g.c
	if c.row.reseed == reseed {
		return
	}
	c.row.reseed = reseed
	g.putContextRow()
}

// putContextRow writes what is stored of the context beside Meta.
func (g *writeGroup) putContextRow() {
	g.key, g.value = contextRowKey(g.key[:0], &g.c.id), g.c.row.appendBinary(g.value[:0])
	g.put(g.key, g.value)
}

// keepSeeded keeps the values of the base that a delta overwrites or deletes.
func (g *writeGroup) keepSeeded(x *candidate, o *outcome) error {
	c := g.c
	for i := range x.p.writes {
		w := &x.p.writes[i]
		now, err := g.newest(&w.Key)
		if err != nil {
			return err
		}
		if now == nil || now.id != c.row.base.id || o.lost[w.action] {
			continue
		}
		appKey := x.p.d.Actions[w.action].Key
		value, err := g.s.db.Get(nil, column.State, stateKey(nil, &c.id, appKey))
		if err != nil {
			return err
		}
		g.key = hashedKey(g.key[:0], seededScope, &c.id, &w.Key)
		g.value = appendStateRow(g.value[:0], appKey, value)
		g.put(g.key, g.value)
	}
	return nil
}
