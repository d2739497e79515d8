//go:build cgo

package rocks

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPartsOfTheBlockCacheHoldTheIndexOfATable(t *testing.T) {
	for capacity, bits := range map[int64]int{mib: 0, 8 * mib: 0, 15 * mib: 0, 16 * mib: 1, 32 * mib: 2, 256 * mib: 5, 1024 * mib: 6, 1 << 40: 6} {
		require.Equal(t, bits, shardBits(capacity), capacity)
	}
}
