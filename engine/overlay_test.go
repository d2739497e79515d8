package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
)

// overlaid is an overlay of a batch on an engine in memory, and what it is to show.
type overlaid struct {
	db    engine.Engine
	batch engine.Batch
	view  engine.Overlay
	model map[string]string // as at says
}

func drawOverlayKey(t *rapid.T) []byte {
	return []byte(rapid.StringOfN(rapid.RuneFrom([]rune("\x00ab\x7f")), 0, 3, -1).Draw(t, "key"))
}

func drawOverlayColumn(t *rapid.T) column.Column {
	return rapid.SampledFrom([]column.Column{column.State, column.Generic}).Draw(t, "column")
}

// drawChange puts a change into b.
func drawChange(t *rapid.T, b *engine.Batch) {
	col, key := drawOverlayColumn(t), drawOverlayKey(t)
	switch rapid.IntRange(0, 9).Draw(t, "change") {
	case 0:
		if end := drawOverlayKey(t); string(end) > string(key) {
			b.DeleteRange(col, key, end)
		}
	case 1, 2, 3:
		b.Delete(col, key)
	default:
		b.Put(col, key, []byte(rapid.StringOfN(rapid.RuneFrom([]rune("xyz")), 0, 3, -1).Draw(t, "value")))
	}
}

func (o *overlaid) get(t *rapid.T) {
	col, key := drawOverlayColumn(t), drawOverlayKey(t)
	want, ok := o.model[at(col, key)]
	if !ok {
		want = "none"
	}
	require.Equal(t, want, read(&o.view, col, string(key)))
}

func (o *overlaid) multiGet(t *rapid.T) {
	lookups := make([]engine.Lookup, rapid.IntRange(0, 5).Draw(t, "lookups"))
	for i := range lookups {
		lookups[i] = engine.Lookup{Column: drawOverlayColumn(t), Key: drawOverlayKey(t), Value: []byte("old"), Found: i%2 == 0}
	}
	room := rapid.IntRange(0, 8).Draw(t, "room")
	buf, err := o.view.MultiGet(append(make([]byte, 0, 3+room), "buf"...), lookups)
	require.NoError(t, err)
	require.Equal(t, "buf", string(buf[:3]))
	total := 3
	for _, l := range lookups {
		want, ok := o.model[at(l.Column, l.Key)]
		require.Equal(t, ok, l.Found)
		require.Equal(t, want, string(l.Value))
		total += len(l.Value)
	}
	require.Len(t, buf, total)
	for i := range buf {
		buf[i] = '#'
	}
	for _, l := range lookups {
		require.Equal(t, strings.Repeat("#", len(l.Value)), string(l.Value), "every value is a part of the buffer")
	}
}

func (o *overlaid) scan(t *rapid.T) {
	col := drawOverlayColumn(t)
	r := engine.Range{Reverse: rapid.Bool().Draw(t, "reverse"), Limit: rapid.IntRange(0, 4).Draw(t, "limit")}
	if rapid.Bool().Draw(t, "from") {
		r.Start = drawOverlayKey(t)
	}
	if rapid.Bool().Draw(t, "to") {
		r.End = drawOverlayKey(t)
	}
	var want []string
	for _, k := range slices.Sorted(maps.Keys(o.model)) {
		key, ok := strings.CutPrefix(k, at(col, nil))
		if ok && key >= string(r.Start) && (r.End == nil || key < string(r.End)) {
			want = append(want, fmt.Sprintf("%q=%q", key, o.model[k]))
		}
	}
	if r.Reverse {
		slices.Reverse(want)
	}
	if r.Limit > 0 {
		want = want[:min(len(want), r.Limit)]
	}
	it, err := o.view.Iterate(col, r)
	require.NoError(t, err)
	var got []string
	if rapid.Bool().Draw(t, "pages") {
		for entries := rapid.IntRange(1, 9).Draw(t, "entries"); ; {
			page := it.Page(nil, entries, 10)
			if len(page) == 0 {
				break
			}
			for len(page) > 0 {
				key, value, rest, ok := engine.CutEntry(page)
				require.True(t, ok)
				got, page = append(got, fmt.Sprintf("%q=%q", key, value)), rest
			}
		}
	} else {
		for it.Next() {
			got = append(got, fmt.Sprintf("%q=%q", it.Key(), it.Value()))
		}
	}
	require.NoError(t, it.Err())
	require.NoError(t, it.Close())
	require.Equal(t, want, got, "%+v", r)
}

