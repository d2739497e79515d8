package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
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
		return nil, cannotOpen(fmt.Errorf("--metrics-socket %s: %w", socket, err))
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, cannotOpen(fmt.Errorf("--metrics-socket %s: %s", socket, res.Status))
	}
	return parseCalls(res.Body)
}

// parseCalls reads what Prometheus is given; other metrics than those of calls are
// passed over.
func parseCalls(r io.Reader) (callCounts, error) {
	sample := regexp.MustCompile(`^grpc_server_(handled_total|handling_seconds_bucket|handling_seconds_sum)\{(.*)\} (\S+)$`)
	label := regexp.MustCompile(`(\w+)="([^"]*)"`)
	all := callCounts{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		found := sample.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		labels := map[string]string{}
		for _, l := range label.FindAllStringSubmatch(found[2], -1) {
			labels[l[1]] = l[2]
		}
		value, err := strconv.ParseFloat(found[3], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics: %q: %w", lines.Text(), err)
		}
		name := strings.TrimPrefix(labels["grpc_service"], "stoa.v1.") + "." + labels["grpc_method"]
		if all[name] == nil {
			all[name] = &callCount{within: map[float64]float64{}}
		}
		all[name].add(found[1], labels, value)
	}
	return all, lines.Err()
}

func (c *callCount) add(metric string, labels map[string]string, value float64) {
	switch metric {
	case "handled_total":
		c.done += value
		if labels["grpc_code"] != "OK" {
			c.failed += value
		}
	case "handling_seconds_sum":
		c.seconds += value
	case "handling_seconds_bucket":
		if bound, err := strconv.ParseFloat(labels["le"], 64); err == nil { // the format has no other
			c.within[bound] += value
		}
	}
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
