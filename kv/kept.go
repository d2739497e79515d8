package kv

import (
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Keep keeps a value under a name of 1 to MaxName bytes, beside the records, for
// whoever the space belongs to. It takes no revision, no watch tells it, and no quota
// counts it. An empty value removes what is there.
func (tx *Tx) Keep(name string, value []byte) error {
	if err := checkName("name", name); err != nil {
		return err
	}
	if len(value) > MaxValue {
		return &Error{Code: CodeValueTooLarge, Field: "value", Limit: MaxValue, Have: uint64(len(value)), Reason: "the value is too long"}
	}
	row := tx.u.key(keptRow(tx.scope, name))
	if len(value) == 0 {
		tx.u.delete(row)
	} else {
		tx.u.put(row, value)
	}
	return nil
}

// Kept returns what is kept under a name, as the transaction leaves it; nil: nothing.
func (tx *Tx) Kept(name string) ([]byte, error) {
	value, err := tx.u.get(tx.u.key(keptRow(tx.scope, name)))
	return value, unless(err, engine.ErrNotFound)
}

// Kept returns what is kept under a name, which is the caller's; nil: nothing.
func (v *View) Kept(name string) ([]byte, error) {
	if err := v.store.open(); err != nil {
		return nil, err
	}
	value, err := v.reader.Get(nil, column.Generic, keptRow(v.scope, name).AppendKey(nil))
	return value, unless(err, engine.ErrNotFound)
}

// Kept returns what is kept under a name; see [View.Kept].
func (s *Space) Kept(name string) ([]byte, error) { return s.now().Kept(name) }

func keptRow(scope keys.Scope, name string) Row {
	return Row{Scope: scope, Shape: ShapeKept, Key: []byte(name)}
}
