// Package server serves an engine over a Unix socket.
//
// Start at New and Serve. Package socket makes the socket. Operations that package rpc
// describes are done by the packages of the domain; written by hand are those of Store
// (store.go with scan.go and session.go) and the streams on which clients send: in blob.go,
// dagadd.go, dagcompare.go, dagseed.go, namespaceapply.go and recordimport.go. Package internal/demux
// lets connections in and tells the framings apart, internal/framed serves calls in
// frames, internal/limit has the quotas. README.md of package rpc is the protocol.
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
	"google.golang.org/grpc/tap"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace/content"
	"github.com/stoadb/stoa/rpc/agents"
	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Server serves one engine; see New.
type Server struct {
	eng engine.Engine
	o   Options
	log *slog.Logger

	grpc    *grpc.Server          // of those who may do everything
	limited *grpc.Server          // of others
	methods map[string]*op.Method // those that package rpc describes
	framed  *framed.Server
	health  *health.Server

	codec  *wire.Codec
	active atomic.Int64 // calls whose handlers have not returned

	// What users take, and the quotas of which they do.
	shares      limit.Shares
	connections *limit.Quota
	calls       *limit.Quota
	grpcStreams *limit.Quota
	inFlight    *limit.Quota
	answers     *limit.Quota
	scans       *limit.Quota
	sessions    *limit.Quota
	transfers   *limit.Quota
	dagStreams  *limit.Quota
	kvStreams   *limit.Quota
	lockWaits   *limit.Quota
	govStreams  *limit.Quota
	snapshots   snapshots
	blobs       *blob.Store
	content     *content.Store // nil: no context has a group

	monitors  monitors
	readers   atomic.Int64 // connections that were handed shared rows
	slotted   atomic.Int64 // connections that have slots of shared memory
	slowCalls slowCalls

	stopping chan struct{} // closed when the server drains
	stopOnce sync.Once
	streams  sync.WaitGroup // goroutines that may touch the engine
}

