package kv

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// A dump has no secret that cursors are signed with: what is only read makes do with one
// of its own.
func TestAStoreThatIsOnlyReadNeedsNoSecret(t *testing.T) {
	h := newTestStore(t)
	s := h.space("tenant", "words")
	put(t, s, "a", "1", 0)
	put(t, s, "b", "2", 0)
	var b engine.Batch
	b.Delete(column.Generic, Row{Shape: ShapeStore, Kind: KindSecret}.AppendKey(nil))
	require.NoError(t, h.db.Apply(&b))
	store, err := Open(engine.ReadOnly(h.db), Options{Types: []Type{words}})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	read, err := store.Space("tenant", SystemTest, "words")
	require.NoError(t, err)
	first, err := read.List(ctx, ListOptions{Limit: 1})
	require.NoError(t, err)
	second, err := read.List(ctx, ListOptions{Limit: 1, Cursor: first.Next})
	require.NoError(t, err)
	require.Equal(t, "b", string(second.Records[0].Key))
}

// A cursor that is signed right and yet leads out of what is listed, as whoever has the
// secret could make one, leads nowhere.
func TestAPageHasNoNegativeNumberOfEntries(t *testing.T) {
	s := newTestStore(t).space("tenant", "words")
	for limit, fine := range map[int]bool{-1: false, 0: true, 1: true, MaxPage: true, MaxPage + 1: false} {
		_, err := s.List(ctx, ListOptions{Limit: limit})
		if fine {
			require.NoError(t, err, limit)
		} else {
			require.ErrorIs(t, err, ErrInvalidArgument, limit)
		}
	}
}

func TestACursorLeadsNotOutOfItsListing(t *testing.T) {
	h := newTestStore(t)
	s := h.space("tenant", "words")
	put(t, s, "b1", "1", 0)
	put(t, s, "b2", "2", 0)
	put(t, s, "c", "3", 0)
	at := func(place string) []byte { return append(s.scope[:len(s.scope):len(s.scope)], place...) }
	list := func(place string, reverse bool) (keys []string, err error) {
		_, err = s.now().page(ctx, engine.Range{Start: at("Vb"), End: at("Vc"), Reverse: reverse}, []byte("q"),
			h.cursor(s.scope, []byte("q"), []byte(place)), 10, func(r storedRow) (int, error) {
				keys = append(keys, string(r.Key))
				return 1, nil
			})
		return keys, err
	}
	keys, err := list("Vb1", false)
	require.NoError(t, err)
	require.Equal(t, []string{"b2"}, keys)
	keys, err = list("Vb2", true)
	require.NoError(t, err)
	require.Equal(t, []string{"b1"}, keys)
	for _, place := range []string{"", "M", "Va", "Vc", "X"} {
		for _, reverse := range []bool{false, true} {
			_, err = list(place, reverse)
			var invalid *Error
			require.ErrorAs(t, err, &invalid, "%q", place)
			require.Equal(t, CodeInvalidCursor, invalid.Code)
		}
	}
}
