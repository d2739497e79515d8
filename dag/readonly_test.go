package dag_test

import (
	"bytes"
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
	"github.com/stoadb/stoa/engine/mem"
)

// lists is what a store lists of ctx1.
type lists struct {
	walk, part, all, lacked, follow []codec.DeltaID
	heads, missing, pending         []codec.DeltaID
	refused                         []uint64
	cursors                         []string
}

// listed reads all lists in pages of a size; 0: whole. from and known are applied.
func listed(t *rapid.T, s *dag.Store, page int, from, known []codec.DeltaID) (l lists) {
	l.walk = walked(t, s, page, nil)
	l.part = walked(t, s, page, from)
	l.all = idsOf(all(t, s.Since(t.Context(), ctx1, nil, dag.SinceOptions{})))
	l.lacked = idsOf(all(t, s.Since(t.Context(), ctx1, known, dag.SinceOptions{})))
	l.follow = idsOf(all(t, s.Follow(t.Context(), ctx1, dag.FollowOptions{})))
	heads, _, err := s.Heads(ctx1)
	require.NoError(t, err)
	for _, h := range heads {
		l.heads = append(l.heads, h.ID)
	}
	l.missing = paged(t, page, func(last codec.DeltaID) ([]codec.DeltaID, error) { return s.Missing(ctx1, last, page) })
	for _, p := range paged(t, page, func(last dag.PendingDelta) ([]dag.PendingDelta, error) { return s.Pending(ctx1, last.Arrival, page) }) {
		l.pending = append(l.pending, p.ID)
	}
	for _, r := range paged(t, page, func(last dag.ListedRefusal) ([]dag.ListedRefusal, error) { return s.Refusals(ctx1, last.Seq, page) }) {
		l.refused = append(l.refused, r.Seq)
	}
	for _, c := range paged(t, page, func(last dag.Cursor) ([]dag.Cursor, error) { return s.Cursors(ctx1, last.Name, page) }) {
		l.cursors = append(l.cursors, c.Name)
	}
	return l
}

// walked returns a walk from deltas in pages, as a client asks for them.
func walked(t *rapid.T, s *dag.Store, page int, from []codec.DeltaID) (ids []codec.DeltaID) {
	for _, p := range paged(t, page, func(last dag.Position) (list []dag.Position, _ error) {
		for _, a := range all(t, s.Walk(t.Context(), ctx1, dag.WalkOptions{From: from, Before: last, Limit: page})) {
			list = append(list, a.Position)
		}
		return list, nil
	}) {
		ids = append(ids, p.Delta)
	}
	return ids
}

// paged asks for page after page, until one is not full.
func paged[T any](t *rapid.T, size int, next func(last T) ([]T, error)) (list []T) {
	for {
		var last T
		if len(list) > 0 {
			last = list[len(list)-1]
		}
		page, err := next(last)
		require.NoError(t, err)
		list = append(list, page...)
		if size == 0 || len(page) < size {
			return list
		}
	}
}

// isPart reports whether part is all of list, in its order, but for some.
func isPart[T comparable](part, list []T) bool {
	at := 0
	for _, v := range part {
		i := slices.Index(list[at:], v)
		if i < 0 {
			return false
		}
		at += i + 1
	}
	return true
}

