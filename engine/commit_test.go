package engine_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

func TestWaitingWritersAreOneWriteWithOneSyncInTheirOrder(t *testing.T) {
	s := newSink()
	c := engine.NewCommitter(s)
	requireAllWell(t, together(t, c,
		apply(puts(engine.WAL, "a", "b")), apply(puts(engine.Synced, "c")), apply(puts(engine.WAL, "d")),
		update(func(_ engine.Getter, b *engine.Batch) error { b.Delete(column.State, []byte("a")); return nil }),
		apply(filled(func(b *engine.Batch) { b.DeleteRange(column.State, []byte("b"), []byte("c")) })),
	))
	require.Len(t, s.writes, 1)
	require.Equal(t, []string{"+a", "+b", "+c", "+d", "-a", "-b..c"}, s.writes[0].ops)
	require.True(t, s.writes[0].sync)
	require.Equal(t, map[string]string{"State/c": "vc", "State/d": "vd"}, s.rows)
}

func TestAWriterAloneWritesItsOwnBytes(t *testing.T) {
	s := newSink()
	c := engine.NewCommitter(s)
	require.NoError(t, c.Apply(puts(engine.Synced, "a")))
	require.NoError(t, c.Apply(puts(engine.WAL, "b")))
	require.NoError(t, c.Apply(new(engine.Batch)))
	require.NoError(t, c.Update(func(engine.Getter, *engine.Batch) error { return nil }))
	require.NoError(t, c.Apply(filled(func(b *engine.Batch) { b.ExpectAbsent(column.State, []byte("z")) })))
	require.Equal(t, []write{{[]string{"+a"}, true}, {[]string{"+b"}, false}}, s.writes, "what changes nothing is not written")
}

func TestDurability(t *testing.T) {
	in := func(col column.Column, d engine.Durability, fill func(*engine.Batch, column.Column)) request {
		b := &engine.Batch{Durability: d}
		fill(b, col)
		return apply(b)
	}
	put := func(b *engine.Batch, col column.Column) { b.Put(col, []byte("k"), nil) }
	del := func(b *engine.Batch, col column.Column) { b.Delete(col, []byte("k")) }
	rng := func(b *engine.Batch, col column.Column) { b.DeleteRange(col, nil, []byte("k")) }
	mixed := func(b *engine.Batch, col column.Column) { put(b, column.State); put(b, col); put(b, column.State) }
	expect := func(b *engine.Batch, col column.Column) { b.ExpectAbsent(col, []byte("none")); put(b, column.State) }
	changed := update(func(_ engine.Getter, b *engine.Batch) error { b.Put(column.State, nil, nil); return nil })
	relaxed := update(func(_ engine.Getter, b *engine.Batch) error {
		b.Durability = engine.WAL
		b.Put(column.State, nil, nil)
		return nil
	})
	tests := []struct {
		name     string
		requests []request
		synced   bool
	}{
		{"nothing said", []request{in(column.State, 0, put)}, true},
		{"WAL", []request{in(column.State, engine.WAL, put)}, false},
		{"WAL, a delete and a range", []request{in(column.Delta, engine.WAL, del), in(column.Delta, engine.WAL, rng)}, false},
		{"WAL, a put in Group", []request{in(column.Group, engine.WAL, put)}, true},
		{"WAL, a delete in Group", []request{in(column.Group, engine.WAL, del)}, true},
		{"WAL, a range of Group", []request{in(column.Group, engine.WAL, rng)}, true},
		{"WAL, a put in Identity", []request{in(column.Identity, engine.WAL, put)}, true},
		{"WAL, a delete in Identity", []request{in(column.Identity, engine.WAL, del)}, true},
		{"WAL, a range of Identity", []request{in(column.Identity, engine.WAL, rng)}, true},
		{"WAL, Group in the midst", []request{in(column.Group, engine.WAL, mixed)}, true},
		{"WAL, Group only read", []request{in(column.Group, engine.WAL, expect)}, false},
		{"several WAL", []request{in(column.State, engine.WAL, put), in(column.Meta, engine.WAL, put)}, false},
		{"one of several synced, first", []request{in(column.State, engine.Synced, put), in(column.Meta, engine.WAL, put)}, true},
		{"one of several synced, last", []request{in(column.State, engine.WAL, put), in(column.Meta, engine.Synced, put)}, true},
		{"one of several in Group", []request{in(column.State, engine.WAL, put), in(column.Group, engine.WAL, put), in(column.Meta, engine.WAL, put)}, true},
		{"an update", []request{changed}, true},
		{"an update with WAL", []request{relaxed}, false},
		{"an update with WAL and one without", []request{relaxed, changed}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSink()
			requireAllWell(t, together(t, engine.NewCommitter(s), tt.requests...))
			require.Len(t, s.writes, 1)
			require.Equal(t, tt.synced, s.writes[0].sync)
		})
	}
}

