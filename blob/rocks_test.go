//go:build cgo

package blob

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
)

func openRocks(t *testing.T) engine.Engine {
	eng, err := rocks.Open(filepath.Join(t.TempDir(), "data"), rocks.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	return eng
}
