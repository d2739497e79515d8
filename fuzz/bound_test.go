package fuzz

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireBounded demands that f, which reads n bytes of input, allocates no more
// than 16 times as much and 4 KiB. The least of a few runs counts: the rest of
// the process allocates too.
func requireBounded(t *testing.T, n int, f func()) {
	t.Helper()
	bound, least := 16*uint64(n)+4<<10, uint64(math.MaxUint64)
	for range 4 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		if least = min(least, after.TotalAlloc-before.TotalAlloc); least <= bound {
			return
		}
	}
	require.LessOrEqual(t, least, bound, "bytes allocated for %d bytes of input", n)
}
