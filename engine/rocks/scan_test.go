//go:build cgo

package rocks

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/linxGnu/grocksdb"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// drawKey draws keys that crowd around the boundaries of prefixes.
func drawKey(t *rapid.T, col column.Column, label string) []byte {
	n := max(col.Spec().PrefixBytes, 4)
	length := rapid.SampledFrom([]int{0, 1, n - 1, n, n + 1, n + 2}).Draw(t, label+" length")
	key := make([]byte, length)
	for i := range key {
		key[i] = 0xFF
	}
	for i := max(0, min(n-2, length)); i < length; i++ {
		key[i] = rapid.SampledFrom([]byte{0, 1, 0xFE, 0xFF}).Draw(t, label)
	}
	if length > 0 {
		key[0] = rapid.SampledFrom([]byte{0, 0x20, 0xFF}).Draw(t, label+" first")
	}
	return key
}

func drawBatch(t *rapid.T, col column.Column) *engine.Batch {
	b := &engine.Batch{Durability: engine.WAL}
	for range rapid.IntRange(1, 20).Draw(t, "changes") {
		switch key := drawKey(t, col, "key"); rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			b.Delete(col, key)
		case 1:
			if end := drawKey(t, col, "end"); bytes.Compare(key, end) < 0 {
				b.DeleteRange(col, key, end)
			}
		default:
			b.Put(col, key, rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "value"))
		}
	}
	return b
}

func drawRange(t *rapid.T, col column.Column) engine.Range {
	r := engine.Range{Reverse: rapid.Bool().Draw(t, "reverse"), Limit: rapid.IntRange(0, 5).Draw(t, "limit")}
	switch rapid.IntRange(0, 3).Draw(t, "bounds") {
	case 0:
		p := drawKey(t, col, "prefix")
		r.Start, r.End = p, engine.Successor(p)
	case 1:
		r.Start = drawKey(t, col, "start")
	case 2:
		r.End = drawKey(t, col, "end")
	default:
		r.Start, r.End = drawKey(t, col, "start"), drawKey(t, col, "end")
	}
	return r
}

// A scan that asks the prefix filter where it must not loses keys in silence; so
// all kinds of bounds are compared with the engine in memory.
func TestScansAreThoseOfTheModel(t *testing.T) {
	e := open(t, t.TempDir(), Options{WatermarkEvery: 1 << 40})
	cols := []column.Column{column.State, column.Group, column.Generic, column.Alias}
	rapid.Check(t, func(t *rapid.T) {
		col := rapid.SampledFrom(cols).Draw(t, "column")
		model := mem.New()
		defer model.Close()
		var clean engine.Batch
		clean.DeleteRange(col, nil, bytes.Repeat([]byte{0xFF}, 100))
		clean.Durability = engine.WAL
		require.NoError(t, e.Apply(&clean))
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			b := drawBatch(t, col)
			require.NoError(t, e.Apply(b))
			require.NoError(t, model.Apply(b))
			if rapid.IntRange(0, 5).Draw(t, "flush") == 0 {
				require.NoError(t, e.st.flush(col))
			}
		}
		for range 10 {
			r := drawRange(t, col)
			require.Equal(t, entries(t, model, col, r), entries(t, e, col, r), "%+v", r)
			s, err := e.Snapshot()
			require.NoError(t, err)
			require.Equal(t, entries(t, model, col, r), entries(t, s, col, r), "%+v", r)
			require.NoError(t, s.Close())
		}
	})
}

type pair struct{ key, value string }

func entries(t require.TestingT, r engine.Reader, col column.Column, rg engine.Range) (all []pair) {
	it, err := r.Iterate(col, rg)
	require.NoError(t, err)
	defer it.Close()
	for it.Next() {
		all = append(all, pair{string(it.Key()), string(it.Value())})
	}
	require.NoError(t, it.Err())
	return all
}

func TestPrefixFilterIsAskedOnlyWithinOnePrefix(t *testing.T) {
	p := bytes.Repeat([]byte{7}, 32)
	after := engine.Successor(p)
	inside := append(bytes.Clone(p), 1)
	for _, c := range []struct {
		r    engine.Range
		want bool
	}{
		{engine.Range{Start: p, End: after}, true},
		{engine.Range{Start: inside, End: after}, true},
		{engine.Range{Start: p, End: inside}, true},
		{engine.Range{Start: p, End: inside, Reverse: true}, true},
		{engine.Range{Start: p, End: after, Reverse: true}, false},
		{engine.Range{Start: p}, false},
		{engine.Range{End: after}, false},
		{engine.Range{Start: p[:31], End: after}, false},
		{engine.Range{Start: p, End: append(bytes.Clone(after), 0)}, false},
	} {
		require.Equal(t, c.want, inOnePrefix(column.State, c.r), "%+v", c.r)
		require.False(t, inOnePrefix(column.Meta, c.r), "Meta has no prefix filter")
	}
}

