//go:build !cgo

package blob

import (
	"testing"

	"github.com/stoadb/stoa/engine"
)

func openRocks(t *testing.T) engine.Engine {
	t.Skip("RocksDB needs cgo")
	return nil
}
