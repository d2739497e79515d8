package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/server/socket"
	"github.com/stoadb/stoa/rpc/stoav1"
)

func TestHealthAndReflectionAnswer(t *testing.T) {
	conn := start(t, nil, Options{}).bare(t)
	health := grpc_health_v1.NewHealthClient(conn)
	for _, name := range []string{"", "stoa.v1.Store", "stoa.v1.Blob", "stoa.v1.Admin"} {
		res, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: name})
		require.NoError(t, err)
		require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, res.GetStatus(), name)
	}
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}))
	res, err := stream.Recv()
	require.NoError(t, err)
	names := ""
	for _, s := range res.GetListServicesResponse().GetService() {
		names += " " + s.GetName()
	}
	require.Contains(t, names, "stoa.v1.Store")
	require.NoError(t, stream.CloseSend())
}

func TestStatusTellsWhatTheDaemonIs(t *testing.T) {
	began := time.Unix(1_700_000_000, 0)
	c := start(t, nil, Options{Info: Info{
		Version: "v0", Engine: "mem", NodeID: strings.Repeat("0f", 16), SchemaVersion: 1, Started: began,
		Recovery: &stoav1.Recovery{Clean: true, Sequence: 5},
		Disk:     func() (uint64, uint64, error) { return 10, 3, nil },
	}}).dial(t)
	s, err := c.Status(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, apiVersion, s.GetApiVersion())
	require.EqualValues(t, 1, s.GetSchemaVersion())
	require.EqualValues(t, os.Getpid(), s.GetPid())
	require.Equal(t, []string{"blob", "blob-verify", "find", "frames", "health", "reflection", "session", "snapshot"}, s.GetFeatures(), "no contexts are served here")
	require.True(t, s.GetHealth().GetWritable())
	require.True(t, s.GetStarted().AsTime().Equal(began))
	require.True(t, s.GetRecovery().GetClean())
	require.EqualValues(t, 10, s.GetDisk().GetFree())
}

func TestMaintenanceOverTheSocket(t *testing.T) {
	c := start(t, nil, Options{}).dial(t)
	put(t, c.Store(t.Context()), "a", "1")
	st, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, st.Sequence)
	require.Len(t, st.Columns, column.Count)
	require.EqualValues(t, 1, st.Columns[column.Generic-1].Keys)
	require.NoError(t, c.Flush(t.Context()))
	require.NoError(t, c.Compact(t.Context(), 0, engine.Range{}))
	require.NoError(t, c.Compact(t.Context(), column.Generic, engine.Prefixed(row(""))))
	require.ErrorIs(t, c.Compact(t.Context(), 0, engine.Range{Start: []byte{1}}), rpc.ErrRequest)
	h, err := c.Reopen(t.Context())
	require.NoError(t, err)
	require.True(t, h.Writable)
	n, err := c.Store(t.Context()).ApproximateSize(column.Generic, engine.Range{})
	require.NoError(t, err)
	require.EqualValues(t, 18, n)
}

// slowEngine has once written slowly.
type slowEngine struct{ engine.Engine }

func (e slowEngine) Stats() (engine.Stats, error) {
	s, err := e.Engine.Stats()
	s.SlowWrite = engine.SlowWrite{Ended: time.Now(), Took: time.Second}
	return s, err
}

// A write that was slow is for the daemon's own log: it does not keep others from its counts.
func TestStatsAreToldAfterASlowWrite(t *testing.T) {
	c := start(t, slowEngine{mem.New()}, Options{}).dial(t)
	put(t, c.Store(t.Context()), "a", "1")
	st, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, st.Sequence)
	require.Zero(t, st.SlowWrite)
}

func TestGarbageOnTheSocketDisturbsNobody(t *testing.T) {
	d := start(t, nil, Options{})
	c := d.dial(t)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			conn, err := net.Dial("unix", d.path)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			if i%2 == 0 {
				io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
			}
			io.CopyN(conn, rand.Reader, 64<<10)
		})
		fine(t, c)
	}
	all.Wait()
	fine(t, c)
}