func TestOnlyTheGuiltyOfAGroupFail(t *testing.T) {
	s := newSink()
	s.fail = func(w write) error {
		if slices.Contains(w.ops, "+bad") {
			return errDisk
		}
		return nil
	}
	c := engine.NewCommitter(s)
	calls, seen := 0, ""
	answers := together(t, c,
		apply(puts(engine.WAL, "a")),
		apply(puts(engine.WAL, "bad")),
		update(func(g engine.Getter, b *engine.Batch) error {
			calls++
			seen = read(g, column.State, "a") + " " + read(g, column.State, "bad")
			b.Put(column.State, []byte("b"), nil)
			return nil
		}),
		apply(filled(func(b *engine.Batch) {
			b.Expect(column.State, []byte("bad"), []byte("vbad"))
			b.Put(column.State, []byte("c"), nil)
		})),
		apply(puts(engine.Synced, "d")),
	)
	require.NoError(t, answers[0].err)
	require.ErrorIs(t, answers[1].err, errDisk)
	require.NoError(t, answers[2].err)
	require.ErrorIs(t, answers[3].err, engine.ErrConflict, "what it expected was not written")
	require.NoError(t, answers[4].err)
	require.Equal(t, 2, calls)
	require.Equal(t, "va none", seen, "its last call counts")
	require.Equal(t, map[string]string{"State/a": "va", "State/b": "", "State/d": "vd"}, s.rows)
	require.Equal(t, []string{"+a", "+bad", "+b", "+c", "+d", "+a", "+bad", "+b", "+d"}, s.ops())
	require.Equal(t, []bool{true, false, false, true, true}, syncs(s), "each with its own durability")
}

func syncs(s *sink) (all []bool) {
	for _, w := range s.writes {
		all = append(all, w.sync)
	}
	return all
}

func TestAFailedWriterAloneIsNotRetried(t *testing.T) {
	s := newSink()
	s.fail = func(write) error { return errDisk }
	c := engine.NewCommitter(s)
	require.ErrorIs(t, c.Apply(puts(engine.Synced, "a")), errDisk)
	require.ErrorIs(t, c.Update(func(_ engine.Getter, b *engine.Batch) error {
		b.Put(column.State, nil, nil)
		return nil
	}), errDisk)
	require.Len(t, s.writes, 2)
	require.NoError(t, c.Update(func(engine.Getter, *engine.Batch) error { return nil }), "nothing to write")
}

func TestRefusalsOfOneLeaveTheOthersOfItsGroupAlone(t *testing.T) {
	s := newSink()
	c := engine.NewCommitter(s)
	refused := fmt.Errorf("refused")
	answers := together(t, c,
		apply(puts(engine.Synced, "a")),
		update(func(_ engine.Getter, b *engine.Batch) error { b.Put(column.State, []byte("x"), nil); return refused }),
		update(func(_ engine.Getter, b *engine.Batch) error { b.Put(99, []byte("x"), nil); return nil }),
		update(func(_ engine.Getter, b *engine.Batch) error {
			b.Put(column.State, make([]byte, engine.MaxKey+1), nil)
			return nil
		}),
		update(func(_ engine.Getter, b *engine.Batch) error { b.Fail(refused); return nil }),
		update(func(_ engine.Getter, b *engine.Batch) error {
			b.ExpectAbsent(column.State, []byte("a"))
			b.Put(column.State, []byte("x"), nil)
			return nil
		}),
		apply(filled(func(b *engine.Batch) {
			b.ExpectAbsent(column.State, []byte("unreadable"))
			b.Put(column.State, []byte("x"), nil)
		})),
		update(func(g engine.Getter, b *engine.Batch) error {
			_, err := g.Get(nil, column.State, []byte("x"))
			b.Put(column.State, []byte("b"), nil)
			require.ErrorIs(t, err, engine.ErrNotFound, "the refused are not seen")
			return nil
		}),
	)
	for i, want := range []error{nil, refused, engine.ErrBatch, engine.ErrTooLarge, refused, engine.ErrConflict, errDisk, nil} {
		require.ErrorIs(t, answers[i].err, want, i)
	}
	require.Equal(t, []string{"+a", "+b"}, s.ops())
	var conflict *engine.Conflict
	require.ErrorAs(t, answers[5].err, &conflict)
	require.Equal(t, engine.Conflict{Column: column.State, Key: []byte("a"), Absent: true}, *conflict)
}

