package dag

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// history reads what has been applied to one context, in the state of the store
// that r is of.
type history struct {
	r       engine.Reader
	context codec.ContextID
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
	rg := engine.Prefixed(versionPrefix(nil, &h.context, key))
	rg.Start, rg.Limit = versionKey(nil, &h.context, key, limit), 1
	return h.version(rg)
}

// oldestAfter returns the oldest version of a key that is after limit, if there
// is one.
func (h *history) oldestAfter(key *codec.Hash, limit *stamp) (v version, found bool, err error) {
	rg := engine.Range{Start: versionPrefix(nil, &h.context, key), End: versionKey(nil, &h.context, key, limit), Reverse: true, Limit: 1}
	return h.version(rg)
}

func (h *history) version(rg engine.Range) (v version, found bool, err error) {
	err = each(h.r, rg, func(key, value []byte) error {
		if v, _, found = parseVersion(key, value); !found {
			return damagedRow(column.Generic, key, "no version of a key")
		}
		return nil
	})
	return v, found, err
}
