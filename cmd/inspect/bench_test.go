//go:build cgo

package inspect

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/keys"
)

// benchRows is how many rows the store of the benchmarks has: as many as make
// STOA_BENCH_MB, or 300,000.
func benchRows(b *testing.B) int {
	b.Helper()
	text := os.Getenv("STOA_BENCH_MB")
	if text == "" {
		return 300_000
	}
	mb, err := strconv.Atoi(text)
	require.NoError(b, err)
	return mb << 20 / 320
}

// benchStore returns a store that is mostly states of contexts, half of whose bytes
// are random, and the bytes of its rows.
func benchStore(b *testing.B) (dir string, raw int64) {
	b.Helper()
	dir = filepath.Join(b.TempDir(), "db")
	e, err := rocks.Open(dir, rocks.Options{MinFreeBytes: -1})
	require.NoError(b, err)
	r := rand.NewChaCha8([32]byte{1})
	batch := engine.Batch{Durability: engine.WAL}
	for i := range benchRows(b) {
		context, value := codec.ContextID{byte(i % 50), 7}, make([]byte, 256)
		var key [32]byte
		binary.BigEndian.PutUint64(key[:], uint64(i)*0x9E3779B97F4A7C15)
		_, _ = r.Read(value[:128])
		switch i % 20 {
		case 0:
			engine.Put(&batch, keys.ContextDagDelta{Context: context, Delta: key}, codec.ContextDagDeltaValue{
				DeltaID: key, Parents: []codec.DeltaID{{1}}, Actions: []codec.Action{codec.Put(key[:], value)}, HLC: codec.HybridTimestamp{Time: uint64(i), ID: codec.NodeID{Lo: 1}},
			})
		case 1:
			engine.Put(&batch, keys.GroupMember{Group: codec.GroupID(context), Identity: key}, codec.Member)
		default:
			engine.Put(&batch, keys.ContextState{Context: context, AppKey: keys.NewBytes(key[:])}, codec.Raw(value))
		}
		if batch.Len() == 1000 {
			require.NoError(b, e.Apply(&batch))
			batch.Reset()
			batch.Durability = engine.WAL
		}
	}
	require.NoError(b, e.Apply(&batch))
	require.NoError(b, e.Flush())
	for c := range column.All {
		require.NoError(b, e.Compact(c, engine.Range{}))
		it, err := e.Iterate(c, engine.Range{})
		require.NoError(b, err)
		for it.Next() {
			raw += int64(len(it.Key()) + len(it.Value()))
		}
		require.NoError(b, it.Err())
	}
	require.NoError(b, e.Close())
	return dir, raw
}

// contextStore returns a store of what a full verification takes in again, and the
// bytes of its rows: contexts of deltas with 10 actions of 100 bytes each, on 20,000
// keys, of as many rows as benchRows says.
func contextStore(b *testing.B) (dir string, raw int64) {
	b.Helper()
	dir = filepath.Join(b.TempDir(), "contexts")
	e, err := rocks.Open(dir, rocks.Options{MinFreeBytes: -1})
	require.NoError(b, err)
	s, err := dag.Open(e, dag.Options{Node: codec.NodeID{Lo: 1}})
	require.NoError(b, err)
	r := rand.New(rand.NewPCG(1, 2))
	for c := range byte(4) {
		id := codec.ContextID{1 + c}
		require.NoError(b, s.CreateContext(id, codec.ApplicationMeta{}))
		root := merkle.EmptyRoot()
		for range benchRows(b) / 4 / 24 { // rows that a delta makes, about
			var actions []codec.Action
			for i := range 10 {
				key := fmt.Appendf(nil, "key %d", r.IntN(2_000)*10+i)
				actions = append(actions, codec.Put(key, fmt.Appendf(nil, "%100d", r.Int())))
			}
			done, err := s.Commit(b.Context(), dag.Commit{Context: id, ReadRoot: root, Durability: engine.WAL, Actions: actions})
			require.NoError(b, err)
			root = done.Root
		}
	}
	require.NoError(b, s.Close())
	require.NoError(b, e.Flush())
	for c := range column.All {
		it, err := e.Iterate(c, engine.Range{})
		require.NoError(b, err)
		for it.Next() {
			raw += int64(len(it.Key()) + len(it.Value()))
		}
		require.NoError(b, errors.Join(it.Err(), it.Close()))
	}
	require.NoError(b, e.Close())
	return dir, raw
}

// perCPU runs f again and again, and reports how many MB of raw data it does in a
// second of processor time, whatever it runs beside.
func perCPU(b *testing.B, raw int64, f func()) {
	b.Helper()
	used := func() time.Duration {
		var u unix.Rusage
		require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	b.ReportAllocs()
	start := used()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(raw)*float64(b.N)/1e6/(used()-start).Seconds(), "MB/cpu-s")
}

func benchSource(b *testing.B, dir string) *Source {
	b.Helper()
	s, err := OpenDir(dir, Options{})
	require.NoError(b, err)
	b.Cleanup(func() { s.Close() })
	return s
}

