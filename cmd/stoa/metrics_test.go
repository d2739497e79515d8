package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column/readmetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/rpc/server"
)

// TestTheREADMEListsTheMetrics compares the table of README.md with what a daemon
// exports; -update writes it.
func TestTheREADMEListsTheMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	socket := servingWith(t, mem.New(), server.Options{Registry: registry})
	_, errs, code := stoa("status", "--socket", socket) // metrics of calls are there once there was one
	require.Zero(t, code, errs)
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Greater(t, len(families), 20)
	var rows strings.Builder
	for _, f := range families { // in the order of their names
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), strings.Join(labels, ", "), f.GetHelp())
	}
	readmetest.Table(t, *update, "metrics", "| Metric | Type | Labels | |\n|---|---|---|---|\n"+rows.String())
}
