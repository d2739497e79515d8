package engine_test

import (
	"fmt"
	"hash/crc64"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// working is a sink whose writes take as long as one of RocksDB without a sync.
type working struct{ nothing }

func (working) Write(ops []byte, _ bool) error {
	for range 64 {
		_ = crc64.Checksum(ops, table)
	}
	return nil
}

var table = crc64.MakeTable(crc64.ISO)

// BenchmarkCommitter has so many goroutines commit at once: what the queue, and the
// view of those before in the group, cost.
func BenchmarkCommitter(b *testing.B) {
	plain := puts(engine.WAL, "a", "b", "c")
	guarded := puts(engine.WAL, "a", "b", "c")
	guarded.Expect(column.State, []byte("k"), []byte{1, 0, 0, 0, 0, 0, 0, 0})
	key := []byte("n")
	var value [8]byte
	for name, do := range map[string]func(*engine.Committer) error{
		"apply":  func(c *engine.Committer) error { return c.Apply(plain) },
		"expect": func(c *engine.Committer) error { return c.Apply(guarded) },
		"update": func(c *engine.Committer) error {
			return c.Update(func(g engine.Getter, b *engine.Batch) error {
				var array [8]byte
				_, err := g.Get(array[:0], column.State, key)
				b.Put(column.State, key, value[:])
				return err
			})
		},
	} {
		for _, writers := range []int{1, 16} {
			b.Run(fmt.Sprint(name, "/", writers), func(b *testing.B) {
				c := engine.NewCommitter(working{})
				b.ReportAllocs()
				b.SetParallelism(writers)
				var before, after syscall.Rusage
				require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &before))
				if writers == 1 {
					for range b.N {
						_ = do(c)
					}
				} else {
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							if err := do(c); err != nil {
								b.Error(err)
							}
						}
					})
				}
				require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &after))
				spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
				b.ReportMetric(float64(spent)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}
