package dag_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
)

// crowded is a context with rows of every kind: a line of three deltas of which
// the third waits with its child for the second, which is missing, one that was
// refused, and a follower.
func crowded(t require.TestingT) (*dag.Store, engine.Engine, func()) {
	g := newGrove()
	a := g.grow(t, 1, nil, put("a", "1"), put("b", "1"))
	b := g.grow(t, 1, []*dag.Delta{a}, put("b", "2"))
	c := g.grow(t, 1, []*dag.Delta{b}, put("c", "3"))
	d := g.grow(t, 1, []*dag.Delta{c}, put("d", "4"))
	bad := *b
	bad.ExpectedRoot[0]++
	s, db, closed := fresh(t, aged(1))
	for _, d := range []*dag.Delta{a, c, d, &bad} {
		_, err := s.Add(context.Background(), d, dag.AddOptions{})
		require.NoError(t, err)
	}
	info, err := s.Context(ctx1)
	require.NoError(t, err)
	require.Equal(t, 2, info.Pending)
	require.Equal(t, 1, info.Refused)
	require.NoError(t, s.Ack(ctx1, "app", dag.Position{Seq: 1}, engine.WAL))
	return s, db, closed
}

func kindRows(scope string, kind byte) []byte {
	return append(append(scoped(scope)[:16:16], kind), ctx1[:]...)
}

func TestVerifyComparesTheRowsOfWhatWaits(t *testing.T) {
	for name, test := range map[string]struct {
		prefix []byte
		value  []byte // in place of the first row's; nil: the row goes
		want   dag.FindingCode
	}{
		"an arrival gone":        {kindRows("dag-pending", 'a'), nil, dag.FindingPending},
		"another arrival":        {kindRows("dag-pending", 'a'), make([]byte, 40), dag.FindingPending},
		"an index gone":          {kindRows("dag-pending", 'i'), nil, dag.FindingPending},
		"another index":          {kindRows("dag-pending", 'i'), make([]byte, 8), dag.FindingPending},
		"a missing one gone":     {kindRows("dag-pending", 'm'), nil, dag.FindingPending},
		"a waiter gone":          {kindRows("dag-pending", 'w'), nil, dag.FindingPending},
		"a refusal gone":         {kindRows("dag-refused", 's'), nil, dag.FindingRefusal},
		"a refusal's index gone": {kindRows("dag-refused", 'i'), nil, dag.FindingRefusal},
		"a refusal's index":      {kindRows("dag-refused", 'i'), make([]byte, 8), dag.FindingRefusal},
		"a follower ahead":       {scoped("dag-cursor"), []byte{2, 0, 0, 0, 0, 0, 0, 0}, dag.FindingCursor},
	} {
		t.Run(name, func(t *testing.T) {
			s, db, closed := crowded(t)
			defer closed()
			require.Empty(t, verify(t, s).Findings)
			it, err := db.Iterate(column.Generic, engine.Prefixed(test.prefix))
			require.NoError(t, err)
			require.True(t, it.Next())
			var b engine.Batch
			if test.value == nil {
				b.Delete(column.Generic, it.Key())
			} else {
				b.Put(column.Generic, it.Key(), test.value)
			}
			require.NoError(t, it.Close())
			require.NoError(t, db.Apply(&b))
			codes := map[dag.FindingCode]bool{}
			for _, f := range verify(t, s).Findings {
				codes[f.Code] = true
			}
			require.True(t, codes[test.want], codes)
		})
	}
}

