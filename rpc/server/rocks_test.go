//go:build cgo

package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/rocks"
)

func BenchmarkRocks(b *testing.B) {
	eng, err := rocks.Open(b.TempDir(), rocks.Options{})
	require.NoError(b, err)
	benchAll(b, eng)
}
