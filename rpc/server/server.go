// Package server serves an engine over a Unix socket.
//
// Start at New and Serve. Listen makes the socket; Activated takes one that
// systemd made. The services are methods of types of this package, one per
// service: store.go with scan.go and session.go, blob.go, admin.go. README.md of
// package rpc is the protocol.
package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Server serves one engine; see New.
type Server struct {
	eng engine.Engine
	o   Options
	log *slog.Logger

	grpc   *grpc.Server
	health *health.Server

	connections atomic.Int64
	inFlight    quota
	scans       quota
	sessions    quota
	transfers   quota
	snapshots   snapshots
	blobs       *blobStore

	stopping chan struct{} // closed when the server drains
	stopOnce sync.Once
	streams  sync.WaitGroup // goroutines that may touch the engine
}

// The windows are larger than a page, so that streams do not wait for window
// updates; that they are set at all turns off a probing that costs every call.
const (
	streamWindow = 4 << 20
	connWindow   = 8 << 20
)

// New returns a server of eng, which stays the caller's to close, after Serve
// has returned. It returns ErrOptions, and what keeps the spool of blobs from
// being made.
func New(eng engine.Engine, o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		eng: eng, o: o, log: o.Logger,
		inFlight:  quota{what: whatRequests, limit: o.MaxInFlight},
		scans:     quota{what: whatScans, limit: int64(o.MaxScans)},
		sessions:  quota{what: whatSessions, limit: int64(o.MaxSessions)},
		stopping:  make(chan struct{}),
		health:    health.NewServer(),
		transfers: quota{what: whatTransfers, limit: int64(o.Blobs.MaxTransfers)},
	}
	if s.blobs, err = newBlobStore(eng, o.Blobs, o.Logger); err != nil {
		return nil, err
	}
	s.snapshots.rand, s.snapshots.now = o.Rand, o.Now
	unary, stream, err := s.metrics(o.Registry)
	if err != nil {
		return nil, err
	}
	s.grpc = grpc.NewServer(
		grpc.Creds(&gate{
			allowUIDs: o.AllowUIDs, allowGIDs: o.AllowGIDs, peerOf: o.peerOf, log: o.Logger,
			limit: int64(o.MaxConnections), open: &s.connections,
		}),
		grpc.ChainUnaryInterceptor(append(unary, s.unary)...),
		grpc.ChainStreamInterceptor(append(stream, s.stream)...),
		grpc.MaxRecvMsgSize(rpc.MaxMessage),
		grpc.MaxSendMsgSize(rpc.MaxMessage),
		grpc.MaxConcurrentStreams(o.MaxStreams),
		grpc.MaxHeaderListSize(64<<10),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connWindow),
		grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0))),
		grpc.ConnectionTimeout(10*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true), // the engine is closed after Serve
	)
	stoav1.RegisterStoreServer(s.grpc, &storeService{s: s})
	stoav1.RegisterBlobServer(s.grpc, &blobService{s: s})
	stoav1.RegisterAdminServer(s.grpc, &adminService{s: s})
	grpc_health_v1.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	for name := range s.grpc.GetServiceInfo() {
		s.health.SetServingStatus(name, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	}
	s.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	return s, nil
}

// Serve answers those who connect to ln, until ctx is done, and then drains: it
// takes no new calls, lets those under way finish for Options.DrainTimeout, ends
// sessions, scans and transfers of blobs that hang with STOPPING, and closes ln.
// When it has returned, nothing touches the engine any more. It is called once.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- s.grpc.Serve(ln) }()
	s.health.Resume()
	s.sweepBlobs()
	stopWatchdog := s.startWatchdog()
	defer stopWatchdog()
	s.notify(notifyReady)

	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
		served <- err
	}
	s.notify(notifyStopping)
	s.drain()
	if failed := <-served; failed != nil && err != nil {
		return fmt.Errorf("server: serve: %w", failed)
	}
	return nil
}

func (s *Server) drain() {
	begun := s.o.Now()
	s.health.Shutdown()
	s.stopOnce.Do(func() { close(s.stopping) })
	hard := time.AfterFunc(s.o.DrainTimeout, func() {
		s.log.Warn("calls under way did not finish in time; they are cut off", "after", s.o.DrainTimeout)
		s.grpc.Stop()
	})
	defer hard.Stop()
	s.grpc.GracefulStop()
	s.streams.Wait()
	s.snapshots.closeAll()
	s.log.Info("drained", "took", s.o.Now().Sub(begun))
}

// errStopping ends what would go on for long when the server drains.
func errStopping() error {
	return rpc.NewError(stoav1.ErrorKind_ERROR_KIND_STOPPING, "rpc: unavailable: the daemon is shutting down")
}