// Whatever stands in the rows of a context, Verify comes to its end.
func TestVerifyOfAnyBytesEnds(t *testing.T) {
	enginetest.Check(t, 150, func(t *rapid.T) {
		_, db, closed := crowded(t)
		defer closed()
		var b engine.Batch
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			col := rapid.SampledFrom([]column.Column{column.Generic, column.Generic, column.Delta, column.State, column.Meta}).Draw(t, "column")
			rows := rowsOf(t, db, col, nil)
			at := rapid.SampledFrom(slices.Sorted(maps.Keys(rows))).Draw(t, "row")
			key, value := []byte(at), []byte(rows[at])
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				b.Delete(col, key)
			case 1:
				b.Put(col, key, rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "value"))
			case 2:
				if i := rapid.IntRange(0, max(len(value)-1, 0)).Draw(t, "byte"); i < len(value) {
					value[i] ^= rapid.ByteRange(1, 255).Draw(t, "flip")
				}
				b.Put(col, key, value)
			default:
				key[rapid.IntRange(len(key)/2, len(key)-1).Draw(t, "byte")] ^= rapid.ByteRange(1, 255).Draw(t, "flip")
				b.Put(col, key, value)
			}
		}
		require.NoError(t, db.Apply(&b))
		view, err := dag.View(db, dag.Options{})
		if err != nil {
			require.ErrorIs(t, err, engine.ErrCorrupt)
			return
		}
		defer view.Close()
		if _, err := view.Verify(context.Background(), ctx1, inMemory()); err != nil {
			require.ErrorIs(t, err, dag.ErrNoContext)
		}
	})
}

// What stamps are made with is not needed to read.
func TestAViewReadsContextsWithoutAClock(t *testing.T) {
	s, db, closed := crowded(t)
	defer closed()
	heads, root, err := s.Heads(ctx1)
	require.NoError(t, err)
	var b engine.Batch
	b.Put(column.Generic, hlc.RowKey(), []byte("short"))
	require.NoError(t, db.Apply(&b))
	snapshot, err := db.Snapshot()
	require.NoError(t, err)
	defer snapshot.Close()
	view, err := dag.View(snapshot, dag.Options{})
	require.NoError(t, err)
	defer view.Close()
	require.ErrorIs(t, view.ClockDamage(), engine.ErrCorrupt)
	got, gotRoot, err := view.Heads(ctx1)
	require.NoError(t, err)
	require.Equal(t, heads, got)
	require.Equal(t, root, gotRoot)
	report, err := view.Verify(context.Background(), ctx1, inMemory())
	require.NoError(t, err)
	require.Empty(t, report.Findings)
	require.NoError(t, s.ClockDamage())
}

func TestAViewReadsAsItsStoreAndWritesNothing(t *testing.T) {
	s, db, closed := crowded(t)
	defer closed()
	snapshot, err := db.Snapshot()
	require.NoError(t, err)
	defer snapshot.Close()
	view, err := dag.View(snapshot, dag.Options{})
	require.NoError(t, err)
	defer view.Close()
	read := func(s *dag.Store) (all []any) {
		add := func(v any, err error) {
			require.NoError(t, err)
			all = append(all, v)
		}
		heads, root, err := s.Heads(ctx1)
		add(heads, err)
		add(root, nil)
		add(s.Context(ctx1))
		add(s.Contexts(codec.ContextID{}, 0))
		add(s.Missing(ctx1, codec.DeltaID{}, 0))
		add(s.Pending(ctx1, 0, 0))
		add(s.Refusals(ctx1, 0, 0))
		add(s.Cursors(ctx1, "", 0))
		add(s.Prove(ctx1, []byte("a")))
		for a, err := range s.Walk(bg, ctx1, dag.WalkOptions{}) {
			add(a, err)
		}
		for a, err := range s.Since(bg, ctx1, nil, dag.SinceOptions{}) {
			add(a, err)
		}
		return all
	}
	require.Equal(t, read(s), read(view))
	require.Empty(t, verify(t, view).Findings)

	before := rowsOf(t, db, column.Generic, nil)
	info, err := view.Context(ctx1)
	require.NoError(t, err)
	_, err = view.Commit(bg, dag.Commit{Context: ctx1, ReadRoot: info.Root, Actions: []codec.Action{put("x", "y")}})
	require.ErrorIs(t, err, engine.ErrReadOnly)
	require.ErrorIs(t, view.CreateContext(codec.ContextID{9}, codec.ApplicationMeta{}), engine.ErrReadOnly)
	require.ErrorIs(t, view.Ack(ctx1, "app", dag.Position{Seq: 1}, engine.WAL), engine.ErrReadOnly)
	require.ErrorIs(t, view.DeleteContext(ctx1), engine.ErrReadOnly)
	require.Equal(t, before, rowsOf(t, db, column.Generic, nil))
}
