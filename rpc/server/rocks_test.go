//go:build cgo

package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/rpc"
)

func BenchmarkRocks(b *testing.B) {
	eng, err := rocks.Open(b.TempDir(), rocks.Options{RowCacheBytes: 64 << 20})
	require.NoError(b, err)
	benchAll(b, eng)
}

// TestTheClientKeepsTheContractOfRocksDB runs over frames with a row cache, as the
// daemon has one, and over gRPC without.
func TestTheClientKeepsTheContractOfRocksDB(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		o := rocks.Options{MinFreeBytes: -1}
		if f == rpc.FramingFrames {
			o.RowCacheBytes = 1 << 20
		} else {
			enginetest.SkipUnderRace(t, seenElsewhere)
		}
		conform(t, f, func(t testing.TB) engine.Engine {
			eng, err := rocks.Open(t.TempDir(), o)
			require.NoError(t, err)
			return eng
		})
	})
}
