package keys

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
)

// FuzzKeys demands of any bytes in any column: exactly one key type parses them
// and writes the same bytes again, or none does and the refusal says so; no
// panic; allocations in bounds.
func FuzzKeys(f *testing.F) {
	for col := range column.All {
		f.Add(uint8(col), []byte{})
		f.Add(uint8(col), make([]byte, 32))
		f.Add(uint8(col), make([]byte, 36))
	}
	for _, k := range kinds {
		key := make([]byte, k.info.Size)
		key[0] = k.info.Tag
		f.Add(uint8(k.info.Column), key)
	}
	alias := make([]byte, 83)
	alias[0], alias[33] = 1, 'a'
	f.Add(uint8(column.Alias), alias)
	f.Add(uint8(column.Generic), []byte("ssl_certs:server\x00"))
	f.Add(uint8(column.Generic), []byte("stoa.test\x00\x00\x00\x00\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, col uint8, src []byte) {
		c := column.Column(col)
		info, err := Identify(c, src)
		if err != nil {
			require.ErrorIs(t, err, ErrLayout)
			require.ErrorIs(t, CheckKey(c, src), ErrLayout)
		}
		_ = Check(c, src, src)
		_ = Secret(c, src)
		for _, k := range kinds {
			if k.info.Column == c {
				requireCanonical(t, k, src, err == nil && k.info.Name == info.Name)
			}
		}
	})
}

func requireCanonical(t *testing.T, k kind, src []byte, isKey bool) {
	requireBounded(t, k, src)
	key, err := k.parse(src)
	if !isKey {
		require.ErrorIs(t, err, ErrLayout)
		return
	}
	require.NoError(t, err)
	again, err := k.append(key, nil)
	require.NoError(t, err)
	require.Equal(t, string(src), string(again))

	text, err := k.info.KeyJSON(src)
	require.NoError(t, err)
	back, err := k.info.KeyFromJSON(text)
	require.NoError(t, err, "%s", text)
	require.Equal(t, string(src), string(back))
}

// requireBounded demands that parsing allocates at most 16 times its input and
// 4 KiB, in the best of a few runs: the rest of the process allocates too.
func requireBounded(t *testing.T, k kind, src []byte) {
	bound := 16*uint64(len(src)) + 4<<10
	least := uint64(math.MaxUint64)
	for tries := 0; tries < 4 && least > bound; tries++ {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = k.parse(src)
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	require.LessOrEqual(t, least, bound)
}
