//go:build cgo

package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
)

func BenchmarkRocks(b *testing.B) {
	eng, err := rocks.Open(b.TempDir(), rocks.Options{})
	require.NoError(b, err)
	benchAll(b, eng)
}

func TestTheClientKeepsTheContractOfRocksDB(t *testing.T) {
	conform(t, func(t testing.TB) engine.Engine {
		eng, err := rocks.Open(t.TempDir(), rocks.Options{MinFreeBytes: -1})
		require.NoError(t, err)
		return eng
	})
}
