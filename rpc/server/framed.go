package server

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
)

// framed serves the connections that speak frames: the same services behind the
// same interceptors as gRPC's.
type framed struct {
	s        *Server
	codec    *wire.Codec
	unary    grpc.UnaryServerInterceptor
	stream   grpc.StreamServerInterceptor
	methods  map[uint16]*method
	greeting []byte
	workers  *workers

	mu       sync.Mutex
	conns    map[*framedConn]struct{}
	draining bool // no more are taken
}

// method is a call that goes in frames.
type method struct {
	frame.Method
	service any
	unary   *grpc.MethodDesc // nil: it is a stream
	stream  *grpc.StreamDesc
	info    *grpc.UnaryServerInfo
	direct  *direct // nil: by way of the generated code
}

// takesMany tells whether the client may send many messages.
func (m *method) takesMany() bool { return m.stream != nil && m.stream.ClientStreams }

func newFramed(s *Server, unary []grpc.UnaryServerInterceptor, stream []grpc.StreamServerInterceptor) *framed {
	return &framed{
		s: s, codec: wire.NewCodec(), unary: chainUnary(unary), stream: chainStream(stream),
		methods: make(map[uint16]*method), conns: make(map[*framedConn]struct{}), workers: newWorkers(),
	}
}

// register adds the methods of a service that go in frames.
func (f *framed) register(d *grpc.ServiceDesc, service any) {
	for _, m := range rpc.FrameMethods() {
		for i := range d.Methods {
			if m.Name == "/"+d.ServiceName+"/"+d.Methods[i].MethodName {
				f.methods[m.Number] = &method{Method: m, service: service, unary: &d.Methods[i],
					info: &grpc.UnaryServerInfo{Server: service, FullMethod: m.Name}}
			}
		}
		for i := range d.Streams {
			if m.Name == "/"+d.ServiceName+"/"+d.Streams[i].StreamName {
				f.methods[m.Number] = &method{Method: m, service: service, stream: &d.Streams[i]}
			}
		}
	}
}

// straight has a method that is registered answered by d.
func (f *framed) straight(name string, d *direct) {
	for _, m := range f.methods {
		if m.Name == name {
			m.direct = d
		}
	}
}

// ready makes the greeting, once all methods are registered.
func (f *framed) ready() {
	g := frame.Greeting{Calls: f.s.o.MaxStreams, Message: rpc.MaxMessage, Window: frame.Window, ClientWindow: frame.Window}
	for _, m := range rpc.FrameMethods() {
		if f.methods[m.Number] != nil {
			g.Methods = append(g.Methods, m.Number)
		}
	}
	f.greeting = g.Append([]byte(frame.Magic))
}

// serve serves a connection until it ends, and nothing of it is under way.
func (f *framed) serve(nc *admitted) {
	defer nc.Close()
	c := newFramedConn(f, nc)
	if !f.enter(c) {
		nc.Write(refusalOf(limit.Stopping())) // it is hung up on either way
		return
	}
	defer f.leave(c)
	c.serve()
}

func (f *framed) enter(c *framedConn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.draining {
		return false
	}
	f.conns[c] = struct{}{}
	return true
}

func (f *framed) leave(c *framedConn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
}

// drain takes no more connections, and ends those that have nothing under way;
// the others end when they have not. The server is stopping.
func (f *framed) drain() {
	f.mu.Lock()
	f.draining = true
	f.mu.Unlock()
	f.all((*framedConn).endIfQuiet)
}

// cutOff ends all connections.
func (f *framed) cutOff() { f.all((*framedConn).end) }

func (f *framed) all(do func(*framedConn)) {
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
