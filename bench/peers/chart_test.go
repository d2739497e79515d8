package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/bench"
)

func TestChartsAreDrawnOfAReportThatWasSaved(t *testing.T) {
	dir := t.TempDir()
	r := &bench.Report{Rows: 10, Results: []bench.Result{
		{Workload: "get", Unit: "get", Measures: []bench.Measure{
			{Subject: "rpc", Wall: bench.Spread{Median: 2000, Min: 1000, Max: 4000}}, {Subject: "redis", Wall: bench.Spread{Median: 1, Min: 1, Max: 1}},
		}},
		{Workload: "figures", Unit: "row"},
		{Workload: "grow", Unit: "row", Curves: []bench.Curve{
			{Name: "disk", Unit: "MiB", Subject: "rpc", Points: []bench.Point{{Rows: 1000, Value: 1}, {Rows: 10000, Value: 8}}},
		}},
	}}
	require.NoError(t, r.Save(dir))
	require.NoError(t, drawSaved(dir))
	for _, name := range []string{"get.svg", "grow-disk.svg"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Regexp(t, "^<\\?xml", string(b))
	}
	require.NoFileExists(t, filepath.Join(dir, "figures.svg"))
	require.ErrorContains(t, drawSaved(filepath.Join(dir, "none")), "drawing charts")
}
