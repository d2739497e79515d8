package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/bench"
	"github.com/stoadb/stoa/engine/enginetest"
)

// Every workload of the services of tenants runs on a daemon of its own, and has figures.
func TestTheServicesOfTenantsAreMeasured(t *testing.T) {
	if !hasRocks {
		t.Skip("they are measured on RocksDB")
	}
	enginetest.SkipUnderRace(t, "figures; package rpc/server tests the service")
	var names []string
	for _, name := range bench.WorkloadNames() {
		for _, of := range []string{"kv-", "record-", "policy-", "ledger-", "lock-", "limit-"} {
			if strings.HasPrefix(name, of) {
				names = append(names, name)
			}
		}
	}
	cmd := enginetest.EndWithParent(exec.Command("stoa", "bench", "--json", "--rows", "2000", "--slice", "2ms", "--rounds", "1", "--workload", strings.Join(names, ",")))
	dir, err := os.MkdirTemp("", "st") // short enough for sockets
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &said)
	var report bench.Report
	require.NoError(t, json.Unmarshal(out, &report))
	require.Len(t, report.Results, len(names))
	for _, r := range report.Results {
		require.NotEmpty(t, r.Measures, r.Workload)
		if r.Workload == "kv-ttl" || len(r.Measures) > 1 {
			require.NotEmpty(t, r.Figures, r.Workload)
		}
		for _, m := range r.Measures {
			require.True(t, r.Workload == "kv-ttl" || m.Wall.Median > 0, "%s of %s", r.Workload, m.Subject)
		}
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "what was made is deleted")
}