func TestMetricsAndProfilesAreServedOnTheirOwnSocket(t *testing.T) {
	registry := prometheus.NewRegistry()
	committed := time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)
	d := start(t, nil, Options{Registry: registry, Info: Info{Version: "v1.2.3", Commit: "b1f1d36", Date: committed, Engine: "stub"}})
	c := d.dial(t)
	fine(t, c)
	status, err := c.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, "b1f1d36", status.Commit)
	require.Equal(t, committed, status.Date.AsTime())
	ln, err := socket.Listen(socketDir(t)+"/m", socket.Options{})
	require.NoError(t, err)
	path := ln.Path()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- ServeMetrics(ctx, ln, registry) }()
	h := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
	read := func(url string) string {
		res, err := h.Get("http://stoa" + url)
		require.NoError(t, err)
		defer res.Body.Close()
		require.Equal(t, http.StatusOK, res.StatusCode)
		b, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return string(b)
	}
	text := read("/metrics")
	require.Contains(t, text, `grpc_server_handled_total{grpc_code="OK",grpc_method="Apply",grpc_service="stoa.v1.Store",grpc_type="unary"} 1`)
	require.Contains(t, text, `stoa_column_keys{column="Generic"} 1`)
	require.Contains(t, text, "stoa_connections 1")
	require.Contains(t, text, "stoa_writable 1")
	require.Contains(t, text, `stoa_build_info{commit="b1f1d36",date="2026-11-29T20:00:00Z",engine="stub",version="v1.2.3"} 1`)
	require.Contains(t, read("/debug/pprof/goroutine?debug=1"), "goroutine profile")
	cancel()
	require.NoError(t, <-served)
	require.NoFileExists(t, path)
	_, err = New(newStub(), Options{Registry: registry})
	require.Error(t, err, "one server to a registry")
}

func TestCallsCountAlikeInBothFramings(t *testing.T) {
	counted := func(f rpc.Framing) map[string]string {
		registry := prometheus.NewRegistry()
		d := start(t, nil, Options{Registry: registry})
		c := d.dialAs(t, f)
		put(t, c.Store(t.Context()), "a", "1")
		for range 3 {
			_, err := c.Store(t.Context()).Get(nil, column.Generic, row("a"))
			require.NoError(t, err)
		}
		_, err := c.Store(t.Context()).Get(nil, column.Generic, row("none"))
		require.ErrorIs(t, err, engine.ErrNotFound)
		var refused engine.Batch
		refused.ExpectAbsent(column.Generic, row("a"))
		require.ErrorIs(t, c.Store(t.Context()).Apply(&refused), engine.ErrConflict)
		it, err := c.Store(t.Context()).Iterate(column.Generic, engine.Range{})
		require.NoError(t, err)
		for it.Next() {
		}
		require.NoError(t, it.Close())
		require.NoError(t, c.Close())
		d.stop() // a stream is counted when it has ended
		families, err := registry.Gather()
		require.NoError(t, err)
		found := map[string]string{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				n := m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
				if strings.HasPrefix(f.GetName(), "grpc_server") && strings.Contains(fmt.Sprint(m.GetLabel()), "stoa.v1.Store") && n > 0 {
					found[f.GetName()+fmt.Sprint(m.GetLabel())] = fmt.Sprint(n)
				}
			}
		}
		return found
	}
	frames := counted(rpc.FramingFrames)
	require.Equal(t, counted(rpc.FramingGRPC), frames)
	require.Greater(t, len(frames), 8)
}

func TestSystemdIsNotified(t *testing.T) {
	ln := listenForNotifications(t)
	d := start(t, nil, Options{})
	next := func() string {
		b := make([]byte, 64)
		require.NoError(t, ln.SetReadDeadline(time.Now().Add(patience)))
		n, err := ln.Read(b)
		require.NoError(t, err)
		return string(b[:n])
	}
	seen := map[string]bool{}
	for !seen["READY=1"] || !seen["WATCHDOG=1"] {
		seen[next()] = true
	}
	stopped := make(chan struct{})
	go func() { d.stop(); close(stopped) }()
	for next() != "STOPPING=1" {
	}
	for open := true; open; { // few are kept that nobody reads
		_ = ln.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, _ = ln.Read(make([]byte, 64))
		select {
		case <-stopped:
			open = false
		default:
		}
	}
}

// listenForNotifications has the processes of the test notify it in place of systemd.
func listenForNotifications(t *testing.T) *net.UnixConn {
	path := socketDir(t) + "/n"
	ln, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "20000")
	return ln
}

// A systemd that takes no notification holds up nobody.
func TestSystemdThatDoesNotListen(t *testing.T) {
	ln := listenForNotifications(t)
	conn, err := net.DialUnix("unixgram", nil, ln.LocalAddr().(*net.UnixAddr))
	require.NoError(t, err)
	defer conn.Close()
	for err == nil { // until no more are kept
		require.NoError(t, conn.SetWriteDeadline(time.Now().Add(10*time.Millisecond)))
		_, err = conn.Write([]byte("x"))
	}
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	start(t, nil, Options{}).stop()
}

// What a server has not is no service of it.
func TestAServerHasTheServicesOfWhatItWasGiven(t *testing.T) {
	d := start(t, nil, Options{})
	require.Equal(t, []string{"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection", "stoa.v1.Admin", "stoa.v1.Blob", "stoa.v1.Store"},
		slices.Sorted(maps.Keys(d.grpc.GetServiceInfo())))
}
