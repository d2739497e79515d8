//go:build cgo

package rocks

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// A log that could not be removed when all that it has was in tables is of no account: neither
// is what came after it missed, nor does what comes later seem to be behind a hole.
func TestALogThatCouldNotBeRemovedIsOfNoAccount(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		e := open(t, t.TempDir(), Options{WatermarkEvery: time.Hour})
		put(t, e, engine.Synced, column.State, ctx(0), "0")
		first := newest(t, e.dir, ".log")
		old, err := os.ReadFile(first)
		require.NoError(t, err)
		require.NoError(t, e.Flush())
		for i := range 3 {
			put(t, e, engine.Synced, column.State, ctx(1+i), "in a table")
		}
		require.NoError(t, e.Flush())
		rows := 4
		if killed {
			put(t, e, engine.WAL, column.State, ctx(rows), "in a log")
			rows++
		} else {
			require.NoError(t, e.Close())
		}
		dir := crash(t, e)
		left := fmt.Sprintf("%s/%s", dir, first[len(e.dir)+1:])
		require.NoError(t, os.WriteFile(left, old, 0o600))

		e = open(t, dir, Options{})
		require.Len(t, list(t, e, column.State, engine.Range{}), rows, "killed: %t", killed)
		r := e.Recovery()
		require.False(t, r.Damaged(), "%+v", r)
		require.Empty(t, r.Left)
		require.NoError(t, e.Close())
	}
}
