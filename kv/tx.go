package kv

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Tx changes a space. Everything that it changes lands in one batch, and it sees
// its own changes. It reads single rows, and of an index a bounded run. It is valid until the function
// that it was given to returns, and not safe for concurrent use; so are the
// bytes that it returns.
type Tx struct {
	u            *unit
	scope        keys.Scope
	typ          *Type
	row          []byte // of the counters
	before, meta Stats
	changed      bool // somebody who waits for changes of the space is to be woken
}

// Now is the time that the transaction takes place at: what expires at it, or
// before, is absent.
func (tx *Tx) Now() time.Time { return timeOf(tx.u.now) }

// Revision is the revision of the last change, this transaction's included.
func (tx *Tx) Revision() uint64 { return tx.meta.Revision }

// Scope is the beginning of the keys of the space's rows; see [Space.Scope].
func (tx *Tx) Scope() keys.Scope { return tx.scope }

// Get returns the record of key, or ErrNotFound if there is none or it has
// expired.
func (tx *Tx) Get(key []byte) (Record, error) {
	r, err := tx.record(key)
	if err == nil && r.expired(tx.u.now) {
		return Record{}, notFound()
	}
	return r, err
}

func notFound() *Error {
	return &Error{Code: CodeNotFound, Field: "key", Reason: "there is no such record"}
}

// record returns the record of key, expired or not.
func (tx *Tx) record(key []byte) (Record, error) {
	row := tx.u.key(Row{Scope: tx.scope, Shape: ShapeRecord, Key: key})
	value, err := tx.u.get(row)
	if errors.Is(err, engine.ErrNotFound) {
		return Record{}, notFound()
	}
	if err != nil {
		return Record{}, err
	}
	return parseRecord(row, key, value)
}

// PutOptions are how a record is put. The zero PutOptions put one that never
// expires.
type PutOptions struct {
	TTL     time.Duration // from Tx.Now on; 0: never expires
	Expires time.Time     // when, unless TTL says so; rounded up to a millisecond; zero: never
	KeepTTL bool          // keep the expiry of the record that is there, unless one is given
	Form    uint8         // what kind of value it is; the caller's to say
}

// Put stores a record and returns it. The value is copied, and Value of the
// result is the caller's. It returns ErrKeyTooLarge, ErrValueTooLarge or
// ErrInvalidArgument if one is out of its limits.
func (tx *Tx) Put(key, value []byte, o PutOptions) (Record, error) {
	if err := checkKey(key); err != nil {
		return Record{}, err
	}
	if most := tx.maxValue(); uint64(len(value)) > most {
		return Record{}, &Error{Code: CodeValueTooLarge, Field: "value", Limit: most, Have: uint64(len(value)), Reason: "the value is too long"}
	}
	if o.TTL < 0 || o.TTL > maxTTL {
		return Record{}, invalid("ttl", "a time to live is 0, for ever, or at most %s", maxTTL)
	}
	old, err := tx.live(key)
	if err != nil {
		return Record{}, err
	}
	now := timeOf(tx.u.now)
	r := Record{Key: key, Value: value, Kind: Put, Form: o.Form, Revision: tx.meta.Revision + 1, Created: tx.meta.Revision + 1, Written: now}
	if old.Kind == Put {
		r.Created = old.Created
		if o.KeepTTL {
			r.expires = old.expires
		}
	}
	switch {
	case o.TTL > 0:
		r.expires = min(after(tx.u.now, o.TTL), maxTime)
	case !o.Expires.IsZero():
		r.expires = momentOf(o.Expires)
	}
	if ttl := tx.meta.Rules.TTL; ttl > 0 && r.expires == 0 {
		r.expires = min(after(tx.u.now, ttl), maxTime)
	}
	r.Expires = timeOf(r.expires)
	return r, tx.change(old, r)
}

// maxValue is how many bytes a value has at most.
func (tx *Tx) maxValue() uint64 {
	if most := tx.meta.Rules.MaxValue; most > 0 {
		return most
	}
	return MaxValue
}

// maxTTL is the longest time to live.
const maxTTL = 100 * 365 * 24 * time.Hour

func checkKey(key []byte) error {
	if len(key) > MaxKey {
		return &Error{Code: CodeKeyTooLarge, Field: "key", Limit: MaxKey, Have: uint64(len(key)), Reason: "the key is too long"}
	}
	return nil
}

// Touch sets when the record of key expires, from Tx.Now on; 0: never. The value
// stays, and so does what the indexes say. It returns the record, whose Value is
// the caller's, or ErrNotFound.
func (tx *Tx) Touch(key []byte, ttl time.Duration) (Record, error) {
	old, err := tx.Get(key)
	if err != nil {
		return Record{}, err
	}
	return tx.Put(key, bytes.Clone(old.Value), PutOptions{TTL: ttl, Form: old.Form})
}

// Delete removes the record of key and returns what it was, or ErrNotFound.
func (tx *Tx) Delete(key []byte) (Record, error) {
	if err := checkKey(key); err != nil {
		return Record{}, err
	}
	old, err := tx.live(key)
	if err != nil {
		return Record{}, err
	}
	if old.Kind != Put {
		return Record{}, notFound()
	}
	return old, tx.remove(old, Deleted)
}

// live returns the record of key, whose Kind is 0 if there is none. One that has
// expired and is not swept yet it sweeps, so that its event comes first.
func (tx *Tx) live(key []byte) (Record, error) {
	old, err := tx.record(key)
	if errors.Is(err, ErrNotFound) {
		return Record{}, nil
	}
	if err == nil && old.expired(tx.u.now) {
		return Record{}, tx.remove(old, Expired)
	}
	return old, err
}

