package server

import (
	"context"
	"strings"

	"google.golang.org/grpc"

	_ "github.com/stoadb/stoa/rpc" // describes the operations
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
)

// register adds a service whose operations package rpc describes, to both framings.
// domain is what does them; byHand, an implementation of the generated interface, those
// of package op's Hand.
func (s *Server) register(generated *grpc.ServiceDesc, domain, byHand any) {
	d := s.described(generated, byHand)
	s.grpc.RegisterService(d, domain)
	s.limited.RegisterService(d, domain)
	s.framed.Register(d, domain)
}

// described returns a service as package rpc describes it.
func (s *Server) described(generated *grpc.ServiceDesc, byHand any) *grpc.ServiceDesc {
	d := &grpc.ServiceDesc{ServiceName: generated.ServiceName, HandlerType: (*any)(nil), Metadata: generated.Metadata}
	for _, o := range op.Entries(d.ServiceName) {
		if _, ok := o.(*op.Hand); ok {
			registerByHand(d, generated, byHand, o.About().Full())
		}
		o.Register(s, d)
		s.methods[o.About().Full()] = o.About()
	}
	return d
}

// registerByHand adds to d the method that is called so, which service handles.
func registerByHand(d, generated *grpc.ServiceDesc, service any, full string) {
	for _, method := range generated.Methods {
		if full == "/"+d.ServiceName+"/"+method.MethodName {
			handle := method.Handler
			method.Handler = func(_ any, ctx context.Context, decode func(any) error, around grpc.UnaryServerInterceptor) (any, error) {
				return handle(service, ctx, decode, around)
			}
			d.Methods = append(d.Methods, method)
		}
	}
	for _, stream := range generated.Streams {
		if full == "/"+d.ServiceName+"/"+stream.StreamName {
			handle := stream.Handler
			stream.Handler = func(_ any, ss grpc.ServerStream) error { return handle(service, ss) }
			d.Streams = append(d.Streams, stream)
		}
	}
}

// Admit refuses a call about what is not for its peer, whose role is known to fit; see [op.Host].
func (s *Server) Admit(ctx context.Context, m *op.Method, in any) (context.Context, error) {
	if d, ok := in.(op.Demanding); ok {
		if who, _ := framed.PeerFrom(ctx); !who.Rights.May(d.Demands()) {
			return ctx, errRole(d.Demands(), who, m.Name+" with what it is asked for")
		}
	}
	if !m.Tenant {
		return ctx, nil
	}
	name := in.(op.Tenanted).TenantName()
	tenant, err := s.tenantOf(ctx, *name)
	if err != nil {
		return ctx, err
	}
	*name = tenant
	if set, ok := in.(op.Collected); ok {
		_, verb, _ := strings.Cut(m.Name, ".")
		if err := s.checkVerb(ctx, strings.ToLower(verb), set.CollectionName()); err != nil {
			return ctx, err
		}
	}
	if o, ok := in.(op.Operated); ok {
		o.SetOperator(rightsOf(ctx).Runs())
	}
	if g, ok := in.(op.Guarded); ok {
		return s.guarded(ctx, tenant, g.LockGuards())
	}
	return ctx, nil
}

// Paced runs a stream; see [op.Host].
func (s *Server) Paced(ctx context.Context, m *op.Method, work func(context.Context, op.Pace) error) error {
	open := s.kvStreams // see Options.MaxKVStreams
	switch {
	case m.Name == lockAcquire:
		open = s.lockWaits
	case strings.HasPrefix(m.Full(), blobPrefix):
		open = s.transfers
	case strings.HasPrefix(m.Full(), dagPrefix):
		open = s.dagStreams
	case strings.HasPrefix(m.Full(), namespacePrefix), strings.HasPrefix(m.Full(), groupPrefix):
		open = s.govStreams
	}
	return s.pacedStream(ctx, open, func(ctx context.Context, wait *peerWait) error { return work(ctx, wait) })
}

// about are arguments that say what an error of the services Namespace and Group is
// about: the name of a field of errors, empty for nothing, and its value.
type about interface{ About() (name, value string) }

// Failed returns err with what it is about; see [op.Host].
func (s *Server) Failed(_ *op.Method, in any, err error) error {
	if a, ok := in.(about); ok {
		if name, value := a.About(); name != "" {
			return aboutGov(err, name, value)
		}
	}
	if a, ok := in.(aboutAContext); ok {
		return aboutContext(err, a.AboutContext())
	}
	return err
}
