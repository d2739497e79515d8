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
