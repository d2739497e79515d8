package server

import (
	"errors"
	"fmt"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/stoadb/stoa/engine"
)

// callBuckets are the bounds of the histogram of call times, in seconds: a read
// takes some tens of microseconds, a synced write milliseconds.
var callBuckets = []float64{25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 100e-3, 1, 10}

// metrics registers the metrics of the server, and returns the interceptors that
// feed them. Without a registry there are none.
func (s *Server) metrics(to prometheus.Registerer) ([]grpc.UnaryServerInterceptor, []grpc.StreamServerInterceptor, error) {
	if to == nil {
		return nil, nil, nil
	}
	calls := grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram(grpcprom.WithHistogramBuckets(callBuckets)))
	if err := errors.Join(to.Register(calls), to.Register(&collector{s: s}), to.Register(buildInfo(&s.o.Info))); err != nil {
		return nil, nil, fmt.Errorf("server: register metrics: %w", err)
	}
	return []grpc.UnaryServerInterceptor{calls.UnaryServerInterceptor()},
		[]grpc.StreamServerInterceptor{calls.StreamServerInterceptor()}, nil
}

// buildInfo tells what the daemon is by the labels of a gauge that is always 1, as is usual.
func buildInfo(i *Info) prometheus.Collector {
	date := ""
	if !i.Date.IsZero() {
		date = i.Date.UTC().Format(time.RFC3339)
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "stoa_build_info", Help: "1, with what the program was built of as labels.",
		ConstLabels: prometheus.Labels{"version": i.Version, "commit": i.Commit, "date": date, "engine": i.Engine},
	}, func() float64 { return 1 })
}

// collector reads the gauges of the server and of its engine when it is asked.
type collector struct{ s *Server }

// gauge is a metric without labels but, maybe, a column.
type gauge struct {
	desc *prometheus.Desc
	of   func(*Server, *engine.Stats) float64
	each func(*engine.ColumnStats) float64 // per column
}

func newGauge(name, help string, of func(*Server, *engine.Stats) float64) gauge {
	return gauge{desc: prometheus.NewDesc("stoa_"+name, help, nil, nil), of: of}
}

func newColumnGauge(name, help string, each func(*engine.ColumnStats) float64) gauge {
	return gauge{desc: prometheus.NewDesc("stoa_column_"+name, help, []string{"column"}, nil), each: each}
}

// gauges is never written to.
var gauges = []gauge{
	newGauge("connections", "Open connections.", func(s *Server, _ *engine.Stats) float64 { return float64(s.connections.Used()) }),
	newGauge("in_flight_bytes", "Bytes of requests under way.", func(s *Server, _ *engine.Stats) float64 { return float64(s.inFlight.Used()) }),
	newGauge("scans", "Open scans.", func(s *Server, _ *engine.Stats) float64 { return float64(s.scans.Used()) }),
	newGauge("slotted_connections", "Connections that long scans go over by shared memory.", func(s *Server, _ *engine.Stats) float64 { return float64(s.slotted.Load()) }),
	newGauge("sessions", "Open sessions.", func(s *Server, _ *engine.Stats) float64 { return float64(s.sessions.Used()) }),
	newGauge("blob_transfers", "Uploads, downloads and verifications of blobs under way.", func(s *Server, _ *engine.Stats) float64 { return float64(s.transfers.Used()) }),
	newGauge("session_snapshots", "Snapshots that sessions hold.", func(s *Server, _ *engine.Stats) float64 { return float64(s.snapshots.count()) }),
	newGauge("writable", "1 if the store takes writes.", func(s *Server, _ *engine.Stats) float64 { return truth(s.eng.Health().Writable) }),
	newGauge("sequence", "Changes made since the store was made.", func(_ *Server, e *engine.Stats) float64 { return float64(e.Sequence) }),
	newGauge("wal_bytes", "Write-ahead log on disk.", func(_ *Server, e *engine.Stats) float64 { return float64(e.WALBytes) }),
	newGauge("memtable_bytes", "What is not in tables yet.", func(_ *Server, e *engine.Stats) float64 { return float64(e.MemtableBytes) }),
	newGauge("cache_bytes", "Block cache in use.", func(_ *Server, e *engine.Stats) float64 { return float64(e.CacheBytes) }),
	newGauge("cache_capacity_bytes", "Size of the block cache.", func(_ *Server, e *engine.Stats) float64 { return float64(e.CacheCapacity) }),
	newGauge("snapshots", "Open snapshots of the engine.", func(_ *Server, e *engine.Stats) float64 { return float64(e.Snapshots) }),
	newGauge("writes_stopped", "1 while writes wait for compaction.", func(_ *Server, e *engine.Stats) float64 { return truth(e.Stopped) }),
	newColumnGauge("keys", "Keys, estimated.", func(c *engine.ColumnStats) float64 { return float64(c.Keys) }),
	newColumnGauge("table_bytes", "Tables on disk.", func(c *engine.ColumnStats) float64 { return float64(c.TableBytes) }),
	newColumnGauge("blob_bytes", "Blob files on disk.", func(c *engine.ColumnStats) float64 { return float64(c.BlobBytes) }),
	newColumnGauge("memtable_bytes", "What is not in tables yet.", func(c *engine.ColumnStats) float64 { return float64(c.MemtableBytes) }),
	newColumnGauge("pending_compaction_bytes", "What compaction still has to rewrite.", func(c *engine.ColumnStats) float64 { return float64(c.PendingCompaction) }),
	newColumnGauge("tables", "Tables.", func(c *engine.ColumnStats) float64 { return float64(c.Tables) }),
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Describe tells what the metrics are, as [prometheus.Collector] has it.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for i := range gauges {
		to <- gauges[i].desc
	}
}

// Collect tells the metrics, as [prometheus.Collector] has it. What a closed engine no longer knows is
// left out.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	st, err := c.s.eng.Stats()
	if err != nil {
		c.s.log.Warn("no metrics of the engine", "error", err)
		return
	}
	for i := range gauges {
		g := &gauges[i]
		if g.of != nil {
			to <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.of(c.s, &st))
			continue
		}
		for j := range st.Columns {
			col := &st.Columns[j]
			to <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.each(col), col.Column.String())
		}
	}
}
