package server

import (
	"context"
	"strings"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// register adds a service whose operations package rpc describes, to both framings.
// domain is what does them.
func (s *Server) register(generated *grpc.ServiceDesc, domain any) {
	d := s.described(generated)
	s.grpc.RegisterService(d, domain)
	s.framed.register(d, domain)
}

// described returns a service as package rpc describes it.
func (s *Server) described(generated *grpc.ServiceDesc) *grpc.ServiceDesc {
	d := &grpc.ServiceDesc{ServiceName: generated.ServiceName, HandlerType: (*any)(nil), Metadata: generated.Metadata}
	for _, o := range rpc.Operations(d.ServiceName) {
		o.Register(s, d)
		s.methods[o.About().Full()] = *o.About()
	}
	return d
}

// Admit refuses a call that its user may not make; see [op.Host].
func (s *Server) Admit(ctx context.Context, m *op.Method, in any) error {
	switch m.Access {
	case op.AccessTenant:
		name := in.(op.Tenanted).TenantName()
		tenant, err := s.tenantOf(ctx, *name)
		if err != nil {
			return err
		}
		*name = tenant
	case op.AccessTenants:
		if tenant, bound := s.boundTo(ctx); bound {
			return errBound(tenant, "tenants and quotas are for others to change")
		}
	case op.AccessSecrets:
		return s.maySeal(ctx)
	}
	return nil
}

// Paced runs a stream; see [op.Host].
func (s *Server) Paced(ctx context.Context, m *op.Method, work func(context.Context, op.Pace) error) error {
	open := &s.kvStreams
	switch {
	case strings.HasPrefix(m.Name, dagPrefix):
		open = &s.dagStreams
	case strings.HasPrefix(m.Name, namespacePrefix), strings.HasPrefix(m.Name, groupPrefix):
		open = &s.govStreams
	}
	return s.pacedStream(ctx, open, func(ctx context.Context, wait *peerWait) error { return work(ctx, wait) })
}

// Failed returns err with what it is about; see [op.Host].
func (s *Server) Failed(_ *op.Method, _ any, err error) error { return err }