// New returns a server of eng, which stays the caller's to close, after Serve
// has returned. It returns ErrOptions, and what keeps metrics from being registered.
func New(eng engine.Engine, o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		eng: eng, o: o, log: o.Logger,
		codec:    wire.NewCodec(),
		stopping: make(chan struct{}),
		methods:  make(map[string]*op.Method),
		health:   health.NewServer(),
	}
	s.makeQuotas()
	if s.blobs = o.Blobs; s.blobs == nil {
		if s.blobs, err = blob.Open(eng, blob.Options{Logger: o.Logger}); err != nil {
			return nil, err
		}
	}
	s.snapshots.rand, s.snapshots.now = o.Rand, o.Now
	unary, stream, err := s.metrics(o.Registry)
	if err != nil {
		return nil, err
	}
	unary, stream = append(unary, s.unary), append(stream, s.stream)
	s.framed = framed.New(framed.Options{
		Unary: unary, Stream: stream, InFlight: s.inFlight, Scans: s.scans, MaxStreams: o.MaxStreams, SessionIdle: o.SessionIdle,
		CallTimeout: o.CallTimeout, Stopping: s.stopping, Connections: s.connections, Stall: o.Stall, Log: s.log,
	})
	s.grpc = s.newGRPC(unary, stream, frame.MaxPayload, wire.StreamWindow, wire.ConnWindow)
	s.limited = s.newGRPC(unary, stream, int(min(o.MaxConnectionBytes, frame.MaxPayload)), limitedWindow, limitedConnWindow,
		grpc.InTapHandle(s.tapped))
	store := &storeService{s: s}
	s.register(&stoav1.Store_ServiceDesc, eng, store)
	s.framed.Straight(stoav1.Store_Get_FullMethodName, store.directGet())
	s.framed.Straight(stoav1.Store_MultiGet_FullMethodName, store.directMultiGet())
	s.framed.Straight(stoav1.Store_Scan_FullMethodName, store.directScan())
	s.framed.Straight(stoav1.Store_Apply_FullMethodName, store.directApply())
	if o.KV != nil {
		service := &kvService{s: s}
		s.register(&stoav1.Kv_ServiceDesc, o.KV, nil)
		s.framed.Straight(stoav1.Kv_Get_FullMethodName, service.directGet())
		s.framed.Straight(stoav1.Kv_Put_FullMethodName, service.directPut())
	}
	if o.Records != nil {
		s.register(&stoav1.Record_ServiceDesc, o.Records, &recordService{s: s})
	}
	if o.Policies != nil {
		s.register(&stoav1.Policy_ServiceDesc, o.Policies, nil)
		s.framed.Straight(stoav1.Policy_Decide_FullMethodName, s.directDecide())
	}
	if o.Locks != nil {
		s.register(&stoav1.Lock_ServiceDesc, o.Locks, nil)
	}
	if o.Limits != nil {
		s.register(&stoav1.Limit_ServiceDesc, o.Limits, nil)
	}
	if o.Events != nil {
		s.register(&stoav1.Event_ServiceDesc, o.Events, nil)
	}
	if o.Jobs != nil {
		s.register(&stoav1.Job_ServiceDesc, o.Jobs, nil)
	}
	if o.Buckets != nil {
		s.register(&stoav1.Bucket_ServiceDesc, o.Buckets, nil)
	}
	if o.Streams != nil {
		s.register(&stoav1.Stream_ServiceDesc, &agents.StreamStores{Store: o.Streams, Buckets: o.Buckets}, nil)
	}
	if o.Settings != nil {
		s.register(&stoav1.Setting_ServiceDesc, o.Settings, nil)
	}
	if o.Sessions != nil {
		s.register(&stoav1.Session_ServiceDesc, o.Sessions, nil)
	}
	if o.Approvals != nil {
		s.register(&stoav1.Task_ServiceDesc, o.Approvals, nil)
		s.register(&stoav1.Approval_ServiceDesc, o.Approvals, nil)
	}
	if o.Dag != nil && o.Namespaces != nil {
		s.content = content.New(eng, o.Dag, o.Namespaces, content.Options{Log: o.Logger})
		s.register(&stoav1.Content_ServiceDesc, s.content, nil)
		s.register(&stoav1.Sync_ServiceDesc, nil, &syncService{s: s})
	}
	if o.Dag != nil {
		s.register(&stoav1.Dag_ServiceDesc, s.contexts(), &dagService{s: s})
	}
	if o.Namespaces != nil {
		s.register(&stoav1.Namespace_ServiceDesc, o.Namespaces, &namespaceService{s: s})
		s.register(&stoav1.Group_ServiceDesc, o.Namespaces, nil)
	}
	s.register(&stoav1.Blob_ServiceDesc, s.blobs, &blobService{s: s})
	s.register(&stoav1.Admin_ServiceDesc, &admin{s}, nil)
	s.framed.Ready()
	for _, of := range []*grpc.Server{s.grpc, s.limited} {
		grpc_health_v1.RegisterHealthServer(of, s.health)
		reflection.Register(of)
	}
	for name := range s.grpc.GetServiceInfo() {
		s.health.SetServingStatus(name, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	}
	s.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	return s, nil
}

// The windows of connections whose peers may not do everything, in bytes: what they may send
// of messages that nobody has asked for yet. A message that is asked for may be larger.
const (
	limitedWindow     = 64 << 10
	limitedConnWindow = 1 << 20
)

// newGRPC returns a server of gRPC without services, that takes messages of so many bytes.
func (s *Server) newGRPC(unary []grpc.UnaryServerInterceptor, stream []grpc.StreamServerInterceptor, message int, window, connWindow int32, more ...grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append([]grpc.ServerOption{
		grpc.ForceServerCodecV2(s.codec),
		grpc.Creds(demux.Credentials{}),
		grpc.ChainUnaryInterceptor(unary...),
		grpc.ChainStreamInterceptor(stream...),
		grpc.MaxRecvMsgSize(message),
		grpc.MaxSendMsgSize(frame.MaxPayload),
		grpc.MaxConcurrentStreams(s.o.MaxStreams),
		grpc.MaxHeaderListSize(64 << 10),
		grpc.InitialWindowSize(window),
		grpc.InitialConnWindowSize(connWindow),
		grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0))),
		grpc.ConnectionTimeout(10 * time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true), // the engine is closed after Serve
	}, more...)...)
}

// tapped refuses a stream of gRPC before any of its messages has come: to a peer that has no role
// for it, or has as many as it may. Until its end it counts.
func (s *Server) tapped(ctx context.Context, info *tap.Info) (context.Context, error) {
	if err := s.permit(ctx, info.FullMethodName); err != nil {
		return ctx, err
	}
	a := accountOf(ctx)
	if err := s.grpcStreams.Take(a, 1); err != nil {
		return ctx, err
	}
	context.AfterFunc(ctx, func() { s.grpcStreams.Give(a, 1) })
	return ctx, nil
}

