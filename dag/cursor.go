package dag

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// MaxCursorName is the longest name of a cursor, in bytes.
const MaxCursorName = 64

// ErrCursor is returned for a name that no cursor can have.
var ErrCursor = errors.New("dag: a cursor's name has 1 to 64 bytes")

// Cursor is how far a follower of a context has come.
type Cursor struct {
	Name string
	Seq  uint64 // of the last delta that it has acknowledged; 0: none
}

// Ack notes that the follower of that name is done with the delta at a position
// and with all before it. A cursor begins with its first Ack and does not go back:
// an Ack that comes late changes nothing. It returns ErrPosition if that delta is
// not there, ErrNoContext, ErrCursor, ErrClosed, or the engine's error.
func (s *Store) Ack(id codec.ContextID, name string, at Position, d engine.Durability) error {
	if err := checkCursor(name); err != nil {
		return err
	}
	return s.db.Update(func(g engine.Getter, b *engine.Batch) error {
		b.Durability = d
		if err := s.ended(s.ctx); err != nil {
			return err
		}
		key := orderKey(nil, &id, at.Seq)
		value, err := g.Get(nil, column.Generic, key)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
		row, ok := parseOrder(value)
		switch {
		case err == nil && !ok:
			return damagedRow(column.Generic, key, "not a place in the order")
		case err != nil || !at.Delta.IsZero() && row.id != at.Delta:
			return fmt.Errorf("%w: %s is not number %d of context %s", ErrPosition, at.Delta, at.Seq, id)
		}
		before, err := readCursor(g, &id, name)
		if err != nil || before >= at.Seq {
			return err
		}
		b.Put(column.Generic, cursorKey(nil, &id, name), binary.LittleEndian.AppendUint64(nil, at.Seq))
		return nil
	})
}

// DropCursor forgets a cursor, and says whether there was one. It returns ErrCursor, ErrClosed,
// or the engine's error.
func (s *Store) DropCursor(id codec.ContextID, name string) (existed bool, err error) {
	if err := checkCursor(name); err != nil {
		return false, err
	}
	if err := s.ended(s.ctx); err != nil {
		return false, err
	}
	key := cursorKey(nil, &id, name)
	err = s.db.Update(func(r engine.Getter, b *engine.Batch) error {
		_, err := r.Get(nil, column.Generic, key)
		if existed = err == nil; existed {
			b.Delete(column.Generic, key)
		}
		if errors.Is(err, engine.ErrNotFound) {
			return nil
		}
		return err
	})
	return existed && err == nil, err
}

// Cursors returns the cursors of a context whose names come after a name, in the
// order of their bytes, at most limit; 0: all. It returns ErrClosed,
// engine.ErrCorrupt, or the engine's error.
func (s *Store) Cursors(id codec.ContextID, after string, limit int) ([]Cursor, error) {
	if err := s.ended(s.ctx); err != nil {
		return nil, err
	}
	rg := engine.Prefixed(cursorKey(nil, &id, ""))
	if after != "" {
		rg.Start = cursorKey(nil, &id, after+"\x00")
	}
	var list []Cursor
	err := s.list(s.db, rg, limit, func(key, value []byte) error {
		seq, ok := parseU64(value)
		if !ok {
			return damagedRow(column.Generic, key, "not a number")
		}
		list = append(list, Cursor{Name: string(bytes.Clone(key[contextPrefixLen:])), Seq: seq})
		return nil
	})
	return list, err
}

func checkCursor(name string) error {
	if n := len(name); n == 0 || n > MaxCursorName {
		return fmt.Errorf("%w: %d bytes", ErrCursor, n)
	}
	return nil
}

// readCursor returns what a cursor has acknowledged, 0 if there is none of
// that name.
func readCursor(g engine.Getter, id *codec.ContextID, name string) (uint64, error) {
	if err := checkCursor(name); err != nil {
		return 0, err
	}
	key := cursorKey(nil, id, name)
	value, err := g.Get(nil, column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	seq, ok := parseU64(value)
	if !ok {
		return 0, damagedRow(column.Generic, key, "not a number")
	}
	return seq, nil
}
