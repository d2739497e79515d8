package daemon

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// callDoc is how one call went since the look before.
type callDoc struct {
	Call      string   `json:"call"`
	PerSecond float64  `json:"per_second"`
	Failed    float64  `json:"failed_per_second"`
	Mean      float64  `json:"mean_seconds"`
	P50       *float64 `json:"p50_seconds,omitempty"` // a bound of the histogram; not there: more than its last
	P99       *float64 `json:"p99_seconds,omitempty"` // likewise
}

// within writes a bound for people.
func within(seconds *float64) string {
	if seconds == nil {
		return "more"
	}
	return duration(*seconds)
}

// callCounts are the counters of each call since the daemon started.
type callCounts map[string]*callCount

type callCount struct {
	done, failed, seconds float64
	within                map[float64]float64 // by the bound in seconds
}

// readCalls asks the metrics socket of a daemon.
func readCalls(ctx context.Context, socket string) (callCounts, error) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://metrics/metrics", nil)
	if err != nil {
		return nil, err
	}
	res, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		return nil, cli.CannotOpen(fmt.Errorf("--metrics-socket %s: %w", socket, err))
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, cli.CannotOpen(fmt.Errorf("--metrics-socket %s: %s", socket, res.Status))
	}
	return parseCalls(res.Body)
}

// parseCalls reads what Prometheus is given; other metrics than those of calls are
// passed over.
func parseCalls(r io.Reader) (callCounts, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	all := callCounts{}
	for _, m := range families["grpc_server_handled_total"].GetMetric() {
		labels := labelsOf(m)
		c := all.of(labels)
		c.done += m.GetCounter().GetValue()
		if labels["grpc_code"] != "OK" {
			c.failed += m.GetCounter().GetValue()
		}
	}
	for _, m := range families["grpc_server_handling_seconds"].GetMetric() {
		c := all.of(labelsOf(m))
		c.seconds += m.GetHistogram().GetSampleSum()
		for _, b := range m.GetHistogram().GetBucket() {
			c.within[b.GetUpperBound()] += float64(b.GetCumulativeCount())
		}
	}
	return all, nil
}

func labelsOf(m *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
}

// of returns the counters of the call that the labels name.
func (all callCounts) of(labels map[string]string) *callCount {
	name := strings.TrimPrefix(labels["grpc_service"], "stoa.v1.") + "." + labels["grpc_method"]
	if all[name] == nil {
		all[name] = &callCount{within: map[float64]float64{}}
	}
	return all[name]
}

// bound returns the least bound of the histogram within which n calls were since an
// earlier look; nil if that is the last, which has no end.
func (c *callCount) bound(was *callCount, n float64) *float64 {
	best := math.Inf(1)
	for bound, count := range c.within {
		if count-was.within[bound] >= n {
			best = min(best, bound)
		}
	}
	if math.IsInf(best, 1) {
		return nil
	}
	return &best
}

// since returns the calls made since an earlier look, seconds ago, the busiest
// first. A daemon that was started anew counts from nothing.
func (now callCounts) since(before callCounts, seconds float64) (docs []callDoc) {
	for name, c := range now {
		was := before[name]
		if was == nil || was.done > c.done {
			was = &callCount{}
		}
		n := c.done - was.done
		if n <= 0 {
			continue
		}
		d := callDoc{Call: name, PerSecond: n / seconds, Failed: (c.failed - was.failed) / seconds, Mean: (c.seconds - was.seconds) / n}
		d.P50, d.P99 = c.bound(was, 0.5*n), c.bound(was, 0.99*n)
		docs = append(docs, d)
	}
	slices.SortFunc(docs, func(a, b callDoc) int {
		return cmp.Or(cmp.Compare(b.PerSecond, a.PerSecond), cmp.Compare(a.Call, b.Call))
	})
	return docs
}
