package kv

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
)

func TestPagesOfAnIndexAgainstANaiveModel(t *testing.T) {
	enginetest.Check(t, 200, func(t *rapid.T) {
		h, end := drawnStore(t)
		defer end()
		s := drawnSpace(t, h, "words")
		type pair struct{ term, key, value string }
		var model []pair
		words := []string{"a", "b", "b\x00", "c"}
		require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
			for i := range rapid.IntRange(0, 60).Draw(t, "records") {
				key := fmt.Sprintf("k%02d", i)
				text := bytes.Join(rapid.SliceOfNDistinct(rapid.SampledFrom([][]byte{[]byte("a"), []byte("b"), []byte("b\x00"), []byte("c")}), 1, 3, func(b []byte) string { return string(b) }).Draw(t, "words"), []byte(" "))
				short := rapid.IntRange(0, 9).Draw(t, "short") == 0
				o := PutOptions{}
				if short {
					o.TTL = time.Second
				}
				if _, err := tx.Put([]byte(key), text, o); err != nil {
					return err
				}
				for _, word := range words {
					if !short && slices.ContainsFunc(bytes.Fields(text), func(b []byte) bool { return string(b) == word }) {
						model = append(model, pair{word, key, string(text)})
					}
				}
			}
			return nil
		}))
		h.clock.Oversleep(2 * time.Second)
		slices.SortFunc(model, func(a, b pair) int { return cmp.Or(cmp.Compare(a.term, b.term), cmp.Compare(a.key, b.key)) })
		index := uint16(rapid.SampledFrom([]int{1, 3}).Draw(t, "index"))
		if index == 3 { // by the keys
			for i := range model {
				model[i].term = model[i].key
			}
			model = slices.Compact(slices.SortedFunc(slices.Values(model), func(a, b pair) int { return cmp.Compare(a.key, b.key) }))
		}
		o := IndexOptions{Reverse: rapid.Bool().Draw(t, "reverse"), Limit: rapid.IntRange(1, 20).Draw(t, "limit"), Look: rapid.SampledFrom([]int{0, 0, 7, 40}).Draw(t, "look")}
		o.From = []byte(rapid.SampledFrom([]string{"", "a", "b", "b\x00", "d", "k", "k2", "k21\x00", "l"}).Draw(t, "from"))
		if to := rapid.SampledFrom([]string{"", "a", "b\x00", "c", "d", "k2", "k30", "k4"}).Draw(t, "to"); to != "" {
			o.To = []byte(to)
		}
		if rapid.Bool().Draw(t, "odd keys") {
			o.Keep = func(term []byte, r *Record) bool { return r.Key[2]%2 == 1 && len(term) > 0 }
		}
		var want []pair
		for _, p := range model {
			if p.term >= string(o.From) && (o.To == nil || p.term < string(o.To)) && (o.Keep == nil || p.key[2]%2 == 1) {
				want = append(want, p)
			}
		}
		if o.Reverse {
			slices.Reverse(want)
		}
		var got []pair
		for {
			found, next, err := s.ByIndex(ctx, index, o)
			require.NoError(t, err)
			for _, f := range found {
				got = append(got, pair{string(f.Term), string(f.Key), string(f.Value)})
			}
			require.LessOrEqual(t, len(found), o.Limit)
			if o.Cursor = next; next == "" {
				break
			}
			if o.Look == 0 {
				require.Len(t, found, o.Limit, "a page that is followed by another is full")
				require.Less(t, len(got), len(want), "and no cursor leads to a page of nothing")
			}
		}
		require.Equal(t, want, got)
	})
}