// offlineEnv makes the test binary go through a store in a process of its own:
// NAME=DIR, with a name of throughs.
const offlineEnv = "STOA_TEST_INSPECT_OFFLINE"

// throughs are ways through every row of a store. It is never written to.
var throughs = map[string]func(s *Source) ([]Spent, error){
	"scan": func(s *Source) ([]Spent, error) {
		w := &walker{ctx: context.Background()}
		for c := range column.All {
			if err := w.each(s, c, engine.Range{}, func(_, _ []byte) error { return nil }); err != nil {
				return nil, err
			}
		}
		return nil, nil
	},
	"inspect": func(s *Source) ([]Spent, error) {
		_, err := Survey(context.Background(), s, SurveyOptions{Contexts: 10})
		return nil, err
	},
	"verify": func(s *Source) ([]Spent, error) {
		_, err := Verify(context.Background(), s, VerifyOptions{}, func(Finding) error { return nil })
		return nil, err
	},
	"verify-full": func(s *Source) ([]Spent, error) {
		debug.SetGCPercent(40) // as the command does
		v, err := Verify(context.Background(), s, VerifyOptions{Full: true, Now: time.Now}, func(f Finding) error { return errors.New(f.String()) })
		if err != nil {
			return nil, err
		}
		return v.Split, nil
	},
}

// passage is what a process says of its way through a store.
type passage struct {
	KiB   int64 // of memory, at most
	Split []Spent
}

// goThrough does what the environment asks for, and says how much memory this took.
func goThrough(what string, w io.Writer) error {
	name, dir, _ := strings.Cut(what, "=")
	s, err := OpenDir(dir, Options{})
	if err != nil {
		return err
	}
	var p passage
	p.Split, err = throughs[name](s)
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/self/status") // that of rusage counts what the parent had
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if p.KiB, err = strconv.ParseInt(strings.Fields(rest)[0], 10, 64); err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(p)
}

// apart goes through the store in a process of its own, and returns what processor
// time it took, how many bytes of memory at most, and the split of verify-full.
func apart(b *testing.B, name, dir string) (cpu time.Duration, most int64, split []Spent) {
	b.Helper()
	cmd := enginetest.EndWithParent(exec.Command(os.Args[0]))
	cmd.Env = append(os.Environ(), offlineEnv+"="+name+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(b, err)
	var p passage
	require.NoError(b, json.Unmarshal(out, &p))
	return cmd.ProcessState.SystemTime() + cmd.ProcessState.UserTime(), p.KiB << 10, p.Split
}

// What inspect and verify cost over a bare scan, and a full verification with its
// split, each in a process of its own; export and import of the same rows.
func BenchmarkOffline(b *testing.B) {
	dir, raw := benchStore(b)
	ctx := context.Background()
	for _, name := range []string{"inspect", "verify"} {
		b.Run(name, func(b *testing.B) {
			var scan, cpu time.Duration
			var most int64
			for b.Loop() {
				bare, _, _ := apart(b, "scan", dir)
				took, peak, _ := apart(b, name, dir)
				scan, cpu, most = scan+bare, cpu+took, max(most, peak)
			}
			b.ReportMetric(float64(raw)*float64(b.N)/1e6/cpu.Seconds(), "MB/cpu-s")
			b.ReportMetric(scan.Seconds()/cpu.Seconds(), "of-scan")
			b.ReportMetric(float64(most)/(1<<20), "MiB-peak")
		})
	}
	b.Run("verify-full", func(b *testing.B) {
		dir, raw := contextStore(b)
		spent := map[string]float64{}
		var cpu time.Duration
		var most int64
		for b.Loop() {
			took, peak, split := apart(b, "verify-full", dir)
			cpu, most = cpu+took, max(most, peak)
			for _, s := range split {
				spent[s.Phase] += s.Seconds
			}
		}
		b.ReportMetric(float64(raw)*float64(b.N)/1e6/cpu.Seconds(), "MB/cpu-s")
		b.ReportMetric(float64(most)/(1<<20), "MiB-peak")
		for _, p := range phases {
			b.ReportMetric(spent[p]/float64(b.N), p+"-s")
		}
	})
	var out bytes.Buffer
	b.Run("export", func(b *testing.B) {
		s := benchSource(b, dir)
		perCPU(b, raw, func() {
			out.Reset()
			_, err := Export(ctx, s, &out, ExportOptions{})
			require.NoError(b, err)
		})
	})
	b.Run("import", func(b *testing.B) {
		if out.Len() == 0 {
			_, err := Export(ctx, benchSource(b, dir), &out, ExportOptions{})
			require.NoError(b, err)
		}
		perCPU(b, raw, func() {
			e, err := rocks.Open(filepath.Join(b.TempDir(), "db"), rocks.Options{MinFreeBytes: -1})
			require.NoError(b, err)
			_, err = Import(ctx, bytes.NewReader(out.Bytes()), e, ImportOptions{Replace: true}) // as the command does where nothing is
			require.NoError(b, err)
			require.NoError(b, e.Close())
		})
	})
}