// TestAnOverlayReadsAsIfTheBatchWereApplied compares an overlay with a map, on batches
// that grow between the reads.
func TestAnOverlayReadsAsIfTheBatchWereApplied(t *testing.T) {
	enginetest.Check(t, 400, func(t *rapid.T) {
		o := &overlaid{db: mem.New()}
		defer o.db.Close()
		stored := map[string]string{}
		for range rapid.IntRange(1, 3).Draw(t, "batches") {
			o.batch.Reset()
			for range rapid.IntRange(0, 30).Draw(t, "stored") {
				drawChange(t, &o.batch)
			}
			require.NoError(t, o.db.Apply(&o.batch))
			for op := range o.batch.Ops {
				change(stored, op)
			}
			o.batch.Reset()
			o.view.Reset(o.db, &o.batch)
			o.model = maps.Clone(stored)
			for range rapid.IntRange(1, 8).Draw(t, "reads") {
				before := o.batch.Len()
				for range rapid.IntRange(0, 12).Draw(t, "changes") {
					drawChange(t, &o.batch)
				}
				n := 0
				for op := range o.batch.Ops {
					if n++; n > before {
						change(o.model, op)
					}
				}
				rapid.SampledFrom([]func(*rapid.T){o.get, o.multiGet, o.scan, o.scan}).Draw(t, "read")(t)
			}
		}
	})
}

// A scan goes on over more changed rows than it has room for, in both directions.
func TestAScanOfAnOverlayOverManyRows(t *testing.T) {
	db := mem.New()
	defer db.Close()
	var stored, b engine.Batch
	var want []string
	for i := range 1000 {
		key := fmt.Appendf(nil, "%04d", i)
		if i%3 != 0 {
			stored.Put(column.State, key, []byte("stored"))
		}
		switch {
		case i%3 == 0, i%7 == 0:
			b.Put(column.State, key, []byte("changed"))
			want = append(want, string(key)+" changed")
		case i%5 == 0:
			b.Delete(column.State, key)
		default:
			want = append(want, string(key)+" stored")
		}
	}
	require.NoError(t, db.Apply(&stored))
	var o engine.Overlay
	o.Reset(db, &b)
	for range 2 {
		var got []string
		it, err := o.Iterate(column.State, engine.Range{Reverse: want[0] > want[1]})
		require.NoError(t, err)
		for it.Next() {
			got = append(got, string(it.Key())+" "+string(it.Value()))
		}
		require.NoError(t, it.Err())
		require.NoError(t, it.Close())
		require.Equal(t, want, got)
		slices.Reverse(want)
	}
}

// closing is a store that counts the iterators that are closed.
type closing struct {
	engine.Reader
	closed *int
}

func (c closing) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	it, err := c.Reader.Iterate(col, r)
	return engine.NewIterator(closingPager{it, c.closed}, 0), err
}

type closingPager struct {
	it     *engine.Iterator
	closed *int
}

func (p closingPager) Page(dst []byte, entries, bytes int) ([]byte, int, error) {
	dst = p.it.Page(dst, entries, bytes)
	return dst, p.it.PageEntries(), p.it.Err()
}

func (p closingPager) Close() error {
	*p.closed++
	return p.it.Close()
}

func TestAScanOfAnOverlayClosesThatOfTheStore(t *testing.T) {
	db := mem.New()
	defer db.Close()
	var o engine.Overlay
	closed := 0
	o.Reset(closing{db, &closed}, puts(engine.WAL, "a"))
	it, err := o.Iterate(column.State, engine.Range{})
	require.NoError(t, err)
	require.NoError(t, it.Close())
	require.Equal(t, 1, closed)
}

