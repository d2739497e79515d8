// Package framed serves connections that speak frames (package frame): the services
// that gRPC serves, behind the same interceptors, in less time for a call. Start at
// [New]; the methods of services are made known by [Server.Register], those that have a
// shorter way by [Server.Straight]. Each connection is read by one goroutine, the hand,
// which answers short calls itself.
package framed

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/shm"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
)

// Options are what a Server takes from the server that it is a part of. All are set.
type Options struct {
	// Unary and Stream are around every call, the first outermost.
	Unary  []grpc.UnaryServerInterceptor
	Stream []grpc.StreamServerInterceptor

	InFlight    *limit.Quota  // bytes of requests under way
	Scans       *limit.Quota  // open scans, which say how large their pages are
	MaxStreams  uint32        // calls that a connection may have under way
	SessionIdle time.Duration // how long a peer may take no answers
	CallTimeout time.Duration // of short calls whose client sets no deadline

	Stopping    <-chan struct{} // closed when the server drains
	Connections *limit.Quota    // open ones, of both framings
	Stall       time.Duration   // how long a payload that has begun may stand still
	Log         *slog.Logger
}

// Server serves the connections that speak frames: the same services behind the
// same interceptors as gRPC's.
type Server struct {
	o        Options
	codec    *wire.Codec
	unary    grpc.UnaryServerInterceptor
	stream   grpc.StreamServerInterceptor
	methods  map[uint16]*method
	greeting []byte
	workers  *workers

	mu       sync.Mutex
	conns    map[*connection]struct{}
	draining bool // no more are taken
}

// method is a call that goes in frames.
type method struct {
	*op.Method
	service any
	unary   *grpc.MethodDesc // nil: it is a stream
	stream  *grpc.StreamDesc
	info    *grpc.UnaryServerInfo
	direct  *Direct // nil: by way of the generated code

	durability protowire.Number // the field of the request of a Brief call; 0: it is none
}

// takesMany tells whether the client may send many messages.
func (m *method) takesMany() bool { return m.stream != nil && m.stream.ClientStreams }

// New returns a server without methods.
func New(o Options) *Server {
	return &Server{
		o: o, codec: wire.NewCodec(), unary: chainUnary(o.Unary), stream: chainStream(o.Stream),
		methods: make(map[uint16]*method), conns: make(map[*connection]struct{}), workers: newWorkers(),
	}
}

// Register adds the methods of a service that go in frames.
func (f *Server) Register(d *grpc.ServiceDesc, service any) {
	for _, e := range op.Entries(d.ServiceName) {
		m := e.About()
		for i := range d.Methods {
			if m.Full() == "/"+d.ServiceName+"/"+d.Methods[i].MethodName {
				one := &method{Method: m, service: service, unary: &d.Methods[i],
					info: &grpc.UnaryServerInfo{Server: service, FullMethod: m.Full()}}
				if m.Brief {
					one.durability = m.DurabilityField()
				}
				f.methods[m.Number] = one
			}
		}
		for i := range d.Streams {
			if m.Full() == "/"+d.ServiceName+"/"+d.Streams[i].StreamName {
				f.methods[m.Number] = &method{Method: m, service: service, stream: &d.Streams[i],
					info: &grpc.UnaryServerInfo{Server: service, FullMethod: m.Full()}}
			}
		}
	}
}

// Straight has a method that is registered answered by d.
func (f *Server) Straight(name string, d *Direct) {
	for _, m := range f.methods {
		if m.Full() == name {
			m.direct = d
		}
	}
}

// Ready makes the greeting, once all methods are registered.
func (f *Server) Ready() {
	g := frame.Greeting{Calls: f.o.MaxStreams, Message: frame.MaxPayload, Window: frame.Window, ClientWindow: frame.Window}
	g.Methods = slices.Sorted(maps.Keys(f.methods))
	f.greeting = g.Append([]byte(frame.Magic))
}

// Serve serves a connection until it ends, and nothing of it is under way.
func (f *Server) Serve(nc *demux.Conn) { f.ServeSlots(nc, nil) }

// ServeSlots is Serve of a connection whose client has been handed slots, through which long scans
// go, one at a time. It closes them.
func (f *Server) ServeSlots(nc *demux.Conn, slots *shm.Pages) {
	defer nc.Close()
	defer slots.Close()
	c := newConnection(f, nc)
	c.slots = slots
	if !f.enter(c) {
		nc.Write(demux.RefusalOf(limit.Stopping())) // it is hung up on either way
		return
	}
	defer f.leave(c)
	c.serve()
}

func (f *Server) enter(c *connection) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.draining {
		return false
	}
	f.conns[c] = struct{}{}
	return true
}

func (f *Server) leave(c *connection) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
}

// Drain takes no more connections, and ends those that have nothing under way;
// the others end when they have not. The server is stopping.
func (f *Server) Drain() {
	f.mu.Lock()
	f.draining = true
	f.mu.Unlock()
	f.all((*connection).endIfQuiet)
}

// CutOff ends all connections.
func (f *Server) CutOff() { f.all((*connection).end) }

// End ends the goroutines that are kept for calls to come. All connections have ended.
func (f *Server) End() { f.workers.end() }

func (f *Server) all(do func(*connection)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		do(c)
	}
}

// chainUnary makes one interceptor of many, the first outermost.
func chainUnary(all []grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	if len(all) == 1 {
		return all[0]
	}
	rest := chainUnary(all[1:])
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		return all[0](ctx, req, info, func(ctx context.Context, req any) (any, error) { return rest(ctx, req, info, next) })
	}
}

func chainStream(all []grpc.StreamServerInterceptor) grpc.StreamServerInterceptor {
	if len(all) == 1 {
		return all[0]
	}
	rest := chainStream(all[1:])
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		return all[0](srv, ss, info, func(srv any, ss grpc.ServerStream) error { return rest(srv, ss, info, next) })
	}
}
