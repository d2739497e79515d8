//go:build cgo

package namespace_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/rocks"
)

// One round on RocksDB, where the process that starts next opens the files.
func TestAnApplyIsDoneOrNotOnDisk(t *testing.T) {
	f, interrupted := blows(t)
	for _, b := range interrupted {
		if b.name != "for those that wait" && b.name != "a revocation beside" && b.name != "a deletion" {
			continue // the rest is no different on disk, and opening files takes long
		}
		t.Run(b.name, func(t *testing.T) {
			f.t = t
			from := newWitness(t, f, b.node, newMem())
			for _, op := range b.before {
				from.give(op)
			}
			require.NoError(t, from.store.Close())
			before, after := everything(t, from.db), b.outcome(t, f, from)
			for _, fault := range []faulty.Fault{faulty.CrashBefore, faulty.CrashAfter} {
				for at := 1; b.onDisk(t, f, from, faulty.Options{At: at, Calls: faulty.Writes, Fault: fault}, before, after); at++ {
				}
			}
			require.NoError(t, from.db.Close())
		})
	}
}

// onDisk interrupts an Apply on RocksDB, opens the files again, and does it once more. It
// reports whether the fault came.
func (b blow) onDisk(t *testing.T, f *forge, from *witness, o faulty.Options, before, after map[string]string) bool {
	dir := t.TempDir()
	inner, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	fill(t, inner, from.db)
	broken := faulty.New(inner, o)
	w := from.on(t, f, broken)
	_, err = w.store.Apply(context.Background(), bytesOf(t, b.op))
	_ = w.store.Close() // its engine is dead
	require.Equal(t, broken.Tripped() && o.At == 1, err != nil)
	require.NoError(t, inner.Close())

	again, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	rows := everything(t, again)
	if o.At == 1 && o.Fault == faulty.CrashBefore {
		require.Equal(t, before, rows)
	}
	w = from.on(t, f, again)
	if o.At == 1 && o.Fault == faulty.CrashBefore {
		w.give(b.op)
	} else {
		w.note(b.op)
		w.give(b.op) // a duplicate
	}
	w.check()
	require.Equal(t, after, everything(t, again))
	w.close()
	return broken.Tripped()
}
