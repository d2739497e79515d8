package seal

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Store is an engine that keeps the row stoa.seal, outside of all columns.
type Store interface {
	engine.Engine
	// SealRow returns the row; nil if there is none.
	SealRow() ([]byte, error)
	// SetSealRow replaces the row, and returns when it is on disk.
	SetSealRow(row []byte) error
}

// Engine is an engine whose secrets are sealed at rest. Any number of goroutines
// may use it at once.
type Engine struct {
	Store
	ring   atomic.Pointer[ring]
	random io.Reader
}

var _ engine.Engine = (*Engine)(nil)

// Options say how a store is sealed. The zero Options are the defaults.
type Options struct {
	// Rand is where keys and nonces come from; nil: crypto/rand.
	Rand io.Reader
}

// Open returns s with its secrets sealed with the keys that k opens. A store that
// seals nothing yet is sealed first, and what a kill has left half done is
// finished: both take as long as there are secrets. It returns ErrWrongKey, and
// has changed nothing then. Closing the engine closes s.
func Open(s Store, k Key, o Options) (*Engine, error) {
	e := &Engine{Store: s, random: o.Rand}
	if e.random == nil {
		e.random = rand.Reader
	}
	row, err := s.SealRow()
	if err != nil {
		return nil, err
	}
	var r *ring
	if row == nil {
		if r, err = newRing(k, e.random); err == nil {
			err = e.keep(r, k)
		}
	} else {
		r, err = unwrap(row, k)
	}
	if err != nil {
		return nil, err
	}
	e.ring.Store(r)
	if r.sealing || len(r.keys) > 1 {
		return e, e.finish(k)
	}
	return e, nil
}

// keep makes r the ring of the store.
func (e *Engine) keep(r *ring, k Key) error {
	row, err := r.wrap(k, e.random)
	if err != nil {
		return err
	}
	return e.SetSealRow(row)
}

// Get appends the value of a key to dst; see [engine.Getter].
func (e *Engine) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	return get(e.Store, e.ring.Load(), dst, col, key)
}

// MultiGet looks up keys in one state; see [engine.Reader].
func (e *Engine) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	return reader{e.Store, e.ring.Load()}.MultiGet(buf, lookups)
}

// Iterate returns an iterator over a range of a column; see [engine.Reader].
func (e *Engine) Iterate(col column.Column, rg engine.Range) (*engine.Iterator, error) {
	return reader{e.Store, e.ring.Load()}.Iterate(col, rg)
}

// Snapshot returns the store as it is now; see [engine.Engine].
func (e *Engine) Snapshot() (engine.Snapshot, error) {
	s, err := e.Store.Snapshot()
	if err != nil {
		return nil, err
	}
	return snapshot{reader{s, e.ring.Load()}, s}, nil
}

type snapshot struct {
	reader
	io.Closer
}

// Apply makes all changes of a batch, or none; see [engine.Writer].
func (e *Engine) Apply(b *engine.Batch) error {
	if err := b.Check(); err != nil {
		return err
	}
	if !touchesSecrets(b) {
		return e.Store.Apply(b)
	}
	if !expectsSecrets(b) {
		sealed := engine.Batch{Durability: b.Durability}
		if err := e.copy(&sealed, b); err != nil {
			return err
		}
		return e.Store.Apply(&sealed)
	}
	return e.Store.Update(func(g engine.Getter, out *engine.Batch) error {
		out.Durability = b.Durability
		return e.guarded(g, out, b)
	})
}

// Update lets fn read and write with no other write in between; see [engine.Engine].
func (e *Engine) Update(fn func(engine.Getter, *engine.Batch) error) error {
	return e.Store.Update(func(g engine.Getter, out *engine.Batch) error {
		var b engine.Batch
		if err := fn(reader{g.(engine.Reader), e.ring.Load()}, &b); err != nil {
			return err
		}
		if err := b.Check(); err != nil {
			return err
		}
		out.Durability = b.Durability
		return e.guarded(g, out, &b)
	})
}

// guarded copies b to out, sealed, where what it expects of secrets holds: their
// bytes say nothing about whether they are equal.
func (e *Engine) guarded(g engine.Getter, out, b *engine.Batch) error {
	for x, err := range b.Expected {
		if err != nil {
			return err
		}
		if x.Absent || !keys.Sealed(x.Column, x.Key) {
			continue
		}
		value, err := get(g, e.ring.Load(), nil, x.Column, x.Key)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
		if err != nil || !bytes.Equal(value, x.Want) {
			return &engine.Conflict{Column: x.Column, Key: bytes.Clone(x.Key)}
		}
	}
	return e.copy(out, b)
}

// copy appends the changes of b to out, their secrets sealed, and what it expects
// of other rows.
func (e *Engine) copy(out, b *engine.Batch) error {
	r := e.ring.Load()
	var box []byte
	for op, err := range b.Ops {
		if err != nil {
			return err
		}
		switch op.Kind {
		case engine.KindPut:
			value := op.Value
			if keys.Sealed(op.Column, op.Key) {
				if box, err = r.seal(box[:0], op.Column, op.Key, op.Value, e.random); err != nil {
					return err
				}
				value = box
			}
			out.Put(op.Column, op.Key, value)
		case engine.KindDelete:
			out.Delete(op.Column, op.Key)
		case engine.KindDeleteRange:
			out.DeleteRange(op.Column, op.Key, op.Value)
		default:
			return fmt.Errorf("%w: a change of an unknown kind", engine.ErrBatch)
		}
	}
	for x, err := range b.Expected {
		switch {
		case err != nil:
			return err
		case x.Absent:
			out.ExpectAbsent(x.Column, x.Key)
		case !keys.Sealed(x.Column, x.Key):
			out.Expect(x.Column, x.Key, x.Want)
		}
	}
	return nil
}

// touchesSecrets reports whether a batch writes secrets, or expects some.
func touchesSecrets(b *engine.Batch) bool {
	for op := range b.Ops {
		if op.Kind == engine.KindPut && keys.Sealed(op.Column, op.Key) {
			return true
		}
	}
	return expectsSecrets(b)
}

func expectsSecrets(b *engine.Batch) bool {
	for x := range b.Expected {
		if !x.Absent && keys.Sealed(x.Column, x.Key) {
			return true
		}
	}
	return false
}