func TestBatchesThatAreNotWellFormedAreNotQueued(t *testing.T) {
	c := engine.NewCommitter(newSink())
	require.ErrorIs(t, c.Apply(filled(func(b *engine.Batch) { b.Put(0, nil, nil) })), engine.ErrBatch)
	require.ErrorIs(t, c.Apply(filled(func(b *engine.Batch) { b.Fail(errDisk) })), errDisk)
}

func TestGroupsAreBounded(t *testing.T) {
	t.Run("in requests", func(t *testing.T) {
		s := newSink()
		requests := make([]request, engine.MaxGroupSize+1)
		for i := range requests {
			requests[i] = apply(puts(engine.Synced, fmt.Sprint(i)))
		}
		requireAllWell(t, together(t, engine.NewCommitter(s), requests...))
		require.Len(t, s.writes, 2)
		require.Len(t, s.writes[0].ops, engine.MaxGroupSize)
	})
	t.Run("in bytes, of batches", func(t *testing.T) {
		s := newSink()
		large := filled(func(b *engine.Batch) { b.Put(column.State, []byte("k"), make([]byte, engine.MaxGroupBytes/2)) })
		requireAllWell(t, together(t, engine.NewCommitter(s), apply(large), apply(large), apply(large), apply(large)))
		require.Len(t, s.writes, 2)
	})
	t.Run("in bytes, of updates", func(t *testing.T) {
		s := newSink()
		large := update(func(_ engine.Getter, b *engine.Batch) error {
			b.Put(column.State, []byte("k"), make([]byte, engine.MaxGroupBytes/2))
			return nil
		})
		requireAllWell(t, together(t, engine.NewCommitter(s), large, large, large, large))
		require.Len(t, s.writes, 2)
	})
	t.Run("failing in the second write of a group", func(t *testing.T) {
		s := newSink()
		s.fail = func(w write) error {
			if slices.Contains(w.ops, "+bad") {
				return errDisk
			}
			return nil
		}
		large := func(key string) request {
			return update(func(_ engine.Getter, b *engine.Batch) error {
				b.Put(column.State, []byte(key), make([]byte, engine.MaxGroupBytes/2))
				return nil
			})
		}
		answers := together(t, engine.NewCommitter(s), large("a"), large("b"), large("c"), large("bad"), large("d"), large("e"))
		require.ErrorIs(t, answers[3].err, errDisk)
		answers[3].err = nil
		requireAllWell(t, answers)
		require.Equal(t, []string{"+a", "+b", "+c", "+bad", "+c", "+bad", "+d", "+e"}, s.ops())
	})
}

func TestStopAnswersWhoWaitsAndRefusesWhoComes(t *testing.T) {
	s := newSink()
	s.hold = make(chan struct{})
	c := engine.NewCommitter(s)
	var done sync.WaitGroup
	var written atomic.Int32
	for i := range 5 {
		done.Go(func() {
			if c.Apply(puts(engine.Synced, fmt.Sprint(i))) == nil {
				written.Add(1)
			}
		})
	}
	awaitWaiting(t, c, 4)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		c.Stop(engine.ErrClosed)
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.rows) != 5 {
			t.Errorf("%d rows when stopped", len(s.rows))
		}
	}()
	for c.Apply(new(engine.Batch)) == nil { // until the Stop is under way
	}
	require.ErrorIs(t, c.Apply(puts(engine.Synced, "late")), engine.ErrClosed)
	require.ErrorIs(t, c.Apply(new(engine.Batch)), engine.ErrClosed)
	require.ErrorIs(t, c.Update(func(engine.Getter, *engine.Batch) error { t.Error("called"); return nil }), engine.ErrClosed)
	select {
	case <-stopped:
		t.Fatal("stopped while writes are under way")
	default:
	}
	close(s.hold)
	<-stopped
	done.Wait()
	require.EqualValues(t, 5, written.Load())

	c.Stop(errDisk)
	require.ErrorIs(t, c.Apply(puts(engine.Synced, "late")), errDisk)
	c.Resume()
	require.NoError(t, c.Apply(puts(engine.Synced, "again")))
	require.NotContains(t, s.rows, "State/late")
}
