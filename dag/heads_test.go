package dag_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

const inMeta = 64 // how many heads Meta has

// requireHeads checks what is stored of heads, and what a store says of them.
func requireHeads(t require.TestingT, db engine.Reader, s *dag.Store, want []codec.DeltaID) {
	want = slices.SortedFunc(slices.Values(want), compareIDs)
	meta, err := engine.Get(db, keys.ContextMeta{Context: ctx1})
	require.NoError(t, err)
	if len(want) <= inMeta {
		require.Equal(t, want, meta.DagHeads)
	} else {
		require.Equal(t, append([]codec.DeltaID{{}}, want[:inMeta]...), meta.DagHeads)
	}
	require.Equal(t, max(0, len(want)-inMeta), rowsAt(t, db, column.Generic, scoped("dag-head")))
	for _, id := range want[min(inMeta, len(want)):] {
		row, err := db.Get(nil, column.Generic, scoped("dag-head", id[:]...))
		require.NoError(t, err)
		seq, err := db.Get(nil, column.Generic, scoped("dag-seq", id[:]...))
		require.NoError(t, err)
		require.Equal(t, seq, row)
	}
	heads, _, err := s.Heads(ctx1)
	require.NoError(t, err)
	ids := make([]codec.DeltaID, len(heads))
	for i, h := range heads {
		ids[i] = h.ID
	}
	require.Equal(t, want, ids)
	of, err := s.Context(ctx1)
	require.NoError(t, err)
	require.Equal(t, want, of.Heads)
	list, err := s.Contexts(codec.ContextID{}, 0)
	require.NoError(t, err)
	require.Equal(t, want, list[0].Heads)
}

// joined returns a delta of another node on some first deltas.
func joined(t *testing.T, by uint64, firsts []*dag.Delta) *dag.Delta {
	peer := node(t, by)
	for _, d := range firsts {
		require.Equal(t, dag.Applied, add(t, peer, d).Kind)
	}
	return commit(t, peer, put("joined", string(rune('a'+by))))
}

// Whatever heads come and go, the first 64 by id are in Meta and the others in rows of their own.
func TestHeadsBeyondThoseInMetaAreRows(t *testing.T) {
	var firsts []*dag.Delta
	for i := range 180 {
		firsts = append(firsts, firstDelta(t, i))
	}
	enginetest.Check(t, 20, func(rt *rapid.T) {
		db := mem.New()
		defer db.Close()
		s, err := dag.Open(db, options(1))
		require.NoError(rt, err)
		defer func() { _ = s.Close() }()
		require.NoError(rt, s.CreateContext(ctx1, codec.ApplicationMeta{Package: "p"}))
		left := rapid.Permutation(firsts).Draw(rt, "order")
		var unjoined []*dag.Delta // heads that are first deltas
		var others []codec.DeltaID
		for by := uint64(10); len(left) > 0; by++ {
			n := min(len(left), rapid.SampledFrom([]int{1, 2, 30, 63, 65, 120}).Draw(rt, "new"))
			var offers []dag.Offer
			for _, d := range left[:n] {
				offers = append(offers, dag.Offer{Delta: d})
			}
			unjoined, left = append(unjoined, left[:n]...), left[n:]
			_, err := s.AddMany(bg, offers, engine.WAL)
			require.NoError(rt, err)
			if n := len(unjoined) * rapid.SampledFrom([]int{0, 10, 50, 90, 100}).Draw(rt, "percent joined") / 100; n > 0 {
				unjoined = rapid.Permutation(unjoined).Draw(rt, "which")
				d := joined(t, by, unjoined[:n])
				require.Equal(rt, dag.Applied, add(t, s, d).Kind)
				unjoined, others = unjoined[n:], append(others, d.ID())
			}
			want := slices.Clone(others)
			for _, d := range unjoined {
				want = append(want, d.ID())
			}
			requireHeads(rt, db, s, want)
			if rapid.Bool().Draw(rt, "reopened") {
				require.NoError(rt, s.Close())
				s, err = dag.Open(db, options(1))
				require.NoError(rt, err)
			}
		}
		report, err := s.Verify(bg, ctx1, inMemory())
		require.NoError(rt, err)
		require.Empty(rt, report.Findings)
		_, root, err := s.Heads(ctx1)
		require.NoError(rt, err)
		done, err := s.Commit(bg, dag.Commit{Context: ctx1, Actions: []codec.Action{put("x", "1")}, ReadRoot: root})
		require.NoError(rt, err)
		requireHeads(rt, db, s, []codec.DeltaID{done.Delta})
	})
}

