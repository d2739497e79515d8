package kvstorage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Op is what a [Change] does.
type Op uint8

// The operations that write.
const (
	OpPut Op = 1 + iota
	OpDelete
	OpTouch
	OpIncrement
	OpSwap // compare-and-swap
)

// Expect is what a compare-and-swap, or another change of a batch, expects to be
// there. The zero Expect is anything.
type Expect struct {
	Absent bool // nothing
	// Value is the value that is expected; nil: any. null is nothing too, unless
	// Strict is set.
	Value    []byte
	Strict   bool
	Revision uint64 // the revision; 0: any
}

func (e Expect) any() bool { return !e.Absent && e.Value == nil && e.Revision == 0 }

// Change is one operation that writes.
type Change struct {
	Op         Op
	Key        string
	Value      []byte // of put and swap: JSON
	Delta      int64  // of increment
	TTLSeconds *int64 // nil: none for put and touch, as it is for others
	Expect     Expect // required for swap. In a batch, others fail it all if it is not met
}

// Result is what became of a change. Item is what the key has now; of a delete
// that was made, what was there, without its value; of a swap or a delete that
// did not find what it expects, what is there.
type Result struct {
	Item     Item
	Swapped  bool   // of a swap: whether it found what it expected
	Revision uint64 // of the change; 0: there was nothing to change
}

// Deleted is what became of a delete.
type Deleted struct {
	Existed  bool   // there was something, and there is nothing now
	Revision uint64 // of the deletion; 0: nothing was deleted
	// Item is what is there, if it is not what was expected; nothing otherwise.
	Item Item
}

// prepared is a change whose costly part is done.
type prepared struct {
	Change
	key []byte
	ttl time.Duration
}

func (s *Storage) prepare(c Change) (p prepared, err error) {
	if c.Op == OpIncrement && s.o.NoIncrement {
		return p, missing("atomicIncrement")
	}
	if c.Op == OpSwap && s.o.NoCompareAndSwap {
		return p, missing("compareAndSwap")
	}
	p.Change, p.key = c, []byte(c.Key)
	if err := s.checkKey(p.key); err != nil {
		return p, err
	}
	switch c.Op {
	case OpPut, OpSwap:
		if p.Value, err = s.canonical("value", c.Value); err != nil {
			return p, err
		}
	case OpDelete, OpTouch, OpIncrement:
	default:
		return p, refuse(InvalidArgument, "op", "no such operation")
	}
	if c.Expect.Value != nil {
		if p.Expect.Value, err = canonical("expect", c.Expect.Value); err != nil {
			return p, err
		}
	}
	switch {
	case c.Op == OpSwap && c.Expect.any():
		return p, refuse(InvalidArgument, "expect", "say what is expected: a value, a revision, or expectAbsent")
	case c.Expect.Absent && (c.Expect.Value != nil || c.Expect.Revision != 0):
		return p, refuse(InvalidArgument, "expectAbsent", "nothing, and a value or a revision, can't be expected at once")
	}
	p.ttl, err = s.ttl(c.TTLSeconds)
	return p, err
}

// met reports whether the record, whose Kind is 0 if there is none, is what is
// expected. Value is canonical.
func (e Expect) met(r kv.Record) bool {
	there := r.Kind == kv.Put
	switch {
	case e.Absent && there, e.Revision != 0 && (!there || r.Revision != e.Revision):
		return false
	case e.Value == nil:
		return true
	case !there:
		return !e.Strict && bytes.Equal(e.Value, null)
	}
	return bytes.Equal(e.Value, shown(r))
}

// writeItem makes a change, and returns what the key has now.
func (s *Storage) writeItem(ctx context.Context, tenant string, c Change, d engine.Durability) (Item, error) {
	r, err := s.write(ctx, tenant, c, d)
	return r.Item, err
}

// write makes a change in a batch of its own. One that does not find what it expects
// is no error: the result has what is there.
func (s *Storage) write(ctx context.Context, tenant string, c Change, d engine.Durability) (r Result, err error) {
	refused := Result{Item: nothing(c.Key)}
	if err := s.begin(tenant); err != nil {
		return refused, s.clientError(err)
	}
	p, err := s.prepare(c)
	if err != nil {
		return refused, s.clientError(err)
	}
	err = s.update(ctx, tenant, d, func(tx *kv.Tx) (err error) {
		r, err = s.apply(tx, p)
		if errors.Is(err, errUnmet) {
			err = nil
		}
		return err
	})
	if err != nil {
		return refused, err
	}
	return r, nil
}

// CompareAndSwap stores a value if the key has what is expected, and returns
// whether it did, and what the key has now. Being refused is no error. What is
// there keeps its time to live unless a new one is given.
func (s *Storage) CompareAndSwap(ctx context.Context, tenant, key string, expect Expect, value []byte, o WriteOptions) (Result, error) {
	return s.write(ctx, tenant, Change{Op: OpSwap, Key: key, Value: value, Expect: expect, TTLSeconds: o.TTLSeconds}, o.Durability)
}

