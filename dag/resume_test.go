package dag_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
)

func TestWhatWaitsSurvivesARestart(t *testing.T) {
	a := node(t, 1)
	db := mem.New()
	defer db.Close()
	s, err := dag.Open(db, options(2))
	require.NoError(t, err)
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{}))
	d1, d2, d3 := commit(t, a, put("x", "1")), commit(t, a, put("x", "2")), commit(t, a, put("x", "3"))
	bad := *d1
	bad.ExpectedRoot = codec.Hash{1}
	for _, d := range []*dag.Delta{d3, d2, &bad} {
		add(t, s, d)
	}
	before := info(t, s)
	require.Equal(t, 2, before.Pending)
	require.Equal(t, 1, before.Refused)
	require.NoError(t, s.Close())
	s = open(t, db, options(2))
	require.Equal(t, before, info(t, s))
	require.Equal(t, dag.Refused, add(t, s, &bad).Kind)
	require.Equal(t, dag.Duplicate, add(t, s, d3).Kind)
	require.Equal(t, ids(d1, d2, d3), add(t, s, d1).Applied)
	equal(t, a, s)
}

func TestACascadeThatWasCutShortGoesOnByItself(t *testing.T) {
	a := node(t, 1)
	var chain []*dag.Delta
	for i := range 700 { // more than a batch takes
		chain = append(chain, commit(t, a, put(fmt.Sprint(i%9), fmt.Sprint(i))))
	}
	inner := mem.New()
	defer inner.Close()
	waiting := open(t, inner, options(2))
	require.NoError(t, waiting.CreateContext(ctx1, codec.ApplicationMeta{}))
	for i := len(chain) - 1; i > 0; i-- {
		add(t, waiting, chain[i])
	}
	require.NoError(t, waiting.Close())

	f := faulty.New(inner, faulty.Options{At: 3, Fault: faulty.CrashAfter}) // the clock, and two batches
	s, err := dag.Open(f, options(2))
	require.NoError(t, err)
	r, err := s.Add(bg, chain[0], dag.AddOptions{})
	require.NoError(t, err, "the delta itself was written")
	require.Less(t, len(r.Applied), 700)
	_ = s.Close()
	s = open(t, f.Restart(), options(2))
	require.Eventually(t, func() bool { return info(t, s).Applied == 700 }, time.Minute, time.Millisecond)
	require.Zero(t, info(t, s).Pending)
	equal(t, a, s)
}

func TestManyAreAnsweredAsEachWouldBe(t *testing.T) {
	a, b := node(t, 1), node(t, 2)
	one, many := node(t, 3), node(t, 4)
	require.NoError(t, a.CreateContext(ctx2, codec.ApplicationMeta{}))
	for _, s := range []*dag.Store{one, many} {
		require.NoError(t, s.CreateContext(ctx2, codec.ApplicationMeta{}))
	}
	elsewhere, err := a.Commit(bg, dag.Commit{Context: ctx2, Actions: []codec.Action{put("e", "e")}, ReadRoot: merkle.EmptyRoot()})
	require.NoError(t, err)
	other, err := dag.ParseDelta(elsewhere.Deltas[0])
	require.NoError(t, err)
	var deltas []*dag.Delta
	for i := range 40 {
		deltas = append(deltas, commit(t, a, put(fmt.Sprint(i%5), "a")), commit(t, b, put(fmt.Sprint(i%7), "b"), del(fmt.Sprint("d", i%3))))
	}
	bad := *deltas[5]
	bad.ExpectedRoot = codec.Hash{1}
	deltas = append(deltas, &bad, deltas[7], other)
	deltas[3], deltas[50] = deltas[50], deltas[3]

	var offers []dag.Offer
	var want []dag.Answer
	for _, d := range deltas {
		offers = append(offers, dag.Offer{Delta: d})
		want = append(want, add(t, one, d))
	}
	got, err := many.AddMany(bg, offers, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, want, got)
	equal(t, one, many)
	got, err = many.AddMany(bg, []dag.Offer{{Delta: deltas[0]}, {Delta: &dag.Delta{Context: codec.ContextID{9}, HLC: deltas[0].HLC}}, {Delta: deltas[1]}}, engine.WAL)
	require.ErrorIs(t, err, dag.ErrNoContext)
	require.Len(t, got, 1)
}

func TestWritersOfOneContextQueue(t *testing.T) {
	s := node(t, 1)
	const writers, each = 8, 20
	failed := make(chan error, writers)
	for w := range writers {
		go func() {
			for i := range each {
				for {
					_, root, err := s.Heads(ctx1)
					if err == nil {
						_, err = s.Commit(bg, dag.Commit{Context: ctx1, Actions: []codec.Action{put(fmt.Sprint(w, " ", i), "v")}, ReadRoot: root})
					}
					if err == nil {
						break
					}
					if !errors.Is(err, engine.ErrConflict) {
						failed <- err
						return
					}
				}
			}
			failed <- nil
		}()
	}
	for range writers {
		require.NoError(t, <-failed)
	}
	require.Equal(t, uint64(writers*each), info(t, s).Applied)
	require.Len(t, info(t, s).Heads, 1)
}

// gate is an engine that holds up the next write once it is shut.
type gate struct {
	engine.Engine
	shut            atomic.Bool
	entered, opened chan struct{}
}

func (g *gate) Apply(b *engine.Batch) error {
	if g.shut.CompareAndSwap(true, false) {
		close(g.entered)
		<-g.opened
	}
	return g.Engine.Apply(b)
}

func TestWhoWaitsInTheQueueCanGiveUp(t *testing.T) {
	db := mem.New()
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	g := &gate{Engine: db, entered: make(chan struct{}), opened: make(chan struct{})}
	s := open(t, g, options(1))
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{}))
	_, root, err := s.Heads(ctx1)
	require.NoError(t, err)
	commit := func(ctx context.Context, key string) error {
		_, err := s.Commit(ctx, dag.Commit{Context: ctx1, Actions: []codec.Action{put(key, "v")}, ReadRoot: root})
		return err
	}
	require.NoError(t, commit(bg, "zeroth"), "the clock has reserved its stamps")
	_, root, err = s.Heads(ctx1)
	require.NoError(t, err)
	g.shut.Store(true)
	leading := make(chan error)
	go func() { leading <- commit(bg, "first") }()
	<-g.entered

	ctx, cancel := context.WithTimeout(bg, 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, commit(ctx, "second"), context.DeadlineExceeded)
	close(g.opened)
	require.NoError(t, <-leading)
	require.Equal(t, uint64(2), info(t, s).Applied, "who gave up has done nothing")
	_, root, err = s.Heads(ctx1)
	require.NoError(t, err)
	require.NoError(t, commit(bg, "third"))
}
