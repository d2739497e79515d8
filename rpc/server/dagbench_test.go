package server

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
)

// What calls of the Dag service cost, on an engine in memory. cpu-ns/op is of both ends.
func BenchmarkDag(b *testing.B) {
	one, other := inRoom(b, 1, Options{}), inRoom(b, 2, Options{})
	_, root, err := one.dag.Heads(b.Context(), room)
	require.NoError(b, err)
	n, taken := uint32(0), 0
	var made [][]byte
	commit := func() error {
		n++
		key := binary.BigEndian.AppendUint32(nil, n%1000)
		done, err := one.dag.Commit(b.Context(), dag.Commit{Context: room, Actions: []codec.Action{codec.Put(key, make([]byte, 100))},
			ReadRoot: root, Durability: engine.WAL})
		root, made = done.Root, append(made, done.Deltas...)
		return err
	}
	add := func() error {
		_, err := other.dag.Add(b.Context(), made[taken], dag.AddOptions{Durability: engine.WAL})
		taken++
		return err
	}
	for _, op := range []struct {
		name string
		do   func() error
	}{
		{"commit", commit}, {"add", add},
		{"state", func() error { _, err := one.dag.State(b.Context(), room, make([]byte, 4)); return err }},
		{"heads", func() error { _, _, err := one.dag.Heads(b.Context(), room); return err }},
	} {
		b.Run(op.name, func(b *testing.B) {
			if op.name == "add" {
				for len(made) <= taken+b.N {
					require.NoError(b, commit())
				}
			}
			var before, after unix.Rusage
			b.ReportAllocs()
			b.ResetTimer()
			require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &before))
			for range b.N {
				if err := op.do(); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &after))
			spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
			b.ReportMetric(float64(spent)/float64(b.N), "cpu-ns/op")
		})
	}
}