func TestPagesOfAnIndexAreBoundedInBytes(t *testing.T) {
	s := newTestStore(t).space("a", "words")
	long := append([]byte("w"), bytes.Repeat([]byte(" "), 1<<20)...)
	for i := range 20 {
		_, err := s.Put(ctx, fmt.Append(nil, "k", 10+i), long, PutOptions{})
		require.NoError(t, err)
	}
	o := IndexOptions{From: []byte("w"), To: []byte("w\x00")}
	var sizes []int
	for {
		found, next, err := s.ByIndex(ctx, 1, o)
		require.NoError(t, err)
		sizes = append(sizes, len(found))
		if o.Cursor = next; next == "" {
			break
		}
	}
	require.Equal(t, []int{8, 8, 4}, sizes, "a page ends once its records take 8 MiB")
	_, _, err := s.ByIndex(ctx, 9, IndexOptions{})
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, _, err = s.ByIndex(ctx, 1, IndexOptions{Limit: -1})
	require.ErrorIs(t, err, ErrInvalidArgument)
}

func TestAPageLooksAtSoManyRecordsAtMost(t *testing.T) {
	s := newTestStore(t).space("a", "words")
	for i := range 40 {
		put(t, s, fmt.Sprint("k", 10+i), "w", 0)
	}
	looked := 0
	o := IndexOptions{From: []byte("w"), To: []byte("w\x00"), Look: 9, Keep: func([]byte, *Record) bool { looked++; return false }}
	pages := 0
	for ; ; pages++ {
		looked = 0
		_, next, err := s.ByIndex(ctx, 1, o)
		require.NoError(t, err)
		if o.Cursor = next; next == "" {
			break
		}
		require.Equal(t, 9, looked)
	}
	require.Equal(t, 4, pages)
	require.Equal(t, 4, looked, "the last page has what is left")
}

// A read that fails is an error of the page, and no shorter page.
func TestAPageOfAnIndexTellsFailedReads(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "words")
	for i := range 30 {
		put(t, s, fmt.Sprint("k", 10+i), "w", 0)
	}
	for _, index := range []uint16{1, 3} {
		for at := 1; ; at++ {
			f := faulty.New(h.db, faulty.Options{At: at, Calls: faulty.Reads})
			view := s.now()
			view.reader = f
			found, _, err := view.ByIndex(ctx, index, IndexOptions{Limit: 30})
			if err == nil {
				require.Len(t, found, 30)
			}
			if !f.Tripped() {
				break
			}
			require.Error(t, err)
		}
	}
}

// Changes that can't be read are an error, and so are changes that are missing at the end.
func TestChangesAreToldWholeOrNotAtAll(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "words")
	for i := range 5 {
		put(t, s, fmt.Sprint("k", i), "w", 0)
	}
	for at := 1; ; at++ {
		f := faulty.New(h.db, faulty.Options{At: at, Calls: faulty.Reads})
		view := s.now()
		view.reader = f
		list, more, err := view.Changes(ctx, 1, 10)
		if !f.Tripped() {
			require.NoError(t, err)
			require.Len(t, list, 4)
			require.False(t, more)
			break
		}
		require.Error(t, err)
		require.False(t, more)
	}
	row := Row{Scope: s.scope, Shape: ShapeLog, Number: 5}.AppendKey(nil)
	value, err := h.db.Get(nil, column.Generic, row)
	require.NoError(t, err)
	var b engine.Batch
	b.Delete(column.Generic, row)
	require.NoError(t, h.db.Apply(&b))
	list, more, err := s.now().Changes(ctx, 3, 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.True(t, more)
	list, more, err = s.now().Changes(ctx, 4, 10)
	require.ErrorIs(t, err, ErrTrimmed)
	require.Empty(t, list)
	require.False(t, more)
	b.Reset()
	b.Put(column.Generic, row, value)
	require.NoError(t, h.db.Apply(&b))
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error { // by the keys
		found, more, err := tx.ByTerm(3, []byte("k1"), []byte("k4"), 2)
		require.NoError(t, err)
		require.True(t, more)
		require.Equal(t, []Term{{[]byte("k1"), []byte("k1")}, {[]byte("k2"), []byte("k2")}}, found)
		return nil
	}))
}
