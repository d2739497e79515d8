package dag_test

import (
	"encoding/binary"
	"hash/crc32"
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

// inMemory has contexts replayed in memory.
func inMemory() dag.VerifyOptions { return looking(func(engine.Engine) {}) }

// looking has contexts replayed in memory, and calls look with every engine that this
// was done in.
func looking(look func(engine.Engine)) dag.VerifyOptions {
	return dag.VerifyOptions{Scratch: func() (engine.Engine, func() error, error) {
		e := mem.New()
		return e, func() error {
			look(e)
			return e.Close()
		}, nil
	}}
}

// rowsAt counts those of a column that begin with prefix.
func rowsAt(t require.TestingT, r engine.Reader, col column.Column, prefix []byte) (n int) {
	it, err := r.Iterate(col, engine.Prefixed(prefix))
	require.NoError(t, err)
	defer it.Close()
	for it.Next() {
		n++
	}
	require.NoError(t, it.Err())
	return n
}

// What is right is replayed once, in an engine that gets none of the rows that most
// of the store is.
func TestVerifyWritesLittleOfWhatIsRight(t *testing.T) {
	enginetest.Check(t, 30, func(t *rapid.T) {
		g := newGrove()
		g.draw(t, rapid.IntRange(1, 12).Draw(t, "deltas"))
		s, _, closed := fresh(t, aged(1))
		defer closed()
		give(t, s, g.all...)
		replays, done := 0, uint64(0)
		o := looking(func(e engine.Engine) {
			replays++
			for _, col := range []column.Column{column.State, column.Delta} {
				require.Zero(t, rowsAt(t, e, col, nil))
			}
			require.Equal(t, len(g.all), rowsAt(t, e, column.Generic, scoped("dag-seq")))
		})
		o.Step = func(_ dag.Phase, n, all uint64) {
			require.GreaterOrEqual(t, n, done)
			require.EqualValues(t, len(g.all), all)
			done = n
		}
		r, err := s.Verify(bg, ctx1, o)
		require.NoError(t, err)
		require.Empty(t, r.Findings)
		require.Equal(t, 1, replays)
		require.EqualValues(t, len(g.all), done)
	})
}

// Any row of a context that is changed, added or gone is found, whatever the replay
// reads of the store itself.
func TestVerifyFindsEveryRowThatIsNotRight(t *testing.T) {
	enginetest.Check(t, 150, func(t *rapid.T) {
		g := newGrove()
		g.draw(t, rapid.IntRange(2, 10).Draw(t, "deltas"))
		s, db, closed := fresh(t, aged(1))
		defer closed()
		give(t, s, g.all...)
		s.EndTail(ctx1)
		at := rapid.SampledFrom([]struct {
			column column.Column
			prefix []byte
		}{
			{column.State, ctx1[:]}, {column.Delta, ctx1[:]}, {column.Generic, scoped("dag-gone")},
			{column.Generic, scoped("dag-order")}, {column.Generic, scoped("dag-seq")}, {column.Generic, scoped("dag-trie")},
		}).Draw(t, "rows")
		n := rowsAt(t, db, at.column, at.prefix)
		if n == 0 {
			t.Skip("no such row")
		}
		it, err := db.Iterate(at.column, engine.Prefixed(at.prefix))
		require.NoError(t, err)
		for range rapid.IntRange(1, n).Draw(t, "row") {
			require.True(t, it.Next())
		}
		key, value := append([]byte{}, it.Key()...), append([]byte{}, it.Value()...)
		require.NoError(t, it.Close())
		var b engine.Batch
		switch kind := rapid.IntRange(0, 2).Draw(t, "kind"); {
		case kind == 0:
			b.Delete(at.column, key)
		case kind == 1 && len(value) > 0:
			value[rapid.IntRange(0, len(value)-1).Draw(t, "byte")] ^= rapid.ByteRange(1, 255).Draw(t, "flip")
			b.Put(at.column, key, value)
		default:
			more := append(key, rapid.SliceOfN(rapid.Byte(), 1, 3).Draw(t, "more")...)
			if at.column != column.State {
				if more = more[:len(key)]; len(key) == len(at.prefix) {
					t.Skip("the key has no more bytes")
				}
				more[rapid.IntRange(len(at.prefix), len(key)-1).Draw(t, "byte")] ^= rapid.ByteRange(1, 255).Draw(t, "flip")
			}
			if rowsAt(t, db, at.column, more) > 0 {
				t.Skip("there is such a row")
			}
			b.Put(at.column, more, value)
		}
		require.NoError(t, db.Apply(&b))
		view, err := dag.View(db, dag.Options{}) // s has rows of the trie in memory
		require.NoError(t, err)
		defer view.Close()
		r, err := view.Verify(bg, ctx1, inMemory())
		require.NoError(t, err)
		require.NotEmpty(t, r.Findings)
	})
}

func verify(t require.TestingT, s *dag.Store) dag.Report {
	r, err := s.Verify(bg, ctx1, inMemory())
	require.NoError(t, err)
	return r
}

func TestVerifyFindsNothingWrongWithWhatIsRight(t *testing.T) {
	enginetest.Check(t, 40, func(t *rapid.T) {
		g := newGrove()
		g.draw(t, rapid.IntRange(0, 12).Draw(t, "deltas"))
		o := aged(1)
		s, _, closed := fresh(t, o)
		defer closed()
		give(t, s, g.all...)
		r := verify(t, s)
		require.Empty(t, r.Findings)
		require.EqualValues(t, len(g.all), r.Deltas)
		require.Equal(t, r.Root, r.Replayed)

		c, _, closed := fresh(t, o)
		defer closed()
		seed(t, c, s, dag.SeedOptions{})
		require.Empty(t, verify(t, c).Findings)
		var heads []*dag.Delta
		for _, id := range g.heads() {
			heads = append(heads, g.byID[id])
		}
		for range 3 {
			heads = []*dag.Delta{g.grow(t, 2, heads, put("a", "later"), codec.Delete([]byte("b")))}
			give(t, c, heads...)
		}
		require.Empty(t, verify(t, c).Findings)
	})
}

func scoped(name string, rest ...byte) []byte {
	s, err := keys.NewScope(name)
	if err != nil {
		panic(err)
	}
	return append(append(s[:], ctx1[:]...), rest...)
}

func TestVerifyReportsEveryDifference(t *testing.T) {
	// firstRow returns a row of those that begin with prefix.
	firstRow := func(t *testing.T, db engine.Engine, col column.Column, prefix []byte) (key, value []byte) {
		it, err := db.Iterate(col, engine.Prefixed(prefix))
		require.NoError(t, err)
		defer it.Close()
		require.True(t, it.Next())
		return append([]byte{}, it.Key()...), append([]byte{}, it.Value()...)
	}
	// change makes something else of the first row with a prefix.
	change := func(col column.Column, prefix []byte, at int) func(*testing.T, engine.Engine, *engine.Batch) {
		return func(t *testing.T, db engine.Engine, b *engine.Batch) {
			key, value := firstRow(t, db, col, prefix)
			value[at] ^= 0x01
			b.Put(col, key, value)
		}
	}
	remove := func(col column.Column, prefix []byte) func(*testing.T, engine.Engine, *engine.Batch) {
		return func(t *testing.T, db engine.Engine, b *engine.Batch) {
			key, _ := firstRow(t, db, col, prefix)
			b.Delete(col, key)
		}
	}
	meta := func(change func(*codec.ContextMetaValue)) func(*testing.T, engine.Engine, *engine.Batch) {
		return func(t *testing.T, db engine.Engine, b *engine.Batch) {
			v, err := engine.Get(db, keys.ContextMeta{Context: ctx1})
			require.NoError(t, err)
			change(&v)
			engine.Put(b, keys.ContextMeta{Context: ctx1}, v)
		}
	}
	type codes = []dag.FindingCode
	for name, test := range map[string]struct {
		damage func(*testing.T, engine.Engine, *engine.Batch)
		plain  codes // of a context from its first delta on
		seeded codes // of one that was seeded with the first delta
	}{
		"a value":    {change(column.State, ctx1[:], 0), codes{dag.FindingState}, codes{dag.FindingBase, dag.FindingUnproved}},
		"a row gone": {remove(column.State, ctx1[:]), codes{dag.FindingState}, codes{dag.FindingBase, dag.FindingUnproved}},
		"a version": {func(t *testing.T, db engine.Engine, b *engine.Batch) { // of which the row knows that it is as it was written
			key, row := firstRow(t, db, column.Generic, scoped("dag-trie"))
			row[1+64]++
			row = row[:len(row)-4]
			b.Put(column.Generic, key, binary.LittleEndian.AppendUint32(row, crc32.Checksum(row, crc32.MakeTable(crc32.Castagnoli))))
		}, codes{dag.FindingVersion}, codes{dag.FindingDamaged, dag.FindingUnproved}},
		"a version's checksum": {change(column.Generic, scoped("dag-trie"), 1+64), codes{dag.FindingTrie}, codes{dag.FindingTrie}},
		"a version gone":       {remove(column.Generic, scoped("dag-gone")), codes{dag.FindingVersion}, nil},
		"a number":             {change(column.Generic, scoped("dag-seq"), 0), codes{dag.FindingSeq}, codes{dag.FindingSeq}},
		"a number gone":        {remove(column.Generic, scoped("dag-seq")), codes{dag.FindingSeq, dag.FindingStray}, codes{dag.FindingSeq, dag.FindingStray}},
		"a place's stamp":      {change(column.Generic, scoped("dag-order", 0, 0, 0, 0, 0, 0, 0, 2), 32+3), codes{dag.FindingOrder}, codes{dag.FindingOrder}},
		"a place's parent":     {change(column.Generic, scoped("dag-order", 0, 0, 0, 0, 0, 0, 0, 3), 32+24+4), codes{dag.FindingDamaged, dag.FindingRoot}, codes{dag.FindingDamaged}},
		"a second place": {func(t *testing.T, db engine.Engine, b *engine.Batch) { // of the second delta, after the third
			_, value := firstRow(t, db, column.Generic, scoped("dag-order", 0, 0, 0, 0, 0, 0, 0, 2))
			b.Put(column.Generic, scoped("dag-order", 0, 0, 0, 0, 0, 0, 0, 4), value)
		}, codes{dag.FindingOrder}, codes{dag.FindingBase, dag.FindingUnproved}},
		"the trie":  {change(column.Generic, scoped("dag-trie"), 1), codes{dag.FindingTrie}, codes{dag.FindingTrie, dag.FindingUnproved}},
		"the root":  {meta(func(v *codec.ContextMetaValue) { v.RootHash[0]++ }), codes{dag.FindingRoot, dag.FindingTrie}, codes{dag.FindingTrie, dag.FindingUnproved}},
		"the heads": {meta(func(v *codec.ContextMetaValue) { v.DagHeads = nil }), codes{dag.FindingHeads}, codes{dag.FindingHeads}},
		"a stray delta": {func(_ *testing.T, _ engine.Engine, b *engine.Batch) {
			engine.Put(b, keys.ContextDagDelta{Context: ctx1, Delta: codec.DeltaID{1}}, codec.ContextDagDeltaValue{DeltaID: codec.DeltaID{1}, HLC: codec.HybridTimestamp{Time: 1, ID: codec.NodeID{Lo: 1}}})
		}, codes{dag.FindingStray}, codes{dag.FindingStray}},
	} {
		for _, seeded := range []bool{false, true} {
			want := test.plain
			if seeded {
				want = test.seeded
			}
			if want == nil {
				continue
			}
			t.Run(name, func(t *testing.T) {
				g := newGrove()
				d := g.grow(t, 1, nil, put("a", "1"), put("b", "1"), put("z", "1"))
				s, db, closed := fresh(t, aged(1))
				defer closed()
				give(t, s, d)
				if seeded {
					from := s
					s, db, closed = fresh(t, aged(2))
					defer closed()
					seed(t, s, from, dag.SeedOptions{})
				}
				e := g.grow(t, 1, []*dag.Delta{d}, put("b", "2"))
				f := g.grow(t, 1, []*dag.Delta{e}, put("c", "3"), del("z"))
				give(t, s, e, f)
				s.EndTail(ctx1)
				require.Empty(t, verify(t, s).Findings)
				var b engine.Batch
				test.damage(t, db, &b)
				require.NoError(t, db.Apply(&b))
				got := map[dag.FindingCode]bool{}
				for _, f := range verify(t, s).Findings {
					got[f.Code] = true
					require.NotEmpty(t, f.String())
				}
				for _, code := range want {
					require.True(t, got[code], "%s is not in %v", code, got)
				}
			})
		}
	}
}

func TestVerifyRefusesADeltaThatDoesNotHold(t *testing.T) {
	g := newGrove()
	d := g.grow(t, 1, nil, put("a", "1"))
	s, db, closed := fresh(t, aged(1))
	defer closed()
	give(t, s, d, g.grow(t, 1, []*dag.Delta{d}, put("a", "2")))
	key := keys.ContextDagDelta{Context: ctx1, Delta: d.ID()}
	v, err := engine.Get(db, key)
	require.NoError(t, err)
	v.Actions[0].Value = []byte("x")
	var b engine.Batch
	engine.Put(&b, key, v)
	require.NoError(t, db.Apply(&b))
	codes := map[dag.FindingCode]int{}
	for _, f := range verify(t, s).Findings {
		codes[f.Code]++
	}
	require.Positive(t, codes[dag.FindingDelta])
	require.Positive(t, codes[dag.FindingRefused])
	require.Positive(t, codes[dag.FindingUnproved])
	require.Positive(t, codes[dag.FindingRoot])
	_, err = s.Verify(bg, ctx2, inMemory())
	require.ErrorIs(t, err, dag.ErrNoContext)
}
