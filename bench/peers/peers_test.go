package main

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/bench"
)

// TestEveryWorkloadRunsOnEveryPeer runs each once, on few rows.
func TestEveryWorkloadRunsOnEveryPeer(t *testing.T) {
	r, err := bench.Run(bench.Options{Rows: 2000, Slice: 2 * time.Millisecond, Rounds: 1, Dir: t.TempDir(), Peers: open})
	require.NoError(t, err)
	require.Subset(t, r.Subjects, []string{"pebble", "bbolt", "bbolt-batch", "badger", "badger-synced", "etcd"})
	require.NotContains(t, r.Subjects, "mem")
	require.Len(t, r.Results, len(bench.RowWorkloadNames()))
	for _, res := range r.Results {
		var measured []string
		for _, m := range res.Measures {
			measured = append(measured, m.Subject)
			require.Positive(t, m.Wall.Median, "%s of %s", res.Workload, m.Subject)
		}
		require.Subset(t, measured, []string{"pebble", "bbolt"}, res.Workload)
		several := res.Workload == "put-synced-8" || res.Workload == "put-synced-64"
		require.Equal(t, several, slices.Contains(measured, "bbolt-batch"), res.Workload)
	}
}

// TestPeersHoldTheRows checks what the workloads only count.
func TestPeersHoldTheRows(t *testing.T) {
	data := &bench.Dataset{Rows: 2500}
	subjects, err := open(bench.Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}, data)
	require.NoError(t, err)
	for i, s := range subjects {
		if slices.Contains(s.Lacks, "get") || s.Name == "redis" {
			continue // it has no rows, or is not of this package
		}
		another := 2*data.Rows + i // some share a store
		t.Run(s.Name, func(t *testing.T) {
			a, err := s.Actor()
			require.NoError(t, err)
			for row := range data.Rows {
				require.NoError(t, a.Get(row))
				require.NoError(t, a.Miss(data.Rows+row))
				require.ErrorIs(t, a.Miss(row), errStored)
				require.Error(t, a.Get(data.Rows+row))
			}
			require.Error(t, a.MultiGet([]int{0, data.Rows}))
			n, err := a.Scan(0, 2)
			require.NoError(t, err)
			require.Positive(t, n)
			require.NoError(t, a.PutSynced(another))
			require.NoError(t, a.Get(another))
			n, err = a.Walk()
			require.NoError(t, err)
			require.GreaterOrEqual(t, n, data.Rows+1)
			require.NoError(t, a.Release())
			if s.Settle != nil {
				require.NoError(t, s.Settle())
			}
		})
	}
	for _, s := range subjects {
		require.NoError(t, s.Close())
	}
}
