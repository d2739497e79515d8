//go:build !cgo

package rocks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

func TestSaysHowToBuildWithRocksDB(t *testing.T) {
	_, err := Open(t.TempDir(), Options{})
	require.ErrorIs(t, err, engine.ErrUnsupported)
	require.ErrorContains(t, err, "CGO_ENABLED=1")
}