// What was looked through once is not looked through again.
func TestAnOverlayTakesInWhatIsNewOnly(t *testing.T) {
	db := mem.New()
	defer db.Close()
	var o engine.Overlay
	var b engine.Batch
	o.Reset(db, &b)
	for i := range 10 {
		b.DeleteRange(column.State, []byte("a"), []byte("b"))
		for range 3 {
			require.Equal(t, "none", read(&o, column.State, "k"))
		}
		require.Equal(t, i+1, o.Ranges())
	}
}

// failingReader is a store whose reads fail after so many entries.
type failingReader struct {
	engine.Reader
	after int
}

func (f failingReader) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	it, err := f.Reader.Iterate(col, r)
	if err != nil {
		return nil, err
	}
	return engine.NewIterator(&failingPager{it, f.after}, 0), nil
}

func (f failingReader) MultiGet(buf []byte, _ []engine.Lookup) ([]byte, error) { return buf, errDisk }

type failingPager struct {
	it   *engine.Iterator
	left int
}

func (p *failingPager) Page(dst []byte, _, _ int) ([]byte, int, error) {
	if p.left--; p.left < 0 {
		return dst, 0, errDisk
	}
	dst = p.it.Page(dst, 1, 1)
	return dst, p.it.PageEntries(), p.it.Err()
}

func (p *failingPager) Close() error { return p.it.Close() }

func TestAnOverlayDoesNotHideErrorsOfTheStore(t *testing.T) {
	db := mem.New()
	defer db.Close()
	require.NoError(t, db.Apply(puts(engine.WAL, "a", "b", "c", "d", "e")))
	b := puts(engine.WAL, "b2", "z")
	for after := range 5 {
		var o engine.Overlay
		o.Reset(failingReader{db, after}, b)
		it, err := o.Iterate(column.State, engine.Range{})
		require.NoError(t, err)
		for it.Err() == nil {
			require.NotContains(t, string(it.Page(nil, 10, 100)), "vz", "it is after what could not be read")
		}
		require.NoError(t, it.Close())
		it, err = o.Iterate(column.State, engine.Range{})
		require.NoError(t, err)
		last := ""
		for it.Next() {
			last = string(it.Key())
		}
		require.ErrorIs(t, it.Err(), errDisk)
		require.NotEqual(t, "z", last)
		require.NoError(t, it.Close())
		_, err = o.MultiGet(nil, []engine.Lookup{{Column: column.State, Key: []byte("a")}})
		require.ErrorIs(t, err, errDisk)
	}
}

func TestAnOverlayOnWhatIsNoReaderHasNoScans(t *testing.T) {
	var o engine.Overlay
	o.Reset(newSink(), puts(engine.WAL, "a"))
	require.Equal(t, "va", read(&o, column.State, "a"))
	_, err := o.Iterate(column.State, engine.Range{})
	require.ErrorIs(t, err, engine.ErrUnsupported)
	_, err = o.MultiGet(nil, nil)
	require.ErrorIs(t, err, engine.ErrUnsupported)
}

func TestAnOverlayOfABatchThatIsNotWellFormedIsNotRead(t *testing.T) {
	db := mem.New()
	defer db.Close()
	var o engine.Overlay
	b := puts(engine.WAL, "a")
	o.Reset(db, b)
	require.Equal(t, "va", read(&o, column.State, "a"))
	b.Put(99, nil, nil)
	_, err := o.Get(nil, column.State, []byte("a"))
	require.ErrorIs(t, err, engine.ErrBatch)
	_, err = o.Iterate(column.State, engine.Range{})
	require.ErrorIs(t, err, engine.ErrBatch)
	_, err = o.MultiGet(nil, nil)
	require.ErrorIs(t, err, engine.ErrBatch)
}

func TestAnOverlayRefusesWhatIsNoColumn(t *testing.T) {
	db := mem.New()
	defer db.Close()
	var o engine.Overlay
	o.Reset(db, puts(engine.WAL, "a"))
	_, want := db.Iterate(200, engine.Range{})
	_, err := o.Iterate(200, engine.Range{})
	require.Equal(t, want, err)
	_, want = db.Get(nil, 200, nil)
	_, err = o.Get(nil, 200, nil)
	require.Equal(t, want, err)
}