// Behind damaged rows a view lists everything that is not in them, whatever the size
// of the pages, and tells of the rows.
func TestViewGoesOnBehindDamage(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		s, db, done := fresh(t, options(1))
		defer done()
		g := listedGrove(t, s)
		page := rapid.IntRange(0, 3).Draw(t, "page")
		from, known := someIDs(t, g, 1, 2, "from"), someIDs(t, g, 1, 2, "known")
		before := listed(t, s, 0, from, known)

		bad, hidden := damaged(t, db, before.all, from)
		told := map[string]bool{}
		view, err := dag.View(bad, dag.Options{Damaged: func(col column.Column, key []byte, err error) error {
			require.ErrorIs(t, err, engine.ErrCorrupt)
			told[col.String()+string(key)] = true
			return nil
		}})
		require.NoError(t, err)
		defer view.Close()
		after := listed(t, view, page, from, known)

		readable := func(ids []codec.DeltaID) (left []codec.DeltaID) {
			for _, id := range ids {
				if !hidden[id] {
					left = append(left, id)
				}
			}
			return left
		}
		left := readable(before.all)
		require.Equal(t, left, after.all)
		require.Equal(t, left, after.follow)
		slices.Reverse(left)
		require.Equal(t, left, after.walk)
		require.True(t, isPart(readable(before.lacked), after.lacked), "%v is not in %v", before.lacked, after.lacked)
		require.True(t, isPart(after.part, before.part))
		require.True(t, isPart(after.heads, before.heads))
		require.True(t, isPart(after.pending, before.pending))
		require.True(t, isPart(after.refused, before.refused))
		require.True(t, isPart(after.cursors, before.cursors))
		require.Equal(t, before.missing, after.missing)
		if len(told) == 0 {
			before.part, after.part = nil, nil // of some of the same
			require.Equal(t, before, after)
		}
	})
}

// listedGrove gives s deltas that are applied, and of each other kind some that are
// not, and cursors. It returns those that are applied.
func listedGrove(t *rapid.T, s *dag.Store) *grove {
	g := newGrove()
	g.draw(t, rapid.IntRange(2, 12).Draw(t, "deltas"))
	give(t, s, g.shuffled(t)...)
	for n := range 3 {
		ghost := &dag.Delta{Context: ctx1, Parents: []codec.DeltaID{{9, byte(n)}}, HLC: codec.HybridTimestamp{Time: uint64(hlc.ToNTP64(begin)), ID: codec.NodeID{Lo: 7}}}
		a, err := s.Add(t.Context(), ghost, dag.AddOptions{})
		require.NoError(t, err)
		require.Equal(t, dag.Pending, a.Kind)
		wrong := *g.all[0]
		wrong.ExpectedRoot[n]++
		a, err = s.Add(t.Context(), &wrong, dag.AddOptions{})
		require.NoError(t, err)
		require.Equal(t, dag.Refused, a.Kind)
		require.NoError(t, s.Ack(ctx1, string(rune('a'+n)), dag.Position{Seq: 1}, engine.WAL))
	}
	return g
}

// damaged returns a copy of db with a few damaged rows of what is listed, and the
// applied deltas whose own rows these are.
func damaged(t *rapid.T, db engine.Reader, applied, asked []codec.DeltaID) (engine.Engine, map[codec.DeltaID]bool) {
	type row struct {
		col column.Column
		key []byte
	}
	var rows []row
	copied := mem.New()
	var b engine.Batch
	for col := range column.All {
		it, err := db.Iterate(col, engine.Range{})
		require.NoError(t, err)
		for it.Next() {
			b.Put(col, it.Key(), it.Value())
			key := bytes.Clone(it.Key())
			if col == column.Delta || col == column.Generic && isListed(key, asked) {
				rows = append(rows, row{col, key})
			}
		}
		require.NoError(t, it.Err())
		require.NoError(t, it.Close())
	}
	hidden := map[codec.DeltaID]bool{}
	for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(rows)-1), 1, 3).Draw(t, "damaged") {
		at := rows[i]
		b.Put(at.col, at.key, []byte{7})
		switch {
		case at.col == column.Delta:
			hidden[codec.DeltaID(at.key[32:])] = true
		case bytes.HasPrefix(at.key, []byte("dag-order")):
			hidden[applied[at.key[len(at.key)-1]-1]] = true
		}
	}
	require.NoError(t, copied.Apply(&b))
	return copied, hidden
}

// isListed reports whether a row of Generic is one that lists are made of, and not the
// one by which a delta that is asked for is found.
func isListed(key []byte, asked []codec.DeltaID) bool {
	for _, scope := range []string{"dag-order", "dag-pending", "dag-refused", "dag-cursor"} {
		if bytes.HasPrefix(key, []byte(scope)) {
			return true
		}
	}
	return bytes.HasPrefix(key, []byte("dag-seq")) && !slices.Contains(asked, codec.DeltaID(key[len(key)-32:]))
}
