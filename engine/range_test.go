package engine_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
)

func TestSuccessor(t *testing.T) {
	for _, tt := range []struct{ prefix, want string }{
		{"", ""}, {"\xff", ""}, {"\xff\xff", ""},
		{"a", "b"}, {"\x00", "\x01"}, {"a\xff", "b"}, {"a\xfe", "a\xff"}, {"a\xff\xff", "b"}, {"\xffa", "\xffb"},
	} {
		got := engine.Successor([]byte(tt.prefix))
		require.Equal(t, tt.want, string(got), "%x", tt.prefix)
		require.Equal(t, tt.want == "", got == nil)
	}
	prefix := []byte("ab")
	engine.Successor(prefix)[0] = 'x'
	require.Equal(t, "ab", string(prefix), "it is a copy")
}

// TestAPrefixedRangeHoldsExactlyTheKeysWithThePrefix uses bytes near the ends of
// their range, where carries are.
func TestAPrefixedRangeHoldsExactlyTheKeysWithThePrefix(t *testing.T) {
	edge := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0xFE, 0xFF}), 0, 4)
	enginetest.Check(t, 2000, func(t *rapid.T) {
		prefix, key := edge.Draw(t, "prefix"), edge.Draw(t, "key")
		r := engine.Prefixed(prefix)
		in := bytes.Compare(key, r.Start) >= 0 && (r.End == nil || bytes.Compare(key, r.End) < 0)
		require.Equal(t, bytes.HasPrefix(key, prefix), in)
		require.False(t, r.Reverse)
		require.Zero(t, r.Limit)
	})
}

func TestARangeWithAPrefixHoldsItsKeysWithThePrefix(t *testing.T) {
	edge := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0xFE, 0xFF}), 0, 4)
	holds := func(r engine.Range, key []byte) bool {
		return bytes.Compare(key, r.Start) >= 0 && (r.End == nil || bytes.Compare(key, r.End) < 0)
	}
	enginetest.Check(t, 5000, func(t *rapid.T) {
		r := engine.Range{Start: edge.Draw(t, "start"), Reverse: rapid.Bool().Draw(t, "reverse"), Limit: 3}
		if rapid.Bool().Draw(t, "bounded") {
			r.End = edge.Draw(t, "end")
		}
		prefix, key := edge.Draw(t, "prefix"), edge.Draw(t, "key")
		got := r.WithPrefix(prefix)
		require.Equal(t, holds(r, key) && bytes.HasPrefix(key, prefix), holds(got, key))
		require.Equal(t, r.Reverse, got.Reverse)
		require.Equal(t, r.Limit, got.Limit)
	})
}
