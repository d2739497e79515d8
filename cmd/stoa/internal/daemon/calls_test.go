package daemon

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// metricsText is what the metrics of a call look like after n calls of 3 ms, of
// which failed have failed.
func metricsText(n, failed string) string {
	labels := `grpc_method="Get",grpc_service="stoa.v1.Store",grpc_type="unary"`
	return "# HELP x y\nstoa_wal_bytes 7\n# TYPE grpc_server_handled_total counter\n" +
		`grpc_server_handled_total{grpc_code="OK",` + labels + "} " + n + "\n" +
		`grpc_server_handled_total{grpc_code="NotFound",` + labels + "} " + failed + "\n" +
		"# TYPE grpc_server_handling_seconds histogram\n" +
		`grpc_server_handling_seconds_bucket{` + labels + `,le="0.001"} 0` + "\n" +
		`grpc_server_handling_seconds_bucket{` + labels + `,le="0.005"} ` + n + "\n" +
		`grpc_server_handling_seconds_bucket{` + labels + `,le="+Inf"} ` + n + "\n" +
		`grpc_server_handling_seconds_sum{` + labels + "} 0.3e1\n"
}

func TestCallsAreTheDifferenceOfTwoLooks(t *testing.T) {
	before, err := parseCalls(strings.NewReader(metricsText("1000", "0")))
	require.NoError(t, err)
	now, err := parseCalls(strings.NewReader(strings.ReplaceAll(metricsText("3000", "4"), "0.3e1", "9.012")))
	require.NoError(t, err)
	docs := now.since(before, 2)
	require.Len(t, docs, 1)
	c := docs[0]
	require.Equal(t, "Store.Get", c.Call)
	require.InDelta(t, 1002, c.PerSecond, 1e-9)
	require.InDelta(t, 2, c.Failed, 1e-9)
	require.InDelta(t, 6.012/2004, c.Mean, 1e-9)
	require.NotNil(t, c.P99)
	require.InDelta(t, 0.005, *c.P99, 1e-12)
	require.Equal(t, "5ms", within(c.P99))

	require.Empty(t, now.since(now, 2), "calls that were not made are not listed")
	anew := before.since(now, 2) // the daemon was started again
	require.InDelta(t, 500, anew[0].PerSecond, 1e-9)
	slow, err := parseCalls(strings.NewReader(strings.ReplaceAll(metricsText("10", "0"), `le="0.005"} 10`, `le="0.005"} 9`)))
	require.NoError(t, err)
	require.Equal(t, "more", within(slow.since(nil, 1)[0].P99))
	_, err = parseCalls(strings.NewReader(metricsText("many", "0")))
	require.Error(t, err)
}
