package fuzz

import (
	"errors"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/stoadb/stoa/engine"
)

// What one input may ask for, so that none takes long.
const (
	maxSteps   = 100
	maxOpen    = 4 // snapshots, and iterators
	maxReopens = 2
)

// run carries out the operations of an input on one store and records what they
// answer.
type run struct {
	testing.TB
	*store
	in      cursor
	history []string

	snapshots []engine.Snapshot
	iterators []*engine.Iterator
	reopens   int
}

// play returns the history of an input on a store. The same input does the same
// on every store.
func play(t testing.TB, s *store, input []byte) []string {
	s.clear(t)
	r := &run{TB: t, store: s, in: input}
	reopenAtEnd := r.in.below(16) == 15
	for n := 0; n < maxSteps && !r.in.done(); n++ {
		r.step()
	}
	if reopenAtEnd {
		r.reopenStore()
	}
	for _, sp := range spaces {
		r.scan(r.db, sp.col, engine.Range{})
	}
	r.release()
	return r.history
}

func (r *run) step() {
	switch r.in.below(12) {
	case 0, 1, 2:
		r.log("apply", r.db.Apply(r.in.batch()))
	case 3:
		r.update()
	case 4:
		r.get()
	case 5:
		r.multiGet()
	case 6:
		col, rg := r.in.bounds()
		r.scan(r.source(), col, rg)
	case 7:
		r.snapshot()
	case 8:
		r.iterate()
	case 9:
		r.advance()
	case 10:
		r.page()
	case 11:
		if r.in.below(8) == 0 && r.reopens < maxReopens {
			r.reopenStore()
		}
	}
}

// log records an answer. Errors are recorded as what they are, not as what they
// say.
func (r *run) log(what string, err error) {
	var conflict *engine.Conflict
	switch {
	case err == nil:
	case errors.As(err, &conflict):
		what += fmt.Sprintf(": conflict %s %x %v", conflict.Column, conflict.Key, conflict.Absent)
	default:
		known := false
		for _, kind := range []error{engine.ErrNotFound, engine.ErrBatch, engine.ErrTooLarge, engine.ErrClosed} {
			if known = errors.Is(err, kind); known {
				what += ": " + kind.Error()
				break
			}
		}
		if !known {
			r.Fatalf("%s: %s: %v", r.name, what, err)
		}
	}
	r.history = append(r.history, what)
}

// show returns a value, or the length and the checksum of a long one.
func show(value []byte) string {
	if len(value) <= 64 {
		return fmt.Sprintf("%x", value)
	}
	return fmt.Sprintf("%d bytes, %08x", len(value), crc32.ChecksumIEEE(value))
}

// source returns the store, or a snapshot.
func (r *run) source() engine.Reader {
	if i := r.in.below(2 * maxOpen); i < len(r.snapshots) {
		return r.snapshots[i]
	}
	return r.db
}

func (r *run) get() {
	from := r.source()
	col, key := r.in.target()
	v, err := from.Get([]byte("="), col, key)
	r.log(fmt.Sprintf("get %s %x %s", col, key, show(v)), err)
}

func (r *run) multiGet() {
	from := r.source()
	lookups := make([]engine.Lookup, r.in.below(6))
	for i := range lookups {
		lookups[i].Column, lookups[i].Key = r.in.target()
	}
	_, err := from.MultiGet(nil, lookups)
	what := "multiget"
	for _, l := range lookups {
		what += fmt.Sprintf(" %s %x %v %s", l.Column, l.Key, l.Found, show(l.Value))
	}
	r.log(what, err)
}

// update reads two keys and makes changes in the same step, with an Update where
// there is one. One in four gives up.
func (r *run) update() {
	giveUp := errors.New("given up")
	var err error
	col, key := r.in.target()
	b, fails := r.in.batch(), r.in.below(4) == 3
	fn := func(g engine.Getter, into *engine.Batch) error {
		v, err := g.Get(nil, col, key)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
		r.history = append(r.history, fmt.Sprintf("update reads %s %v", show(v), err == nil))
		copyInto(into, b)
		if fails {
			return giveUp
		}
		return nil
	}
	if u, ok := r.db.(interface {
		Update(func(engine.Getter, *engine.Batch) error) error
	}); ok {
		err = u.Update(fn)
	} else {
		into := &engine.Batch{}
		if err = fn(r.db, into); err == nil {
			err = r.db.Apply(into)
		}
	}
	if errors.Is(err, giveUp) {
		r.log("update given up", nil)
		return
	}
	r.log("update", err)
}

func copyInto(into, b *engine.Batch) {
	into.Durability = b.Durability
	for op := range b.Ops {
		switch op.Kind {
		case engine.KindPut:
			into.Put(op.Column, op.Key, op.Value)
		case engine.KindDelete:
			into.Delete(op.Column, op.Key)
		case engine.KindDeleteRange:
			into.DeleteRange(op.Column, op.Key, op.Value)
		}
	}
	for e := range b.Expected {
		if e.Absent {
			into.ExpectAbsent(e.Column, e.Key)
		} else {
			into.Expect(e.Column, e.Key, e.Want)
		}
	}
}

// reopenStore closes what is open, and the store where the subject does.
func (r *run) reopenStore() {
	r.reopens++
	r.release()
	if r.reopen != nil {
		if err := r.db.Close(); err != nil {
			r.Fatalf("%s: close: %v", r.name, err)
		}
		r.db = r.reopen(r, r.dir())
	}
}
