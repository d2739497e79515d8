package dag

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// StateEntry is an app_key of a state with its value.
type StateEntry struct {
	AppKey []byte
	Value  []byte
}

// RowError is what is wrong with an app_key, and the row that it would have.
type RowError struct {
	Column column.Column
	Key    []byte
	Err    error // a *keys.Error
}

// Error says what is wrong.
func (e *RowError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *RowError) Unwrap() error { return e.Err }

// stateRow returns the key of the row of an app_key, or a [*RowError].
func stateRow(id codec.ContextID, col column.Column, appKey []byte) ([]byte, error) {
	key := stateKey(make([]byte, 0, len(id)+len(appKey)), &id, appKey)
	if _, err := keys.Identify(col, key); err != nil {
		return nil, &RowError{col, key, err}
	}
	return key, nil
}

// State returns the value under an app_key of a context, which belongs to the
// caller. It returns engine.ErrNotFound if there is none, [ErrNoContext], and
// [ErrAdopting].
func (s *Store) State(id codec.ContextID, appKey []byte) (value []byte, err error) {
	err = s.view(func(r engine.Reader) error {
		if err := notAdopting(r, id); err != nil {
			return err
		}
		value, err = r.Get([]byte{}, column.State, stateKey(nil, &id, appKey))
		if errors.Is(err, engine.ErrNotFound) {
			if _, none := readMeta(r, id); none != nil {
				return none
			}
		}
		return err
	})
	return value, err
}

// Value is State for one read of what is there, which costs less: while a snapshot takes
// the place of the context, the value may be of before or after, and only one that is
// missing is [ErrAdopting]. It returns [*RowError] for a key that is too long.
func (s *Store) Value(id codec.ContextID, appKey []byte) ([]byte, error) {
	value, err := s.value(column.State, id, appKey)
	if errors.Is(err, engine.ErrNotFound) {
		return s.State(id, appKey)
	}
	return value, err
}

// Private is State for the private state, which belongs to the node alone and which a
// snapshot leaves alone. It returns [*RowError] too.
func (s *Store) Private(id codec.ContextID, appKey []byte) ([]byte, error) {
	value, err := s.value(column.PrivateState, id, appKey)
	if errors.Is(err, engine.ErrNotFound) {
		if none := s.There(id); none != nil {
			return nil, none
		}
	}
	return value, err
}

// value returns what is under an app_key, which is never nil where something is.
func (s *Store) value(col column.Column, id codec.ContextID, appKey []byte) ([]byte, error) {
	key, err := stateRow(id, col, appKey)
	if err != nil {
		return nil, err
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	return s.db.Get([]byte{}, col, key)
}

// WritePrivate makes changes of the private state of a context, all or none, and says how
// many keys that it deletes had something. No key may come twice. It returns [ErrNoContext],
// [*RowError], the error of ctx where nobody waits for it any more, or the engine's error.
func (s *Store) WritePrivate(ctx context.Context, id codec.ContextID, actions []codec.Action, d engine.Durability) (deleted int, err error) {
	rows := make([][]byte, len(actions))
	for i := range actions {
		if rows[i], err = stateRow(id, column.PrivateState, actions[i].Key); err != nil {
			return 0, err
		}
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := s.Begin(id); err != nil {
		return 0, err
	}
	// The context that is deleted meanwhile leaves nothing to the next of its id.
	err = s.db.Update(func(r engine.Getter, b *engine.Batch) (err error) {
		b.Durability = d
		if deleted, err = putPrivate(r, b, rows, actions); err != nil {
			return err
		}
		has, err := engine.Has(r, keys.ContextMeta{Context: id})
		if err == nil && !has {
			err = fmt.Errorf("%w: %s", ErrNoContext, id)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}

func putPrivate(r engine.Getter, b *engine.Batch, rows [][]byte, actions []codec.Action) (deleted int, err error) {
	for i, a := range actions {
		if a.Kind == codec.ActionPut {
			b.Put(column.PrivateState, rows[i], a.Value)
			continue
		}
		switch _, err := r.Get(nil, column.PrivateState, rows[i]); {
		case err == nil:
			b.Delete(column.PrivateState, rows[i])
			deleted++
		case !errors.Is(err, engine.ErrNotFound):
			return 0, err
		}
	}
	return deleted, nil
}

// ScanState yields the shared state of a context whose app_keys are in r, in their order,
// in one consistent state. What it yields is good until the next. It returns [ErrNoContext],
// [ErrAdopting], [ErrClosed], or the engine's error.
func (s *Store) ScanState(ctx context.Context, id codec.ContextID, r engine.Range) iter.Seq2[StateEntry, error] {
	return s.scan(ctx, column.State, id, r, Readable)
}

// ScanPrivate is ScanState for the private state.
func (s *Store) ScanPrivate(ctx context.Context, id codec.ContextID, r engine.Range) iter.Seq2[StateEntry, error] {
	return s.scan(ctx, column.PrivateState, id, r, there)
}

func (s *Store) scan(ctx context.Context, col column.Column, id codec.ContextID, r engine.Range,
	check func(engine.Getter, codec.ContextID) error,
) iter.Seq2[StateEntry, error] {
	rows := engine.Prefixed(id[:])
	rows.Start = stateKey(nil, &id, r.Start)
	if r.End != nil {
		rows.End = stateKey(nil, &id, r.End)
	}
	rows.Reverse, rows.Limit = r.Reverse, r.Limit
	return func(yield func(StateEntry, error) bool) {
		stopped := false
		err := s.view(func(r engine.Reader) error {
			if err := check(r, id); err != nil {
				return err
			}
			it, err := r.Iterate(col, rows)
			if err != nil {
				return err
			}
			defer it.Close()
			for !stopped && it.Next() {
				if err := s.ended(ctx); err != nil {
					return err
				}
				stopped = !yield(StateEntry{it.Key()[len(id):], it.Value()}, nil)
			}
			return it.Err()
		})
		if err != nil && !stopped {
			yield(StateEntry{}, err)
		}
	}
}
