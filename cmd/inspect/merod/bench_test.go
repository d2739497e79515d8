//go:build cgo

package merod

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// What inspect and verify of a merod take of processor time, beside a bare scan of the same rows
// by RocksDB: mostly State, as a node has it, and some members and deltas.
func BenchmarkMerod(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "db")
	e, err := rocks.Open(dir, rocks.Options{MinFreeBytes: -1})
	require.NoError(b, err)
	r := rand.New(rand.NewPCG(1, 2))
	delta, member := layouts.types["Delta08"], layouts.types["Member"]
	var batch engine.Batch
	for i := range 300_000 {
		key := make([]byte, 64, 65)
		key[0] = byte(i % 50)
		binary.BigEndian.PutUint64(key[32:], r.Uint64())
		switch i % 20 {
		case 0:
			batch.Put(column.Delta, key, delta.drawn(nil, r))
		case 1:
			batch.Put(column.Group, append([]byte{0x21}, key...), member.drawn(nil, r))
		default:
			value := make([]byte, 256)
			for j := range 16 {
				binary.LittleEndian.PutUint64(value[8*j:], r.Uint64())
			}
			batch.Put(column.State, key, value)
		}
		if batch.Len() == 1000 {
			batch.Durability = engine.WAL
			require.NoError(b, e.Apply(&batch))
			batch.Reset()
		}
	}
	require.NoError(b, e.Flush())
	for c := range column.All {
		require.NoError(b, e.Compact(c, engine.Range{}))
	}
	files, err := diskfile.OpenReader(dir)
	require.NoError(b, err)
	d := &Database{Where: dir, r: files}
	used := func(f func()) time.Duration {
		at := func() time.Duration {
			var u unix.Rusage
			require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
			return time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
		begun := at()
		f()
		return at() - begun
	}
	require.NoError(b, e.Close())
	bare := func() { // nothing of it is in memory, as a command finds it
		e, err := rocks.Open(dir, rocks.Options{ReadOnly: true})
		require.NoError(b, err)
		for c := range column.All {
			it, err := e.Iterate(c, engine.Range{})
			require.NoError(b, err)
			for it.Next() {
			}
			require.NoError(b, it.Close())
		}
		require.NoError(b, e.Close())
	}
	for name, f := range map[string]func() error{
		"inspect": func() error {
			v, err := Survey(context.Background(), d, nil)
			require.EqualValues(b, 300_000, v.Explained)
			return err
		},
		"verify": func() error {
			_, err := Verify(context.Background(), d, nil, func(inspect.Finding) error { return nil })
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			var scan, took time.Duration
			for b.Loop() {
				scan += used(bare)
				took += used(func() { require.NoError(b, f()) })
			}
			b.ReportMetric(scan.Seconds()/took.Seconds(), "of-scan")
		})
	}
}