// manyHeads returns a store with a context of as many heads, its engine, and their ids.
func manyHeads(t *testing.T, n int) (*dag.Store, *mem.Engine, []codec.DeltaID) {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	s := open(t, db, options(1))
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{Package: "p"}))
	var ids []codec.DeltaID
	for i := range n {
		d := firstDelta(t, i)
		require.Equal(t, dag.Applied, add(t, s, d).Kind)
		ids = append(ids, d.ID())
	}
	requireHeads(t, db, s, ids)
	return s, db, ids
}

// A build without such rows has written all heads into Meta.
func TestHeadsThatAreAllInMetaBecomeRows(t *testing.T) {
	s, db, ids := manyHeads(t, 150)
	require.NoError(t, s.Close())
	var b engine.Batch
	deleteAll(t, db, &b, column.Generic, scoped("dag-head"))
	meta, err := engine.Get(db, keys.ContextMeta{Context: ctx1})
	require.NoError(t, err)
	meta.DagHeads = slices.Clone(ids)
	slices.SortFunc(meta.DagHeads, compareIDs)
	engine.Put(&b, keys.ContextMeta{Context: ctx1}, meta)
	require.NoError(t, db.Apply(&b))

	s = open(t, db, options(1))
	heads, _, err := s.Heads(ctx1)
	require.NoError(t, err)
	require.Len(t, heads, 150)
	report, err := s.Verify(bg, ctx1, inMemory())
	require.NoError(t, err)
	require.Empty(t, report.Findings, "it is as sound as before")
	d := joined(t, 10, []*dag.Delta{firstDelta(t, 3), firstDelta(t, 140)})
	require.Equal(t, dag.Applied, add(t, s, d).Kind)
	left := slices.DeleteFunc(ids, func(id codec.DeltaID) bool { return slices.Contains(d.Parents, id) })
	requireHeads(t, db, s, append(left, d.ID()))
}

func TestVerifyFindsHeadsThatAreNoneAndThoseThatAreMissing(t *testing.T) {
	s, db, ids := manyHeads(t, 70)
	slices.SortFunc(ids, compareIDs)
	for name, change := range map[string]func(b *engine.Batch){
		"missing": func(b *engine.Batch) { b.Delete(column.Generic, scoped("dag-head", ids[66][:]...)) },
		"in Meta": func(b *engine.Batch) {
			b.Put(column.Generic, scoped("dag-head", ids[3][:]...), []byte{4, 0, 0, 0, 0, 0, 0, 0})
		},
		"another place": func(b *engine.Batch) {
			b.Put(column.Generic, scoped("dag-head", ids[66][:]...), []byte{99, 0, 0, 0, 0, 0, 0, 0})
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := rowsOf(t, db, column.Generic, scoped("dag-head"))
			var b engine.Batch
			change(&b)
			require.NoError(t, db.Apply(&b))
			report, err := s.Verify(bg, ctx1, inMemory())
			require.NoError(t, err)
			require.NotEmpty(t, report.Findings)
			for _, f := range report.Findings {
				require.Equal(t, dag.FindingHeads, f.Code)
			}
			b.Reset()
			deleteAll(t, db, &b, column.Generic, scoped("dag-head"))
			for id, seq := range before {
				b.Put(column.Generic, scoped("dag-head", []byte(id)...), []byte(seq))
			}
			require.NoError(t, db.Apply(&b))
		})
	}
}

func TestADeletedContextLeavesNoHeads(t *testing.T) {
	s, db, _ := manyHeads(t, 100)
	require.NoError(t, s.DeleteContext(ctx1))
	require.Zero(t, rowsAt(t, db, column.Generic, scoped("dag-head")))
}

// deleteAll has a batch delete all rows of a column that begin with prefix.
func deleteAll(t *testing.T, db engine.Reader, b *engine.Batch, col column.Column, prefix []byte) {
	for key := range rowsOf(t, db, col, prefix) {
		b.Delete(col, append(slices.Clone(prefix), key...))
	}
}
