//go:build cgo

package fuzz

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
)

// onDisk returns RocksDB twice: as it is, and closed and opened again where a
// sequence says so.
func onDisk() []subject {
	open := func(t testing.TB, dir string) enginetest.DB {
		db, err := rocks.Open(dir, rocks.Options{})
		require.NoError(t, err)
		return db
	}
	return []subject{
		{name: "rocks", open: open},
		{name: "rocks, reopened", open: open, reopen: open},
	}
}
