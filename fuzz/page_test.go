package fuzz

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

// FuzzPage splits any bytes into entries, up to where they are no page.
func FuzzPage(f *testing.F) {
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, page []byte) {
		want := bytes.Clone(page)
		requireBounded(t, 0, func() {
			for rest, ok := page, true; ok; {
				_, _, rest, ok = engine.CutEntry(rest)
			}
		})
		var again []byte
		rest := page
		for {
			key, value, after, ok := engine.CutEntry(rest)
			if !ok {
				require.Nil(t, key)
				require.Nil(t, value)
				require.True(t, bytes.Equal(rest, after), "what does not start with an entry is given back whole")
				break
			}
			require.Less(t, len(after), len(rest))
			require.Equal(t, len(key), cap(key), "appending to a key would write into the page")
			require.Equal(t, len(value), cap(value), "appending to a value would write into the page")
			again, rest = engine.AppendEntry(again, key, value), after
		}
		require.True(t, bytes.Equal(page[:len(page)-len(rest)], again), "%x is encoded as %x", page, again)
		require.True(t, bytes.Equal(want, page), "the page has been changed")
	})
}
