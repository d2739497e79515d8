package dag_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

func TestFollowerGetsEveryDeltaAtLeastOnce(t *testing.T) {
	db := mem.New()
	defer db.Close()
	s := open(t, db, options(1))
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{}))
	g := newGrove()
	a := g.grow(t, 1, nil, put("k", "1"))
	b := g.grow(t, 1, []*dag.Delta{a}, put("k", "2"))
	b2 := g.grow(t, 2, []*dag.Delta{a}, put("k", "3"))
	give(t, s, a, b, b2)

	list := all(t, s.Follow(bg, ctx1, dag.FollowOptions{Cursor: "app"}))
	require.Equal(t, []codec.DeltaID{a.ID(), b.ID(), b2.ID()}, idsOf(list))
	require.False(t, list[0].Base)
	require.NoError(t, s.Ack(ctx1, "app", list[1].Position, engine.Synced))
	require.NoError(t, s.Ack(ctx1, "app", list[0].Position, engine.Synced), "late")
	require.NoError(t, s.Ack(ctx1, "other", dag.Position{Seq: 1}, engine.WAL))
	require.ErrorIs(t, s.Ack(ctx1, "app", dag.Position{Seq: 4}, engine.Synced), dag.ErrPosition)
	require.ErrorIs(t, s.Ack(ctx1, "app", dag.Position{Seq: 3, Delta: a.ID()}, engine.Synced), dag.ErrPosition)
	require.ErrorIs(t, s.Ack(ctx1, "", dag.Position{Seq: 3}, engine.Synced), dag.ErrCursor)

	require.NoError(t, s.Close())
	s = open(t, db, options(1))
	require.Equal(t, []codec.DeltaID{b2.ID()}, idsOf(all(t, s.Follow(bg, ctx1, dag.FollowOptions{Cursor: "app"}))))
	cursors, err := s.Cursors(ctx1, "", 0)
	require.NoError(t, err)
	require.Equal(t, []dag.Cursor{{Name: "app", Seq: 2}, {Name: "other", Seq: 1}}, cursors)
	cursors, err = s.Cursors(ctx1, "app", 1)
	require.NoError(t, err)
	require.Equal(t, []dag.Cursor{{Name: "other", Seq: 1}}, cursors)
	for _, there := range []bool{true, false} {
		existed, err := s.DropCursor(ctx1, "app")
		require.NoError(t, err)
		require.Equal(t, there, existed)
	}
	require.Len(t, all(t, s.Follow(bg, ctx1, dag.FollowOptions{Cursor: "app"})), 3)
	require.Len(t, all(t, s.Follow(bg, ctx1, dag.FollowOptions{Cursor: "other", From: 2})), 1)
}

// followed is what a live follower gets.
type followed struct {
	got chan codec.DeltaID
	end chan error
}

func follow(ctx context.Context, s *dag.Store) followed {
	f := followed{make(chan codec.DeltaID), make(chan error, 1)}
	go func() {
		for a, err := range s.Follow(ctx, ctx1, dag.FollowOptions{Live: true}) {
			if err != nil {
				f.end <- err
				return
			}
			f.got <- a.Position.Delta
		}
	}()
	return f
}

// within is how long a test waits for what is to come at once.
const within = time.Minute

func (f followed) next(t *testing.T) codec.DeltaID {
	select {
	case id := <-f.got:
		return id
	case err := <-f.end:
		require.NoError(t, err)
	case <-time.After(within):
		require.Fail(t, "nothing comes")
	}
	return codec.DeltaID{}
}

func (f followed) ended(t *testing.T) error {
	select {
	case err := <-f.end:
		return err
	case <-time.After(within):
		require.Fail(t, "it does not end")
	}
	return nil
}

func TestLiveFollowerWaits(t *testing.T) {
	s := node(t, 1)
	g := newGrove()
	a := g.grow(t, 1, nil, put("k", "1"))
	give(t, s, a)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	f, closed, deleted := follow(ctx, s), follow(bg, s), follow(bg, s)
	for _, x := range []followed{f, closed, deleted} {
		require.Equal(t, a.ID(), x.next(t))
	}
	last := a
	for range 20 {
		last = g.grow(t, 1, []*dag.Delta{last}, put("k", "2"))
		give(t, s, last)
		require.Equal(t, last.ID(), f.next(t))
		require.Equal(t, last.ID(), closed.next(t))
		require.Equal(t, last.ID(), deleted.next(t))
	}
	cancel()
	require.ErrorIs(t, f.ended(t), context.Canceled)
	require.NoError(t, s.DeleteContext(ctx1))
	require.ErrorIs(t, deleted.ended(t), dag.ErrNoContext)
	require.ErrorIs(t, closed.ended(t), dag.ErrNoContext)
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{}))
	idle := follow(bg, s)
	require.NoError(t, s.Close())
	require.ErrorIs(t, idle.ended(t), dag.ErrClosed)
}

func TestFollowerHearsOfASeeding(t *testing.T) {
	g := newGrove()
	d := g.grow(t, 1, nil, put("k", "1"))
	other := g.grow(t, 2, nil, put("k", "2"))
	a, _, closed := fresh(t, aged(1))
	defer closed()
	give(t, a, d)
	c, _, closed := fresh(t, aged(2))
	defer closed()
	give(t, c, other)
	f := follow(bg, c)
	require.Equal(t, other.ID(), f.next(t))
	seed(t, c, a, dag.SeedOptions{Replace: true})
	require.ErrorIs(t, f.ended(t), dag.ErrPosition)
	f = follow(bg, c)
	require.Equal(t, d.ID(), f.next(t))
	require.NoError(t, c.Close())
	require.ErrorIs(t, f.ended(t), dag.ErrClosed)
}

// looked is an engine that does something once somebody has looked at a state of it.
type looked struct {
	engine.Engine
	armed atomic.Bool
	then  func()
}

func (e *looked) Snapshot() (engine.Snapshot, error) {
	s, err := e.Engine.Snapshot()
	return lookedAt{s, e}, err
}

type lookedAt struct {
	engine.Snapshot
	e *looked
}

func (l lookedAt) Close() error {
	err := l.Snapshot.Close()
	if l.e.armed.CompareAndSwap(true, false) {
		l.e.then()
	}
	return err
}

// A seeding after the follower has seen that there is no more, and before it waits, is heard of,
// also where it comes to as many deltas as there were.
func TestFollowerHearsOfASeedingJustBeforeItWaits(t *testing.T) {
	g := newGrove()
	from, _, closed := fresh(t, aged(1))
	defer closed()
	give(t, from, g.grow(t, 1, nil, put("k", "1")))
	db := &looked{Engine: mem.New()}
	defer db.Close()
	to := open(t, db, aged(2))
	require.NoError(t, to.CreateContext(ctx1, codec.ApplicationMeta{Package: "p"}))
	give(t, to, g.grow(t, 2, nil, put("k", "2")))
	db.then = func() { seed(t, to, from, dag.SeedOptions{Replace: true}) }
	ctx, cancel := context.WithTimeout(bg, within)
	defer cancel()
	n := 0
	for _, err := range to.Follow(ctx, ctx1, dag.FollowOptions{Live: true}) {
		if n++; n == 1 {
			require.NoError(t, err)
			db.armed.Store(true)
			continue
		}
		require.ErrorIs(t, err, dag.ErrPosition)
	}
	require.Equal(t, 2, n)
}
