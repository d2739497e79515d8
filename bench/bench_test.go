package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
)

// TestEveryWorkloadRunsOnEverySubject runs each once, on few rows.
func TestEveryWorkloadRunsOnEverySubject(t *testing.T) {
	enginetest.SkipUnderRace(t, "figures; the subjects are packages with tests of their own")
	r, err := Run(Options{Rows: 2 * batchLarge, Slice: 2 * time.Millisecond, Rounds: 2, Dir: scratch(t)})
	require.NoError(t, err)
	require.Len(t, r.Results, len(WorkloadNames())-len(slices.Concat(kvNames(), blobNames(), growNames()))) // those need a daemon
	for _, res := range r.Results {
		for _, m := range res.Measures {
			require.Positive(t, m.Wall.Median, "%s of %s", res.Workload, m.Subject)
			require.LessOrEqual(t, m.Wall.Min, m.Wall.Median)
			require.LessOrEqual(t, m.Wall.Median, m.Wall.Max)
			require.LessOrEqual(t, m.P50, m.P99)
			for _, turn := range m.turns {
				require.InEpsilon(t, float64(turn.Wall), turn.WallNanos*float64(turn.Units), 1e-6)
			}
		}
	}
	dir := t.TempDir()
	require.NoError(t, r.Save(dir))
	text, err := os.ReadFile(filepath.Join(dir, "report.txt"))
	require.NoError(t, err)
	require.Contains(t, string(text), "scan-100")
	var again Report
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &again))
	require.Equal(t, r.Subjects, again.Subjects)
}

func TestRatioIsTheMedianOfTheRounds(t *testing.T) {
	a := &Measure{turns: []turn{{WallNanos: 10}, {WallNanos: 90}, {WallNanos: 60}}}
	b := &Measure{turns: []turn{{WallNanos: 10}, {WallNanos: 30}, {WallNanos: 30}}}
	require.Equal(t, 2.0, ratio(a, b, wallOf))
	require.Zero(t, ratio(a, nil, wallOf))
}

func TestOptionsOutOfTheirLimitsAreRefused(t *testing.T) {
	for _, o := range []Options{{Rows: 1}, {Rounds: -1}, {Slice: 1}, {Workloads: []string{"sleep"}}} {
		_, err := Run(o)
		require.ErrorContains(t, err, "bench: ")
	}
}

func TestRowsAreOfTheirShapeAndDiffer(t *testing.T) {
	d := &Dataset{Rows: 5000}
	seen := map[string]bool{}
	var v [ValueBytes]byte
	for i := range 2 * d.Rows {
		k, err := d.Key(i).AppendBinary(nil)
		require.NoError(t, err)
		require.Len(t, k, KeyBytes)
		require.False(t, seen[string(k)])
		seen[string(k)] = true
		d.Fill(v[:], i)
		require.Equal(t, bytes.Repeat([]byte{byte(i)}, ValueBytes/2), v[ValueBytes/2:])
	}
}

// A change of the bytes of metadata is that of the value, and all have the size that is counted.
func TestMetadataIsChangedAsItsBytesAre(t *testing.T) {
	m, err := metaRows()
	require.NoError(t, err)
	for i := range m.keys {
		v := meta(i)
		touch(&v, uint64(i)+7)
		want, err := v.AppendBinary(nil)
		require.NoError(t, err)
		touchBytes(m.values[i], uint64(i)+7)
		require.Equal(t, want, m.values[i])
		require.InDelta(t, metaShare, float64(len(m.keys[i])+len(m.values[i]))/(KeyBytes+ValueBytes), 1e-9)
	}
}

// scratch returns a folder with a path that is short enough for a socket.
func scratch(t testing.TB) string {
	dir, err := os.MkdirTemp("", "st")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func BenchmarkTypedGetFromMemory(b *testing.B) {
	e := mem.New()
	defer e.Close()
	data := &Dataset{Rows: 10_000}
	require.NoError(b, data.load(e))
	a := &typed{raw{db: e, data: data}}
	i := 0
	for b.Loop() {
		if err := a.Get(i % data.Rows); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
