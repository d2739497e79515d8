package dag

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// history reads what has been applied to one context, in the state of the store
// that r is of.
type history struct {
	r       engine.Reader
	context codec.ContextID
	whole   bool       // wholeInMeta, since open
	base    stamp      // of a seeded context, since open; the zero id: none
	root    codec.Hash // since open
	past    *past      // see chain
}

// open returns the metadata of the context and what is stored of it besides. It
// returns ErrNoContext, or ErrAdopting, if there is nothing to be read.
func (h *history) open() (meta codec.ContextMetaValue, row contextRow, err error) {
	if meta, err = readMeta(h.r, h.context); err != nil {
		return meta, row, err
	}
	row, err = readContextRow(h.r, h.context)
	if err == nil {
		err = row.readable(h.context)
	}
	if err == nil {
		h.whole, h.base, h.root = wholeInMeta(meta.DagHeads), row.base, meta.RootHash
		meta.DagHeads, err = HeadsOf(h.r, h.context, meta.DagHeads)
	}
	return meta, row, err
}

// Readable returns nil where the rows of a context in State are those of one state:
// else ErrNoContext, ErrAdopting while a snapshot takes its place, engine.ErrCorrupt
// or the engine's error. Who reads these rows by itself asks the engine.Snapshot that
// it reads.
func Readable(r engine.Getter, id codec.ContextID) error {
	if _, err := readMeta(r, id); err != nil {
		return err
	}
	return notAdopting(r, id)
}

// notAdopting returns ErrAdopting while a snapshot takes the place of a context, and
// its rows are of no one state.
func notAdopting(r engine.Getter, id codec.ContextID) error {
	row, err := readContextRow(r, id)
	if err != nil {
		return err
	}
	return row.readable(id)
}

func (r *contextRow) readable(id codec.ContextID) error {
	if r.phase == adopting {
		return fmt.Errorf("%w: %s", ErrAdopting, id)
	}
	return nil
}

// last returns the seq of the delta that was applied last, 0 if none was.
func (h *history) last() (uint64, error) { return lastSeq(h.r, h.context) }

// order returns the delta that was applied as number seq.
func (h *history) order(seq uint64) (orderRow, error) {
	row, err := readOrder(h.r, &h.context, seq)
	if err != nil {
		return row, err
	}
	return row, h.inOrder(seq, &row)
}

// orderOf returns the delta of a row of the order, that of number seq.
func (h *history) orderOf(seq uint64, key, value []byte) (orderRow, error) {
	row, ok := parseOrder(value)
	if !ok {
		return row, damagedRow(column.Generic, key, "not a place in the order")
	}
	return row, h.inOrder(seq, &row)
}

// inOrder returns the error of a row whose parents do not come before it.
func (h *history) inOrder(seq uint64, row *orderRow) error {
	for _, p := range row.parents {
		if p == 0 || p >= seq {
			return damagedRow(column.Generic, orderKey(nil, &h.context, seq), fmt.Sprintf("number %d is a parent of number %d", p, seq))
		}
	}
	return nil
}

// parents appends the seqs of the parents of an applied delta.
func (h *history) parents(dst []uint64, seq uint64) ([]uint64, error) {
	row, err := h.order(seq)
	return append(dst, row.parents...), err
}

// seqOf returns the number of a delta. It returns ErrNoDelta unless it is
// applied.
func (h *history) seqOf(id codec.DeltaID) (uint64, error) {
	seq, ok, err := readSeq(h.r, &h.context, &id)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s is not applied in context %s", ErrNoDelta, id, h.context)
	}
	return seq, err
}

// delta returns an applied delta, which must be there.
func (h *history) delta(id codec.DeltaID) (*Delta, error) {
	v, err := engine.Get(h.r, keys.ContextDagDelta{Context: h.context, Delta: id})
	if errors.Is(err, engine.ErrNotFound) || err == nil && !v.Applied {
		return nil, damagedRow(column.Delta, deltaKey(nil, &h.context, &id), "it is in the order, but not there as an applied delta")
	}
	if errors.Is(err, engine.ErrCorrupt) {
		return nil, damagedRow(column.Delta, deltaKey(nil, &h.context, &id), err.Error())
	}
	if err != nil {
		return nil, err
	}
	return &Delta{Context: h.context, Parents: v.Parents, Actions: v.Actions, HLC: v.HLC,
		ExpectedRoot: v.ExpectedRootHash, Events: v.Events}, nil
}

// newest returns the newest version of a key that is not after limit, if there
// is one.
func (h *history) newest(key *codec.Hash, limit *stamp) (v version, found bool, err error) {
	chain, err := h.chain()
	if err == nil {
		err = chain.versions(key, func(of *version) bool {
			if found = !of.after(limit); found {
				v = *of
			}
			return !found
		})
	}
	return v, found, err
}

// oldestAfter returns the oldest version of a key that is after limit, if there
// is one.
func (h *history) oldestAfter(key *codec.Hash, limit *stamp) (v version, found bool, err error) {
	chain, err := h.chain()
	if err != nil {
		return v, false, err
	}
	seq, err := chain.last(key)
	if err != nil || seq == 0 {
		return v, false, err
	}
	if d, err := chain.order(seq); err != nil || !d.after(limit) { // mostly there is none
		return v, false, err
	}
	err = chain.versions(key, func(of *version) bool {
		if !of.after(limit) {
			return false
		}
		v, found = *of, true
		return true
	})
	return v, found, err
}

// chainCache is how many bytes of pages a reader of versions keeps, which are not those that a writer knows the marks of.
const chainCache = 4 << 20

// chain returns what reads versions. The tail of the context has been ended in r.
func (h *history) chain() (*past, error) {
	if h.past == nil {
		late, err := anyIn(h.r, contextPrefix(nil, lateScope, &h.context))
		if err != nil {
			return nil, err
		}
		trie := merkle.OpenMarked(merkle.NewCache(chainCache), h.r, h.context, h.root)
		h.past = &past{v: new(view), id: h.context, trie: trie, recent: new(recent), noneLate: !late, base: h.base, budget: -1}
		h.past.v.Reset(h.r, nil)
	}
	return h.past, nil
}

// A base is a delta that every other applied delta of a context is an ancestor or
// a descendant of: what is at or before it in the order is its cut, so the state
// there and the deltas after it say all that a node needs.

// findBase returns the newest base whose stamp is not after limit, in a seeded
// context at the latest the one that it was seeded with. The seq is 0 if there is
// none.
func (h *history) findBase(ctx context.Context, heads []codec.DeltaID, own *contextRow, limit hlc.NTP64) (uint64, orderRow, error) {
	line := newLineage(h)
	if err := h.want(line, heads); err != nil {
		return 0, orderRow{}, err
	}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return 0, orderRow{}, ctx.Err()
		}
		alone := line.alone()
		seq, err := line.next()
		if err != nil || seq == 0 {
			return 0, orderRow{}, err
		}
		row, err := h.order(seq)
		if err != nil {
			return 0, orderRow{}, err
		}
		if alone && (hlc.NTP64(row.hlc.Time) <= limit || row.id == own.base.id) {
			return seq, row, nil
		}
		if len(row.parents) == 0 {
			// A beginning that is no base descends from none.
			return 0, orderRow{}, nil
		}
	}
}

// baseLimit returns the latest stamp of a base.
func (s *Store) baseLimit() hlc.NTP64 {
	if s.options.BaseAge < 0 {
		return ^hlc.NTP64(0)
	}
	return hlc.ToNTP64(s.clock.Now().Add(-s.options.BaseAge)).Latest()
}
