//go:build cgo

package dag_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/rocks"
)

// One round on RocksDB, where the process that starts next opens the files.
func TestAnAddOrACommitIsDoneOrNotOnDisk(t *testing.T) {
	for _, c := range killCases() {
		if c.name != "a cascade" && c.name != "commit with a join" {
			continue // the rest is no different on disk, and opening files takes long
		}
		t.Run(c.name, func(t *testing.T) {
			start := func() engine.Engine {
				e, err := rocks.Open(t.TempDir(), rocks.Options{})
				require.NoError(t, err)
				return e
			}
			c.reference(t)
			for at := 1; ; at++ {
				inner := start()
				tripped := c.killAt(t, inner, faulty.Options{At: at, Calls: faulty.Writes, Fault: faulty.CrashAfter})
				require.NoError(t, inner.Close())
				if !tripped {
					break
				}
			}
		})
	}
}