func TestPagesKeepTheirLimits(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	var b engine.Batch
	for i := range 300 {
		b.Put(column.State, []byte(ctx(i)), make([]byte, 1000))
	}
	b.Put(column.State, []byte(ctx(300)), make([]byte, 5*mib))
	require.NoError(t, e.Apply(&b))
	it, err := e.Iterate(column.State, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	prefix := []byte("kept")
	count := func(page []byte) (n int) {
		require.Equal(t, "kept", string(page[:4]))
		for rest := page[4:]; len(rest) > 0; n++ {
			var ok bool
			_, _, rest, ok = engine.CutEntry(rest)
			require.True(t, ok)
		}
		return n
	}
	require.Equal(t, 7, count(it.Page(prefix, 7, mib)))
	require.Equal(t, 1, count(it.Page(prefix, 7, 0)), "at least one")
	require.Equal(t, 10, count(it.Page(prefix, 1000, 10_000)))
	require.Equal(t, 282, count(it.Page(prefix, 282, 100*mib)))
	large := it.Page(prefix, 10, 10)
	require.Equal(t, 1, count(large))
	require.Greater(t, len(large), 5*mib)
	require.Equal(t, prefix, it.Page(prefix, 10, mib))
	require.NoError(t, it.Err())
}

func TestFamiliesMadeInAnotherOrder(t *testing.T) {
	dir := t.TempDir()
	names := schemaFamilies()
	for i, j := 1, len(names)-1; i < j; i, j = i+1, j-1 {
		names[i], names[j] = names[j], names[i]
	}
	plain(t, dir, names, func(_ *grocksdb.DB, f map[string]*grocksdb.ColumnFamilyHandle) {
		require.EqualValues(t, 1, f["Group"].ID())
	})
	e := open(t, dir, Options{})
	require.True(t, e.st.ids.differ)
	var b engine.Batch
	long := bytes.Repeat([]byte("long"), 100)
	for c := range column.All {
		b.Put(c, []byte("gone"), []byte("x"))
		b.Put(c, []byte("range"), []byte("x"))
		b.Put(c, []byte(c.String()), long)
		b.Put(c, long, nil)
		b.Delete(c, []byte("gone"))
		b.DeleteRange(c, []byte("r"), []byte("s"))
	}
	require.NoError(t, e.Apply(&b))
	for c := range column.All {
		want := []pair{{c.String(), string(long)}, {string(long), ""}}
		require.ElementsMatch(t, want, entries(t, e, c, engine.Range{}), c)
	}
	require.NoError(t, e.Close())
	plain(t, dir, schemaFamilies(), func(db *grocksdb.DB, f map[string]*grocksdb.ColumnFamilyHandle) {
		ro := grocksdb.NewDefaultReadOptions()
		defer ro.Destroy()
		v, err := db.GetCF(ro, f["Delta"], []byte("Delta"))
		require.NoError(t, err)
		defer v.Free()
		require.Equal(t, long, v.Data())
	})
}

func TestPageTakesAnyLimits(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	put(t, e, engine.Synced, column.State, ctx(1), "v")
	put(t, e, engine.Synced, column.State, ctx(2), "v")
	for _, entries := range []int{math.MinInt, 0, 5, math.MaxInt} {
		for _, size := range []int{math.MinInt, 0, 500, math.MaxInt} {
			it, err := e.Iterate(column.State, engine.Range{})
			require.NoError(t, err)
			n := 0
			for len(it.Page(nil, entries, size)) > 0 {
				n += it.PageEntries()
			}
			require.NoError(t, errors.Join(it.Err(), it.Close()))
			require.Equal(t, 2, n, "%d entries, %d bytes", entries, size)
		}
	}
}

func TestTranslatesFamiliesOfAnyNumber(t *testing.T) {
	var ids familyIDs
	for c := range column.All {
		ids.set(c, uint32(c)+1000)
	}
	var b engine.Batch
	b.Put(column.Meta, []byte("k"), []byte("v"))
	b.Delete(column.Group, []byte("d"))
	require.Equal(t, "\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00"+"\x05\xE9\x07\x01k\x01v"+"\x04\xF3\x07\x01d", string(ids.translate(b.Bytes())))
}

func TestReadsAndWritesAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("SKIPPED: the race detector allocates")
	}
	e := open(t, t.TempDir(), Options{WatermarkEvery: 1 << 40})
	key := []byte(ctx(1))
	put(t, e, engine.Synced, column.State, ctx(1), "value")
	buf := make([]byte, 0, 64)
	require.Zero(t, testing.AllocsPerRun(100, func() { buf, _ = e.Get(buf[:0], column.State, key) }), "Get")
	require.Equal(t, "value", string(buf))
	s, err := e.Snapshot()
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(100, func() { buf, _ = s.Get(buf[:0], column.State, key) }), "Snapshot.Get")
	b := engine.Batch{Durability: engine.WAL}
	b.Put(column.State, key, key)
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Apply(&b) }), "Apply")
	lookups := []engine.Lookup{{Column: column.State, Key: key}, {Column: column.Meta, Key: key}}
	require.Zero(t, testing.AllocsPerRun(100, func() { buf, _ = e.MultiGet(buf[:0], lookups) }), "MultiGet")
}

func TestMultiGetGrowsItsBuffer(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	var b engine.Batch
	var lookups []engine.Lookup
	for i := range 50 {
		b.Put(column.State, []byte(ctx(i)), bytes.Repeat([]byte{byte(i)}, i*100))
		lookups = append(lookups, engine.Lookup{Column: column.State, Key: []byte(ctx(i))}, engine.Lookup{Column: column.Meta, Key: []byte(ctx(i))})
	}
	require.NoError(t, e.Apply(&b))
	buf, err := e.MultiGet([]byte("kept"), lookups)
	require.NoError(t, err)
	require.Equal(t, "kept", string(buf[:4]))
	for i, l := range lookups {
		require.Equal(t, i%2 == 0, l.Found)
		if l.Found {
			require.Equal(t, bytes.Repeat([]byte{byte(i / 2)}, i/2*100), l.Value)
		} else {
			require.Nil(t, l.Value)
		}
	}
	buf, err = e.MultiGet(nil, nil)
	require.NoError(t, err)
	require.Empty(t, buf)
	_, err = e.MultiGet(nil, []engine.Lookup{{Column: 99}})
	require.ErrorIs(t, err, engine.ErrBatch)
}
