package kv

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// The history of a key is a row with the revisions that are kept, oldest first,
// u64 each in little endian, and a row of each. Of a space with rules these are the
// older ones: the newest is the record.

func parseRevisions(row, src []byte) ([]uint64, error) {
	if len(src) == 0 || len(src)%8 != 0 || len(src) > 8*MaxHistory {
		return nil, damaged(row, "not a list of revisions")
	}
	list := make([]uint64, len(src)/8)
	for i := range list {
		list[i] = binary.LittleEndian.Uint64(src[8*i:])
		if i > 0 && list[i] <= list[i-1] {
			return nil, damaged(row, "revisions that are not in order")
		}
	}
	return list, nil
}

// remember puts a change into the history of its key, and lets go of what is
// beyond the depth.
func (tx *Tx) remember(old, r Record) error {
	if tx.typ.Others {
		return tx.keepOlder(old, r)
	}
	if tx.typ.History == 0 {
		return nil
	}
	head := tx.u.key(Row{Scope: tx.scope, Shape: ShapeHistory, Key: r.Key})
	list, err := tx.revisions(head)
	if err != nil {
		return err
	}
	list = append(list, r.Revision)
	row := Row{Scope: tx.scope, Shape: ShapeRevision, Name: r.Key}
	for len(list) > tx.typ.History {
		row.Number = list[0]
		tx.u.delete(tx.u.key(row))
		list = list[1:]
	}
	row.Number = r.Revision
	tx.u.put(tx.u.key(row), appendRecord(nil, &r))
	value := make([]byte, 0, 8*len(list))
	for _, n := range list {
		value = binary.LittleEndian.AppendUint64(value, n)
	}
	tx.u.put(head, value)
	return nil
}

// keepOlder is remember in a space with rules. Of what is gone nothing is kept.
func (tx *Tx) keepOlder(old, r Record) error {
	depth := tx.meta.Rules.History - 1
	if r.Kind != Put {
		depth = 0
	}
	if old.Kind != Put || depth == 0 && tx.meta.Older == 0 {
		return nil
	}
	head := tx.u.key(Row{Scope: tx.scope, Shape: ShapeHistory, Key: r.Key})
	list, err := tx.revisions(head)
	if err != nil {
		return err
	}
	if depth > 0 {
		tx.u.put(tx.u.key(Row{Scope: tx.scope, Shape: ShapeRevision, Name: r.Key, Number: old.Revision}), appendRecord(nil, &old))
		list = append(list, old.Revision)
		tx.meta.Older++
	}
	tx.cutOlder(head, r.Key, list, depth)
	return nil
}

// cutOlder keeps the newest of a list of revisions of a key, so many.
func (tx *Tx) cutOlder(head, key []byte, list []uint64, depth int) {
	had := len(list)
	row := Row{Scope: tx.scope, Shape: ShapeRevision, Name: key}
	for ; len(list) > depth; list = list[1:] {
		row.Number = list[0]
		tx.u.delete(tx.u.key(row))
		tx.meta.Older--
	}
	switch {
	case len(list) > 0:
		value := make([]byte, 0, 8*len(list))
		for _, n := range list {
			value = binary.LittleEndian.AppendUint64(value, n)
		}
		tx.u.put(head, value)
	case had > 0:
		tx.u.delete(head)
	}
}

// Trim has a space with rules keep no more than so many revisions of key, the newest
// included.
func (tx *Tx) Trim(key []byte, most int) error {
	if tx.meta.Older == 0 {
		return nil
	}
	head := tx.u.key(Row{Scope: tx.scope, Shape: ShapeHistory, Key: key})
	list, err := tx.revisions(head)
	if err == nil && len(list) > most-1 {
		tx.cutOlder(head, key, list, most-1)
	}
	return err
}

func (tx *Tx) revisions(head []byte) ([]uint64, error) {
	value, err := tx.u.get(head)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseRevisions(head, value)
}

// History returns the revisions of key that are kept, oldest first; none if the
// type keeps no history or nothing was ever put there.
func (tx *Tx) History(key []byte) ([]uint64, error) {
	return tx.revisions(tx.u.key(Row{Scope: tx.scope, Shape: ShapeHistory, Key: key}))
}

// History returns the changes of key that are kept, oldest first. Expiry is as
// it was written: a record of the past may have an expiry that has passed.
func (v *View) History(key []byte) ([]Record, error) {
	if v.typ.Others {
		return v.older(key)
	}
	return v.kept(key, MaxHistory)
}

// older is History in a space with rules, where what is beyond them may not have gone yet.
func (v *View) older(key []byte) ([]Record, error) {
	newest, err := v.Get(key)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	stats, err := v.Stats()
	if err != nil {
		return nil, err
	}
	list, err := v.kept(key, stats.Rules.History-1)
	return append(list, newest), err
}

// Of returns the revision of key in a space with rules, or ErrTrimmed if the key had none or it
// is no longer kept: one of those that History has.
func (v *View) Of(key []byte, revision uint64) (Record, error) {
	newest, err := v.Get(key)
	if err == nil && newest.Revision == revision {
		return newest, nil
	}
	var list []uint64
	if err == nil {
		var stats Stats
		if stats, err = v.Stats(); err == nil {
			list, err = v.revisions(key, stats.Rules.History-1)
		}
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Record{}, err
	}
	if !slices.Contains(list, revision) {
		return Record{}, notKept(revision)
	}
	return v.AtRevision(key, revision)
}

// revisions returns the newest of those of key that have rows of history.
func (v *View) revisions(key []byte, most int) ([]uint64, error) {
	head := Row{Scope: v.scope, Shape: ShapeHistory, Key: key}.AppendKey(nil)
	value, err := v.reader.Get(nil, column.Generic, head)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := parseRevisions(head, value)
	return list[max(len(list)-most, 0):], err
}

// kept returns the newest of the changes of key that have rows of history.
func (v *View) kept(key []byte, most int) ([]Record, error) {
	list, err := v.revisions(key, most)
	if err != nil {
		return nil, err
	}
	records := make([]Record, 0, len(list)+1)
	for _, n := range list {
		r, err := v.AtRevision(key, n)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return slices.Clip(records), nil
}

// AtRevision returns the change of key that has the revision, or ErrTrimmed if
// the key had none or it is no longer kept.
func (v *View) AtRevision(key []byte, revision uint64) (Record, error) {
	row := Row{Scope: v.scope, Shape: ShapeRevision, Name: key, Number: revision}.AppendKey(nil)
	value, err := v.reader.Get(nil, column.Generic, row)
	if errors.Is(err, engine.ErrNotFound) {
		if v.typ.Others {
			if r, err := v.Get(key); !errors.Is(err, ErrNotFound) && (err != nil || r.Revision == revision) {
				return r, err
			}
		}
		return Record{}, notKept(revision)
	}
	if err != nil {
		return Record{}, err
	}
	return parseRecord(row, slices.Clone(key), value)
}

func notKept(revision uint64) error {
	return notLogged(revision, "the key has no such revision, or it is no longer kept")
}
