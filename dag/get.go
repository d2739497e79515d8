package dag

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// DeltaState is what a delta that is here is doing. The zero DeltaState is none.
// The numbers are sent: they do not change.
type DeltaState uint8

// The states of a delta.
const (
	StateApplied DeltaState = 1 + iota // it is part of the state
	StatePending                       // it waits for other deltas
	StateReady                         // it waits for no other delta: its causal cut is being computed, or it is about to be applied
)

// String returns the state as messages and tables spell it.
func (d DeltaState) String() string {
	switch d {
	case StateApplied:
		return "applied"
	case StatePending:
		return "pending"
	case StateReady:
		return "ready"
	}
	return fmt.Sprintf("DeltaState(%d)", uint8(d))
}

// Get returns a delta of a context, which belongs to the caller. It returns
// [ErrNoDelta] if it is not here, [ErrNoContext], and [ErrAdopting].
func (s *Store) Get(id codec.ContextID, delta codec.DeltaID) (d *Delta, state DeltaState, err error) {
	err = s.view(func(r engine.Reader) error {
		v, ok, err := readDelta(r, id, &delta)
		if err != nil {
			return err
		}
		if !ok {
			past := history{r: r, context: id}
			if _, _, err := past.open(); err != nil {
				return err
			}
			return fmt.Errorf("%w: %s", ErrNoDelta, delta)
		}
		d, state = rowDelta(id, &v), StateApplied
		if v.Applied {
			return nil
		}
		state = StatePending
		_, err = r.Get(nil, column.Generic, pendingKey(nil, readyRow, &id, &delta))
		switch {
		case err == nil:
			state = StateReady
		case !errors.Is(err, engine.ErrNotFound):
			return err
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return d, state, nil
}

// Head is a delta that no applied delta names as its parent.
type Head struct {
	ID  codec.DeltaID
	HLC codec.HybridTimestamp
	Seq uint64 // its number in the order of application
}

// Heads returns the heads of a context in ascending order of id, and its root. It
// returns [ErrNoContext] and [ErrAdopting].
func (s *Store) Heads(id codec.ContextID) (list []Head, root codec.Hash, err error) {
	err = s.view(func(r engine.Reader) error {
		past := history{r: r, context: id}
		meta, _, err := past.open()
		if err != nil {
			return err
		}
		root = meta.RootHash
		heads, err := readHeads(r, id, meta.DagHeads, s.beside)
		for i := range heads {
			list = append(list, Head{heads[i].id, heads[i].hlc, heads[i].seq})
		}
		return err
	})
	return list, root, err
}

// Missing returns the deltas that others wait for and that are not here, in
// ascending order after after, at most limit; 0: all. The zero id is before the
// first. It returns [ErrNoContext] and [ErrAdopting].
func (s *Store) Missing(id codec.ContextID, after codec.DeltaID, limit int) (list []codec.DeltaID, err error) {
	prefix := kindPrefix(nil, pendingScope, missingRow, &id)
	err = s.page(id, prefix, after[:], limit, func(_ engine.Reader, key, _ []byte) error {
		missing, ok := idAfter(key, kindPrefixLen)
		if !ok {
			return damagedRow(column.Generic, key, "not a key of dag-pending")
		}
		list = append(list, missing)
		return nil
	})
	return list, err
}

// PendingDelta is a delta that waits.
type PendingDelta struct {
	ID      codec.DeltaID
	Arrival uint64 // the lower, the longer it has waited
	Bytes   uint64 // as it travels
}

// Pending returns the deltas that wait, in the order in which they came, after the
// one whose arrival is after, at most limit; 0: all. It returns [ErrNoContext] and
// [ErrAdopting].
func (s *Store) Pending(id codec.ContextID, after uint64, limit int) (list []PendingDelta, err error) {
	prefix := kindPrefix(nil, pendingScope, arrivalRow, &id)
	err = s.page(id, prefix, arrivalKey(nil, &id, after)[len(prefix):], limit, func(_ engine.Reader, key, value []byte) error {
		arrival, delta, size, ok := parseArrival(key, value)
		if !ok {
			return damagedRow(column.Generic, key, "not an arrival")
		}
		list = append(list, PendingDelta{ID: delta, Arrival: arrival, Bytes: size})
		return nil
	})
	return list, err
}

// ListedRefusal is a refusal and its number.
type ListedRefusal struct {
	Refusal
	Seq uint64 // the lower, the older
}

// Refusals returns the refusals that are remembered, the oldest first, after the
// one whose number is after, at most limit; 0: all. It returns [ErrNoContext] and
// [ErrAdopting].
func (s *Store) Refusals(id codec.ContextID, after uint64, limit int) (list []ListedRefusal, err error) {
	prefix := kindPrefix(nil, refusedScope, refusalRow, &id)
	err = s.page(id, prefix, binary.BigEndian.AppendUint64(nil, after), limit, func(_ engine.Reader, key, value []byte) error {
		refusal, ok := parseRefusal(value)
		if !ok || len(key) != kindPrefixLen+8 {
			return damagedRow(column.Generic, key, "not a refusal")
		}
		list = append(list, ListedRefusal{refusal, binary.BigEndian.Uint64(key[kindPrefixLen:])})
		return nil
	})
	return list, err
}

// page calls fn with at most limit rows of Generic below prefix whose keys come
// after prefix ‖ after.
func (s *Store) page(id codec.ContextID, prefix, after []byte, limit int, fn func(r engine.Reader, key, value []byte) error) error {
	return s.view(func(r engine.Reader) error {
		past := history{r: r, context: id}
		if _, _, err := past.open(); err != nil {
			return err
		}
		rg := engine.Prefixed(prefix)
		rg.Start = append(append(append([]byte(nil), prefix...), after...), 0)
		return s.list(r, rg, limit, func(key, value []byte) error { return fn(r, key, value) })
	})
}

// list calls fn with the rows of Generic in a range until it has returned nil limit
// times; 0: all. In a view it goes on behind those that are damaged.
func (s *Store) list(r engine.Reader, rg engine.Range, limit int, fn func(key, value []byte) error) error {
	n := 0
	err := each(r, rg, func(key, value []byte) error {
		if err := fn(key, value); err != nil {
			return s.beside(err)
		}
		if n++; n == limit {
			return errStop
		}
		return nil
	})
	if err == errStop {
		return nil
	}
	return err
}
