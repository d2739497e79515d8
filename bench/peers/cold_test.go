package main

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/bench"
)

// Every store is filled and read, all of its rows.
func TestColdStoresAreFilledAndRead(t *testing.T) {
	dir := t.TempDir()
	for _, name := range coldStores {
		c := coldRun{dir: dir, cache: 8 << 20, most: time.Minute, turn: 20 * time.Millisecond}
		o := bench.Options{Rows: 3000, Dir: dir, Logger: slog.New(slog.DiscardHandler)}
		if name != "grocksdb" {
			c.child = "load " + name
			f, err := c.find(o)
			require.NoError(t, err, name)
			require.Equal(t, o.Rows, f.Rows, name)
			require.Positive(t, f.DiskMB, name)
		}
		c.child = "read " + name
		f, err := c.find(o)
		require.NoError(t, err, name)
		require.Positive(t, f.GetUS, name)
		require.Positive(t, f.ScanCPU, name)
		require.Positive(t, f.WalkMBs, name)
	}
}
