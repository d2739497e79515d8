package seal

import (
	"errors"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Rekey seals every secret with a fresh key, and makes next what the store is
// opened with. A kill at any point leaves a store that either the old key opens,
// or next, with which Open finishes what is left.
func (e *Engine) Rekey(next Key) error {
	was := e.ring.Load()
	r := &ring{keys: was.keys}
	if err := r.rewrap(next, e.random); err != nil {
		return err
	}
	if err := r.add(e.random); err != nil {
		return err
	}
	if err := e.keep(r, next); err != nil {
		return err
	}
	e.ring.Store(r)
	return e.finish(next)
}

// finish seals what is not sealed with the current key, forgets the others, and
// removes what was there from logs and tables.
func (e *Engine) finish(k Key) error {
	r := e.ring.Load()
	for c := range column.All {
		for _, rg := range keys.SealedRanges(c) {
			if err := e.reseal(c, engine.Range{Start: rg.Start, End: rg.End}); err != nil {
				return err
			}
		}
	}
	// Before the keys go: what is only in a log is not sealed with them any more.
	if err := e.Flush(); err != nil {
		return err
	}
	for c := range column.All {
		for _, rg := range keys.SealedRanges(c) {
			if err := e.Compact(c, engine.Range{Start: rg.Start, End: rg.End}); err != nil {
				return err
			}
		}
	}
	done := &ring{kind: r.kind, stretch: r.stretch, keys: r.keys[:1:1]}
	if err := e.keep(done, k); err != nil {
		return err
	}
	e.ring.Store(done)
	return nil
}

// resealBatch is how many secrets are sealed anew at once.
const resealBatch = 256

// reseal seals the secrets of a range with the current key that are not. Each
// batch checks that nobody has written them meanwhile; if so they are sealed.
func (e *Engine) reseal(col column.Column, rg engine.Range) error {
	r := e.ring.Load()
	it, err := e.Store.Iterate(col, rg)
	if err != nil {
		return err
	}
	defer it.Close()
	var stale [][]byte
	for it.Next() {
		if id, sealed := sealedWith(it.Value()); sealed && id == r.keys[0].id {
			continue
		}
		stale = append(stale, append([]byte(nil), it.Key()...))
		if len(stale) == resealBatch {
			if err := e.resealKeys(col, stale); err != nil {
				return err
			}
			stale = stale[:0]
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	return e.resealKeys(col, stale)
}

func (e *Engine) resealKeys(col column.Column, stale [][]byte) error {
	if len(stale) == 0 {
		return nil
	}
	return e.Update(func(g engine.Getter, b *engine.Batch) error {
		for _, key := range stale {
			value, err := g.Get(nil, col, key)
			switch {
			case err == nil:
				b.Put(col, key, value)
			case errors.Is(err, engine.ErrNotFound): // it was deleted
			default:
				return err
			}
		}
		return nil
	})
}
