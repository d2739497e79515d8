package kv

import (
	"bytes"
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// MaxTxRead is how many rows of an index a transaction reads at once at most: other
// writes wait for it.
const MaxTxRead = 1024

// Term is a record's key under one of its terms.
type Term struct{ Term, Key []byte }

// ByTerm returns the keys of records by their terms in an index of the type, as the
// transaction leaves them: in order of the terms, from one up to, but without, another
// (nil: to the last), and then of the keys. It looks at no more than most of them (1 to
// MaxTxRead), and says whether there are more: they go on from the last term that it
// has returned. Records that have expired are left out.
func (tx *Tx) ByTerm(index uint16, from, to []byte, most int) (found []Term, more bool, err error) {
	if most < 1 || most > MaxTxRead {
		return nil, false, invalid("most", "a transaction reads 1 to %d rows of an index at once", MaxTxRead)
	}
	r, keys, err := termRange(tx.scope, tx.typ, index, from, to)
	if err != nil || bytes.Compare(r.Start, r.End) >= 0 {
		return nil, false, err
	}
	r.Limit = most + 1
	it, err := tx.u.view.Iterate(column.Generic, r)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = it.Close() }()
	for it.Next() {
		if len(found) == most {
			more = true
			break
		}
		row, err := ParseRow(it.Key())
		if err != nil {
			return nil, false, err
		}
		if keys {
			row.Name = row.Key
		}
		found = append(found, Term{row.Name, row.Key})
	}
	if err := it.Err(); err != nil {
		return nil, false, err
	}
	live := found[:0]
	for _, t := range found {
		there, err := tx.has(t.Key)
		if err != nil {
			return nil, false, err
		}
		if there {
			live = append(live, t)
		}
	}
	return live, more, nil
}

// has reports whether there is a record that has not expired, and keeps nothing of it.
func (tx *Tx) has(key []byte) (bool, error) {
	row := tx.u.key(Row{Scope: tx.scope, Shape: ShapeRecord, Key: key})
	value, err := tx.u.view.Get(tx.u.scratch[:0], column.Generic, row)
	if err != nil {
		return false, unless(err, engine.ErrNotFound)
	}
	tx.u.scratch = value
	r, err := parseRecord(row, key, value)
	return err == nil && !r.expired(tx.u.now), err
}

// termRange is the rows of an index of a type from a term up to, but without, another
// (nil: to the last), and whether they are those of the records.
func termRange(scope keys.Scope, t *Type, index uint16, from, to []byte) (r engine.Range, keys bool, err error) {
	at := slices.IndexFunc(t.Indexes, func(i Index) bool { return i.Number == index })
	if at < 0 {
		return r, false, invalid("index", "the type has no index %d", index)
	}
	start := func(term []byte) []byte { // of the rows of terms that begin with it
		if t.Indexes[at].Keys {
			return Row{Scope: scope, Shape: ShapeRecord, Key: term}.AppendKey(nil)
		}
		key := Row{Scope: scope, Shape: ShapeIndex, Index: index, Name: term}.AppendKey(nil)
		return key[:len(key)-2] // up to where the term would go on
	}
	r = engine.Range{Start: start(from), End: engine.Successor(start(nil))}
	if to != nil {
		r.End = start(to)
	}
	return r, t.Indexes[at].Keys, nil
}