// makeQuotas makes the quotas of what users take.
func (s *Server) makeQuotas() {
	s.shares.Parts, s.shares.Shared = int64(s.o.Parts), s.o.Shared
	memory := func(what string, most int64) *limit.Quota { return s.shares.Quota(what, most, true) }
	count := func(what string, most int) *limit.Quota { return s.shares.Quota(what, int64(most), false) }
	s.connections = count(limit.WhatConnections, s.o.MaxConnections)
	s.calls = count(limit.WhatAllCalls, s.o.MaxCalls)
	s.grpcStreams = count(whatGRPCStreams, s.o.MaxGRPCStreams)
	s.inFlight = memory(limit.WhatRequests, s.o.MaxInFlight)
	s.answers = memory(limit.WhatAnswers, s.o.MaxInFlight)
	s.scans = count(limit.WhatScans, s.o.MaxScans)
	s.sessions = count(limit.WhatSessions, s.o.MaxSessions)
	s.transfers = count(whatTransfers, s.o.MaxTransfers)
	s.dagStreams = count(whatDagStreams, s.o.MaxDagStreams)
	s.kvStreams = count(whatKVStreams, s.o.MaxKVStreams)
	s.lockWaits = count(whatLockWaits, s.o.MaxLockWaits)
	s.govStreams = count(whatGovStreams, s.o.MaxGovStreams)
}

// Serve answers those who connect to ln, until ctx is done, and then drains: it
// takes no new calls, lets those under way finish for Options.DrainTimeout, ends
// sessions, scans and transfers of blobs that hang with STOPPING, and closes ln.
// When it has returned, nothing touches the engine any more. It is called once.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	served, limited := make(chan error, 1), make(chan error, 1)
	door := demux.New(ln, &demux.Admission{
		Peers: s.o.Peers, PeerOf: s.o.peerOf, Log: s.log, Shares: &s.shares, Connections: s.connections,
		Memory: s.o.MaxConnectionBytes, Requests: s.inFlight, Stall: s.o.Stall, Greeting: s.o.Greeting,
	}, s.framed.Serve, s.shareRows, s.sharePages)
	door.Start()
	go func() { served <- s.grpc.Serve(door) }()
	go func() { limited <- s.limited.Serve(door.Limited()) }()
	s.health.Resume()
	s.sweepBlobs()
	s.lookAtContent()
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
	s.drain(door)
	<-limited // as the other, which says what the listener failed with
	if failed := <-served; failed != nil && err != nil {
		return fmt.Errorf("server: serve: %w", failed)
	}
	return nil
}

// lookAtContent has what governance says of signed deltas be so, until the server drains.
func (s *Server) lookAtContent() {
	if s.content == nil || s.o.Dag.IsView() {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.streams.Go(func() { s.content.Run(ctx) })
	s.streams.Go(func() {
		<-s.stopping
		cancel()
	})
}

func (s *Server) drain(door *demux.Listener) {
	begun := s.o.Now()
	s.health.Shutdown()
	s.stopOnce.Do(func() { close(s.stopping) })
	door.Close() // gRPC says what the listener failed with
	s.framed.Drain()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		var both sync.WaitGroup
		both.Go(s.grpc.GracefulStop)
		both.Go(s.limited.GracefulStop)
		both.Wait()
		door.Wait()
	}()
	s.cutOff(drained)
	<-drained
	s.framed.End()
	s.streams.Wait()
	s.snapshots.closeAll()
	s.log.Info("drained", "took", s.o.Now().Sub(begun))
}

// drainTick is how often a draining server looks, and drainFlush how long the
// last answers may take to reach clients that read slowly, or not at all.
const (
	drainTick  = 10 * time.Millisecond
	drainFlush = time.Second
)

// cutOff hangs up on those who are left when the drain timeout is over, or when
// nothing is under way any more but answers that nobody reads.
func (s *Server) cutOff(drained <-chan struct{}) {
	timeout := time.NewTimer(s.o.DrainTimeout)
	defer timeout.Stop()
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	for quiet := time.Duration(0); quiet < drainFlush; {
		select {
		case <-drained:
			return
		case <-timeout.C:
			s.log.Warn("calls under way did not finish in time; they are cut off", "after", s.o.DrainTimeout, "calls", s.active.Load())
			s.hangUp()
			return
		case <-tick.C:
			if quiet += drainTick; s.active.Load() > 0 {
				quiet = 0
			}
		}
	}
	s.hangUp()
}

// hangUp ends all connections.
func (s *Server) hangUp() {
	s.framed.CutOff()
	s.grpc.Stop()
	s.limited.Stop()
}
