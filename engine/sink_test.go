package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDisk = errors.New("disk")

// write is one call of a sink.
type write struct {
	ops  []string
	sync bool
}

// sink is a Sink that remembers what it was asked, and fails when told to.
type sink struct {
	fail func(write) error // nil: never; may panic
	hold chan struct{}     // if set, a write waits until it is closed

	mu     sync.Mutex
	rows   map[string]string
	writes []write
}

func newSink() *sink { return &sink{rows: map[string]string{}} }

func at(col column.Column, key []byte) string { return col.String() + "/" + string(key) }

func (s *sink) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if string(key) == "unreadable" {
		return dst, errDisk
	}
	v, ok := s.rows[at(col, key)]
	if !ok {
		return dst, engine.ErrNotFound
	}
	return append(dst, v...), nil
}

func (s *sink) Write(ops []byte, sync bool) error {
	w := write{sync: sync}
	b, err := engine.ParseBatch(ops, nil, engine.Synced)
	if errors.Is(err, engine.ErrTooLarge) { // a group may be
		err = nil
	}
	if err != nil {
		return err
	}
	for op, err := range engine.Changes(ops) {
		if err != nil {
			return err
		}
		w.ops = append(w.ops, describe(op))
	}
	if b != nil && b.Len() != len(w.ops) {
		return fmt.Errorf("%d changes counted, %d found", b.Len(), len(w.ops))
	}
	if s.hold != nil {
		<-s.hold
	}
	s.mu.Lock()
	s.writes = append(s.writes, w)
	s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(w); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for op := range engine.Changes(ops) {
		change(s.rows, op)
	}
	return nil
}

func change(rows map[string]string, op engine.Op) {
	switch op.Kind {
	case engine.KindPut:
		rows[at(op.Column, op.Key)] = string(op.Value)
	case engine.KindDelete:
		delete(rows, at(op.Column, op.Key))
	case engine.KindDeleteRange:
		maps.DeleteFunc(rows, func(k, _ string) bool {
			return k >= at(op.Column, op.Key) && k < at(op.Column, op.Value)
		})
	}
}

// describe returns "+k", "-k" or "-k..l" for short keys, else its length.
func describe(op engine.Op) string {
	name := func(b []byte) string {
		if len(b) > 16 {
			return fmt.Sprintf("(%d)", len(b))
		}
		return string(b)
	}
	switch op.Kind {
	case engine.KindPut:
		return "+" + name(op.Key)
	case engine.KindDelete:
		return "-" + name(op.Key)
	}
	return "-" + name(op.Key) + ".." + name(op.Value)
}

// request is Apply or Update of a committer.
type request func(*engine.Committer) error

func apply(b *engine.Batch) request { return func(c *engine.Committer) error { return c.Apply(b) } }

func update(fn func(engine.Getter, *engine.Batch) error) request {
	return func(c *engine.Committer) error { return c.Update(fn) }
}

// answer is what a request returned, or the value that it panicked with.
type answer struct {
	err      error
	panicked any
	exited   bool // runtime.Goexit
}

// together lets the requests wait, in their order, until all do, so that they
// are committed as one group, and returns what each was answered.
func together(t require.TestingT, c *engine.Committer, requests ...request) []answer {
	answers := make([]answer, len(requests))
	var done sync.WaitGroup
	busy, free := make(chan struct{}), make(chan struct{})
	done.Go(func() {
		_ = c.Update(func(engine.Getter, *engine.Batch) error {
			close(busy)
			<-free
			return nil
		})
	})
	<-busy
	before := c.Waiting()
	for i, r := range requests {
		done.Go(func() { answers[i] = ask(c, r) })
		awaitWaiting(t, c, before+i+1)
	}
	close(free)
	done.Wait()
	return answers
}

func ask(c *engine.Committer, r request) (a answer) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.exited = true
		defer func() {
			if p := recover(); p != nil {
				a.panicked, a.exited = p, false
			}
		}()
		a.err = r(c)
		a.exited = false
	}()
	<-done
	return a
}

func awaitWaiting(t require.TestingT, c *engine.Committer, n int) {
	for deadline := time.Now().Add(time.Minute); c.Waiting() != n; runtime.Gosched() {
		require.True(t, time.Now().Before(deadline), "%d wait, want %d", c.Waiting(), n)
	}
}

func puts(d engine.Durability, keys ...string) *engine.Batch {
	b := &engine.Batch{Durability: d}
	for _, k := range keys {
		b.Put(column.State, []byte(k), []byte("v"+k))
	}
	return b
}

func filled(fill func(*engine.Batch)) *engine.Batch {
	b := new(engine.Batch)
	fill(b)
	return b
}

// read returns what g has under key, "none", or the error.
func read(g engine.Getter, col column.Column, key string) string {
	v, err := g.Get([]byte("dst:"), col, []byte(key))
	switch {
	case errors.Is(err, engine.ErrNotFound) && string(v) == "dst:":
		return "none"
	case err != nil:
		return err.Error()
	case !bytes.HasPrefix(v, []byte("dst:")):
		return "lost dst"
	}
	return string(v[4:])
}

func requireAllWell(t testing.TB, answers []answer) {
	t.Helper()
	require.Equal(t, make([]answer, len(answers)), answers)
}

func (s *sink) ops() (all []string) {
	for _, w := range s.writes {
		all = append(all, w.ops...)
	}
	return slices.Clip(all)
}