func (tx *Tx) remove(old Record, why Kind) error {
	r := Record{Key: old.Key, Kind: why, Form: old.Form, Revision: tx.meta.Revision + 1, Created: old.Created, Written: timeOf(tx.u.now)}
	if tx.typ.Last && len(old.Value) <= tx.typ.inline() {
		r.Value = old.Value
	}
	return tx.change(old, r)
}

// change makes r of old, whose Kind is 0 if there was nothing: the record, the
// log, history, indexes, expiry and counters. r has the next revision.
func (tx *Tx) change(old, r Record) error {
	tx.meta.Revision, tx.changed = r.Revision, true
	row := tx.u.key(Row{Scope: tx.scope, Shape: ShapeRecord, Key: r.Key})
	if old.Kind == Put {
		tx.meta.Keys--
		tx.meta.Bytes -= uint64(len(old.Key) + len(old.Value))
	}
	if r.Kind == Put {
		tx.meta.Keys++
		tx.meta.Bytes += uint64(len(r.Key) + len(r.Value))
	}
	if old.expires != r.expires {
		tx.rearm(old, r)
	}
	if err := tx.reindex(old, r); err != nil {
		return err
	}
	if err := tx.remember(old, r); err != nil {
		return err
	}
	if tx.typ.Changed != nil {
		if err := tx.typ.Changed(tx, old, r); err != nil {
			return err
		}
	}
	if r.Kind == Put {
		tx.u.scratch = appendRecord(tx.u.scratch[:0], &r)
		tx.u.put(row, tx.u.scratch)
	} else {
		tx.u.delete(row)
	}
	// The last row, since mostly the counters follow, which stand beside it: an engine that
	// puts one row after the other looks for their place once.
	tx.u.scratch = appendLog(tx.u.scratch[:0], &r, tx.typ.inline())
	tx.u.put(tx.u.key(Row{Scope: tx.scope, Shape: ShapeLog, Number: r.Revision}), tx.u.scratch)
	return nil
}

// rearm moves the expiry of a record in the line of what is due.
func (tx *Tx) rearm(old, r Record) {
	row := Row{Shape: ShapeDue, Of: tx.scope, Kind: byte(ShapeRecord), Key: r.Key}
	if row.Due = old.expires; row.Due != 0 {
		tx.u.delete(tx.u.key(row))
	}
	if row.Due = r.expires; row.Due != 0 {
		tx.u.due(row)
	}
}

// reindex writes the difference between the terms of two records.
func (tx *Tx) reindex(old, r Record) error {
	for _, index := range tx.typ.Indexes {
		had, err := terms(index, old)
		if err != nil {
			return err
		}
		has, err := terms(index, r)
		if err != nil {
			return err
		}
		row := Row{Scope: tx.scope, Shape: ShapeIndex, Index: index.Number, Key: r.Key}
		for _, row.Name = range had {
			if _, kept := slices.BinarySearchFunc(has, row.Name, bytes.Compare); !kept {
				tx.u.delete(tx.u.key(row))
			}
		}
		for _, row.Name = range has {
			if _, kept := slices.BinarySearchFunc(had, row.Name, bytes.Compare); !kept {
				tx.u.put(tx.u.key(row), nil)
			}
		}
	}
	return nil
}

// terms are the terms of a record that have rows, sorted, each once; none if it is no
// record.
func terms(index Index, r Record) ([][]byte, error) {
	if r.Kind != Put || index.Keys {
		return nil, nil
	}
	list := index.Terms(r.Key, r.Value)
	for _, term := range list {
		if len(term) > MaxTerm {
			return nil, invalid("index", "a term of index %d (%s) has %d bytes, at most %d", index.Number, index.Name, len(term), MaxTerm)
		}
	}
	slices.SortFunc(list, bytes.Compare)
	return slices.CompactFunc(list, bytes.Equal), nil
}

// finish writes the counters if anything changed, and trims the log.
func (tx *Tx) finish() error {
	if tx.meta == tx.before {
		return nil
	}
	if err := tx.meta.grown(&tx.before); err != nil {
		return err
	}
	tx.trim()
	tx.u.scratch = appendMeta(tx.u.scratch[:0], &tx.meta)
	tx.u.put(tx.row, tx.u.scratch)
	return nil
}

// trimRows is how many changes are removed from the log one by one. More are
// removed as a range, which costs as much as a row, but makes an engine that keeps
// rows in memory forget all of the column.
const trimRows = 256

// trimShare is the share of a log by which it grows before it is trimmed. One row
// after the other costs an engine much less than as many rows each between others:
// it does not look for where they go.
const trimShare = 64

// trim removes the oldest changes from the log, if it has grown enough.
func (tx *Tx) trim() {
	keep := tx.typ.log()
	if tx.meta.Revision-tx.meta.Floor < keep+max(keep/trimShare, 1) {
		return
	}
	from := Row{Scope: tx.scope, Shape: ShapeLog, Number: tx.meta.Floor + 1}
	tx.meta.Floor = tx.meta.Revision - keep
	if tx.meta.Floor-from.Number < trimRows {
		for ; from.Number <= tx.meta.Floor; from.Number++ {
			tx.u.delete(tx.u.key(from))
		}
		return
	}
	until := Row{Scope: tx.scope, Shape: ShapeLog, Number: tx.meta.Floor + 1}
	tx.u.batch.DeleteRange(column.Generic, tx.u.key(from), tx.u.key(until))
}