// CompareAndDelete removes what a key has if that is what is expected, and says
// what is there if it is not. Being refused is no error. It is offered where
// compare-and-swap is.
func (s *Storage) CompareAndDelete(ctx context.Context, tenant, key string, expect Expect, o WriteOptions) (Deleted, error) {
	none := Deleted{Item: nothing(key)}
	switch {
	case s.o.NoCompareAndSwap && !s.o.Off:
		return none, s.clientError(missing("compareAndSwap"))
	case expect.any(), expect.Absent:
		return none, s.clientError(refuse(InvalidArgument, "expect", "say what is expected: a value or a revision"))
	}
	if found, err := s.look(tenant, []byte(key)); err != nil || found == nil { // nothing is made for a tenant that has nothing
		return none, err
	}
	r, err := s.write(ctx, tenant, Change{Op: OpDelete, Key: key, Expect: expect}, o.Durability)
	return deleted(r), err
}

// deleted is what the result of a delete says.
func deleted(r Result) Deleted {
	if r.Revision == 0 {
		return Deleted{Item: r.Item}
	}
	return Deleted{Existed: true, Revision: r.Revision, Item: nothing(r.Item.Key)}
}

// maxChanges is how many changes a batch has at most.
const maxChanges = 10_000

// Batch makes changes one after the other, all of them or none. A change that
// does not find what it expects fails it all with kv_conflict, a swap too; so
// does one that is refused.
func (s *Storage) Batch(ctx context.Context, tenant string, changes []Change, d engine.Durability) ([]Result, error) {
	if len(changes) > maxChanges {
		return nil, s.clientError(tooLarge(InvalidArgument, "changes", "", maxChanges, uint64(len(changes))))
	}
	if err := s.begin(tenant); err != nil {
		return nil, s.clientError(err)
	}
	list := make([]prepared, len(changes))
	for i, c := range changes {
		p, err := s.prepare(c)
		if err != nil {
			return nil, s.clientError(inBatch(err, i, len(changes)))
		}
		list[i] = p
	}
	results := make([]Result, len(list))
	err := s.update(ctx, tenant, d, func(tx *kv.Tx) error {
		for i, p := range list {
			var err error
			if results[i], err = s.apply(tx, p); err != nil {
				return inBatch(err, i, len(list))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// inBatch says which change of several was refused, as people count.
func inBatch(err error, i, n int) error {
	if errors.Is(err, errUnmet) {
		err = refuse(Conflict, "expect", "the key does not have what is expected")
	}
	if n == 1 {
		return err
	}
	return at(err, fmt.Sprintf("change %d of %d", i+1, n))
}

// at says which one of several was refused.
func at(err error, which string) error {
	var e *Error
	if errors.As(err, &e) {
		e.Reason = which + ": " + e.Reason
	}
	return err
}

// errUnmet is returned for a change that does not find what it expects.
var errUnmet = errors.New("kvstorage: not what is expected")

// apply makes a prepared change. With errUnmet the result has what is there.
func (s *Storage) apply(tx *kv.Tx, p prepared) (Result, error) {
	r, err := tx.Get(p.key)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return Result{}, err
	}
	if !p.Expect.met(r) {
		r.Value = bytes.Clone(r.Value) // the transaction's is gone with it
		return Result{Item: live(r, p.Key, tx)}, errUnmet
	}
	o := kv.PutOptions{TTL: p.ttl, Form: formJSON, KeepTTL: p.Op != OpPut}
	value := p.Value
	switch p.Op {
	case OpDelete:
		old, err := tx.Delete(p.key)
		if err != nil {
			return Result{Item: nothing(p.Key)}, unlessNotFound(err)
		}
		return Result{Item: Item{Found: true, Key: p.Key, Value: null, Revision: old.Revision}, Revision: tx.Revision()}, nil
	case OpTouch:
		if r.Kind != kv.Put {
			return Result{Item: nothing(p.Key)}, nil
		}
		touched, err := tx.Touch(p.key, p.ttl)
		return Result{Item: live(touched, p.Key, tx), Revision: touched.Revision}, err
	case OpIncrement:
		if value, err = increment(r, p.Delta); err != nil {
			return Result{}, err
		}
		o.Form = formCounter
	}
	r, err = tx.Put(p.key, value, o)
	return Result{Item: live(r, p.Key, tx), Swapped: p.Op == OpSwap, Revision: r.Revision}, err
}

func live(r kv.Record, key string, tx *kv.Tx) Item {
	if r.Kind != kv.Put {
		return nothing(key)
	}
	return item(key, r, tx.Now)
}

func unlessNotFound(err error) error {
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}
