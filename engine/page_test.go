package engine

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPageBytes(t *testing.T) {
	for _, v := range vectors(t).Pages {
		t.Run(v.Name, func(t *testing.T) {
			var page []byte
			for _, e := range v.Entries {
				page = AppendEntry(page, []byte(e.Key), []byte(e.Value))
			}
			require.Equal(t, v.Page.hex(), hex.EncodeToString(page))
			rest := []byte(v.Page)
			for _, e := range v.Entries {
				var key, value []byte
				var ok bool
				key, value, rest, ok = CutEntry(rest)
				require.True(t, ok)
				require.Equal(t, string(e.Key), string(key))
				require.Equal(t, string(e.Value), string(value))
			}
			_, _, _, ok := CutEntry(rest)
			require.False(t, ok, "an entry more")
		})
	}
}

func TestCutEntryRefusesMalformedPages(t *testing.T) {
	for _, v := range vectors(t).MalformedPages {
		key, value, rest, ok := CutEntry([]byte(v.Page))
		require.False(t, ok, v.Name)
		require.Nil(t, key)
		require.Nil(t, value)
		require.Equal(t, []byte(v.Page), rest)
	}
}

func TestAppendingToAnEntryLeavesThePageAlone(t *testing.T) {
	page := AppendEntry(AppendEntry(nil, []byte("a"), []byte("1")), []byte("b"), []byte("2"))
	want := string(page)
	key, value, rest, ok := CutEntry(page)
	require.True(t, ok)
	_, _ = append(key, "xxx"...), append(value, "xxx"...)
	require.Equal(t, want, string(page))
	require.Equal(t, string(AppendEntry(nil, []byte("b"), []byte("2"))), string(rest))
}
