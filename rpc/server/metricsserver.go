package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ServeMetrics answers HTTP on ln until ctx is done, and closes it: /metrics has
// what from gathers, for Prometheus, and /debug/pprof/ the profiles of the
// process. Profiles may hold anything that is in memory: ln is a socket that
// only the server's own user reaches, as Listen makes it by default.
func ServeMetrics(ctx context.Context, ln net.Listener, from prometheus.Gatherer) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(from, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	h := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- h.Serve(ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("server: metrics: %w", err)
	case <-ctx.Done():
	}
	if err := h.Close(); err != nil {
		return fmt.Errorf("server: metrics: %w", err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("server: metrics: %w", err)
	}
	return nil
}
