//go:build !cgo

package server

import (
	"testing"

	"github.com/stoadb/stoa/engine"
)

func rocksForBlobs(t *testing.T) engine.Engine {
	t.Skip("RocksDB needs cgo")
	return nil
}
