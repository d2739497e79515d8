package dag

import (
	"errors"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/engine"
)

// pend keeps a delta that has to wait for parents, which are absent.
func (g *writeGroup) pend(x *candidate, absent []codec.DeltaID, a *Answer) error {
	if x.beside != nil {
		a.Kind, a.Missing = Pending, absent
		return nil
	}
	if x.waited && !x.ready {
		return nil // it is kept with all that it waits for
	}
	if x.waited {
		g.deletePending(readyRow, &x.p.id)
	} else if err := g.keep(x, a); err != nil {
		return err
	}
	var missing []codec.DeltaID
	for i := range absent {
		p := &absent[i]
		g.key = waiterKey(g.key[:0], &g.c.id, p, &x.p.id)
		g.put(g.key, nil)
		g.key = pendingKey(g.key[:0], indexRow, &g.c.id, p)
		waits, err := g.view.has(g.key)
		if err != nil {
			return err
		}
		if !waits {
			missing = append(missing, *p)
			g.key = pendingKey(g.key[:0], missingRow, &g.c.id, p)
			g.put(g.key, nil)
		}
	}
	if a.Kind == 0 {
		a.Kind, a.Missing = Pending, missing
	}
	return nil
}

// verifyLater keeps a delta whose causal cut is too costly to compute while others
// wait: the background does.
func (g *writeGroup) verifyLater(x *candidate, a *Answer) error {
	if x.beside != nil {
		a.Kind, a.Verifying = Pending, true
		return nil
	}
	if err := g.keepReady(x, a); err != nil {
		return err
	}
	if a.Kind == 0 {
		a.Kind, a.Verifying = Pending, true
	}
	return nil
}

// tooEarly answers a delta whose stamp the clock does not accept, as err says. If
// it was kept before, it stays.
func (g *writeGroup) tooEarly(x *candidate, err error, a *Answer) error {
	if x.waited {
		if err := g.keepReady(x, a); err != nil {
			return err
		}
	}
	if a.Kind == 0 {
		var early *hlc.Early
		errors.As(err, &early)
		a.Kind, a.RetryAfter = TooEarly, early.RetryAfter
	}
	return nil
}

// keepReady keeps a delta that waits for no other delta, and tells the background.
func (g *writeGroup) keepReady(x *candidate, a *Answer) error {
	if !x.waited {
		if err := g.keep(x, a); err != nil {
			return err
		}
	}
	if !x.ready {
		g.key = pendingKey(g.key[:0], readyRow, &g.c.id, &x.p.id)
		g.put(g.key, nil)
		x.ready, g.notify = true, true
	}
	return nil
}

// keep stores a delta that is not applied, when there is room.
func (g *writeGroup) keep(x *candidate, a *Answer) error {
	c, id, size := g.c, &x.p.id, int64(len(x.p.wire()))
	o := &g.s.options
	for c.waiting > 0 && (c.waiting >= o.MaxPending || c.waitingBytes+size > o.MaxPendingBytes) && g.batch.Size() < maxThrownBytes {
		oldest, err := g.oldest()
		if err != nil {
			return err
		}
		if err := g.throwOut(&oldest); err != nil {
			return err
		}
		a.Evicted = append(a.Evicted, oldest)
	}
	g.deletePending(missingRow, id)
	g.key, g.value = deltaKey(g.key[:0], &c.id, id), x.p.appendRow(g.value[:0], false)
	g.batch.Put(column.Delta, g.key, g.value)
	g.key, g.value = arrivalKey(g.key[:0], &c.id, c.arrival), appendArrival(g.value[:0], id, int(size))
	g.put(g.key, g.value)
	g.key, g.value = pendingKey(g.key[:0], indexRow, &c.id, id), appendU64(g.value[:0], c.arrival)
	g.put(g.key, g.value)
	c.arrival++
	c.waiting++
	c.waitingBytes += size
	x.waited = true
	return nil
}

// maxThrownBytes is how large a batch may be for more deltas to be thrown out with
// it.
const maxThrownBytes = 16 << 20

