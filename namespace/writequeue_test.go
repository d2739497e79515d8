package namespace

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// guarded is an engine that asks before each write.
type guarded struct {
	engine.Engine
	before func(*engine.Batch) error
}

func (g *guarded) Apply(b *engine.Batch) error {
	if err := g.before(b); err != nil {
		return err
	}
	return g.Engine.Apply(b)
}

// puts returns a request that writes a row of its own and then calls more.
func puts(key string, more func() error) *request {
	return &request{Task: func(b *batch) error {
		b.rows.Put(column.PrivateState, append(b.c.id[:], key...), nil)
		return more()
	}}
}

// Of requests that share a batch only the guilty fail, and what is in memory is what is
// stored, whatever they did to it.
func TestWhatOneRequestFailsWithIsItsAlone(t *testing.T) {
	db := &guarded{Engine: mem.New()}
	t.Cleanup(func() { _ = db.Close() })
	var written []int
	disk := errors.New("disk")
	db.before = func(b *engine.Batch) error {
		n := 0
		for op := range b.Ops {
			if op.Column != column.PrivateState {
				continue
			}
			if n++; string(op.Key[32:]) == "unwritable" {
				return disk
			}
		}
		if n > 0 {
			written = append(written, n)
		}
		return nil
	}
	s := openStore(t, db, 1)
	ns, _ := created(t, s)
	well, failed := func() error { return nil }, errors.New("failed")
	for name, tt := range map[string]struct {
		bad  *request
		want string
	}{
		"an error that leaves nothing": {&request{Task: func(*batch) error { return failed }}, "failed"},
		"an error half way":            {puts("b", func() error { return failed }), "failed"},
		"a panic":                      {puts("b", func() error { panic("a defect") }), "namespace: " + ns.String() + ": panic: a defect\n"},
		"a write that fails":           {puts("unwritable", well), "disk"},
	} {
		t.Run(name, func(t *testing.T) {
			written = nil
			a, c := puts("a", well), puts("c", well)
			require.NoError(t, s.submit(ns, a, tt.bad, c))
			require.NoError(t, a.Err)
			require.NoError(t, c.Err)
			require.ErrorContains(t, tt.bad.Err, tt.want)
			if name == "an error that leaves nothing" {
				require.Equal(t, []int{2}, written)
			} else {
				require.Equal(t, []int{1, 1}, written)
			}
		})
	}
	for name, end := range map[string]func(){"a panic": func() { panic("a defect") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Heads(bg, ns)
			require.NoError(t, err)
			before := s.inUse(ns).current.Load()
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = s.submit(ns, &request{Task: func(*batch) error { end(); return nil }})
			}()
			<-done
			_, err = s.Heads(bg, ns)
			require.NoError(t, err)
			require.NotSame(t, before, s.inUse(ns).current.Load(), "the namespace is loaded again")
		})
	}
}

// A panic while a batch is written may come after the write, so that nothing of it is
// done again.
func TestAPanicWhileWritingIsAnErrorAndNotTriedAgain(t *testing.T) {
	writes := 0
	db := &guarded{Engine: mem.New(), before: func(*engine.Batch) error { return nil }}
	t.Cleanup(func() { _ = db.Close() })
	s := openStore(t, db, 1)
	ns, _ := created(t, s)
	db.before = func(*engine.Batch) error {
		writes++
		panic("a defect")
	}
	well := func() error { return nil }
	require.ErrorContains(t, s.submit(ns, puts("a", well), puts("b", well)), "panic: a defect\n")
	require.Equal(t, 1, writes)
	db.before = func(*engine.Batch) error { return nil }
	require.NoError(t, s.submit(ns, puts("a", well)))
}