// oldest returns the delta that has waited for longest.
func (g *writeGroup) oldest() (id codec.DeltaID, err error) {
	prefix := kindPrefix(nil, pendingScope, arrivalRow, &g.c.id)
	found := false
	err = g.view.scan(prefix, arrivalKey(nil, &g.c.id, g.c.oldest), func(key, value []byte) error {
		arrival, first, _, ok := parseArrival(key, value)
		if !ok {
			return damagedRow(column.Generic, key, "not an arrival")
		}
		id, found, g.c.oldest = first, true, arrival
		return errStop
	})
	if err == nil && !found {
		err = damagedRow(column.Generic, prefix, "fewer arrivals than deltas that wait")
	}
	return id, err
}

// deletePending removes a row of a delta of that kind.
func (g *writeGroup) deletePending(kind byte, id *codec.DeltaID) {
	g.key = pendingKey(g.key[:0], kind, &g.c.id, id)
	g.delete(g.key)
}

// dropWaiting removes the rows that say that a delta waits, or that others miss
// it. Those that say for what are gone, since it waits for nothing any more.
func (g *writeGroup) dropWaiting(x *candidate) error {
	c, id := g.c, &x.p.id
	if !x.waited {
		if c.waiting > 0 {
			g.deletePending(missingRow, id)
		}
		return nil
	}
	key := pendingKey(nil, indexRow, &c.id, id)
	b, err := g.view.Get(nil, column.Generic, key)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	arrival, ok := parseU64(b)
	if err != nil || !ok {
		return damagedRow(column.Generic, key, "a delta that waits has no arrival")
	}
	g.delete(key)
	g.key = arrivalKey(g.key[:0], &c.id, arrival)
	g.delete(g.key)
	g.deletePending(readyRow, id)
	c.waiting--
	c.waitingBytes -= int64(len(x.p.wire()))
	return nil
}

// throwOut removes a delta that waits, as if it had never come.
func (g *writeGroup) throwOut(id *codec.DeltaID) error {
	x, err := g.waiting(id)
	if err != nil {
		return err
	}
	if x == nil {
		return damagedRow(column.Generic, pendingKey(nil, indexRow, &g.c.id, id), "a delta that waits has no row")
	}
	defer x.p.release()
	if err := g.unwait(x); err != nil {
		return err
	}
	g.key = deltaKey(g.key[:0], &g.c.id, id)
	g.batch.Delete(column.Delta, g.key)
	if err := g.dropWaiting(x); err != nil {
		return err
	}
	children, err := g.waiters(id, 1)
	if err == nil && len(children) > 0 {
		g.key = pendingKey(g.key[:0], missingRow, &g.c.id, id)
		g.put(g.key, nil)
	}
	return err
}

// unwait removes the rows that say for what a delta waits, and with them those
// that say that it is missing.
func (g *writeGroup) unwait(x *candidate) error {
	for i := range x.p.d.Parents {
		p := &x.p.d.Parents[i]
		g.key = waiterKey(g.key[:0], &g.c.id, p, &x.p.id)
		g.delete(g.key)
		others, err := g.waiters(p, 1)
		if err != nil {
			return err
		}
		if len(others) == 0 {
			g.deletePending(missingRow, p)
		}
	}
	return nil
}

// waiters returns the deltas that wait for parent, at most limit; 0: all.
func (g *writeGroup) waiters(parent *codec.DeltaID, limit int) (children []codec.DeltaID, err error) {
	prefix := waiterPrefix(nil, &g.c.id, parent)
	err = g.view.scan(prefix, prefix, func(key, _ []byte) error {
		child, ok := idAfter(key, len(prefix))
		if !ok {
			return damagedRow(column.Generic, key, "not a key of dag-pending")
		}
		if children = append(children, child); len(children) == limit {
			return errStop
		}
		return nil
	})
	return children, err
}

// waiting returns a delta that waits, nil if it does not. It is to be released.
func (g *writeGroup) waiting(id *codec.DeltaID) (*candidate, error) {
	v, ok, err := readDelta(&g.view, g.c.id, id)
	if err != nil || !ok || v.Applied {
		return nil, err
	}
	p := prepare(rowDelta(g.c.id, &v))
	if p.refusal != nil || p.id != *id {
		p.release()
		return nil, damagedRow(column.Delta, deltaKey(nil, &g.c.id, id), "the bytes are not those of the delta's id")
	}
	return &candidate{p: p, waited: true}, nil
}
