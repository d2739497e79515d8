package server

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/rpc/internal/policywire"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
)

// directDecide is Policy.Decide in frames. Over gRPC it is served as package rpc describes
// it (policyDecide).
func (s *Server) directDecide() *framed.Direct {
	return &framed.Direct{
		Parse: func(sc *framed.Scratch, payload []byte) error { return framed.Parse(payload, &sc.Decide) },
		Do: func(ctx context.Context, sc *framed.Scratch) (framed.Answer, error) {
			tenant, err := s.tenantOf(ctx, sc.TenantName(sc.Decide.GetTenant()))
			if err != nil {
				return framed.Answer{}, err
			}
			q, err := policy.NewQuestion(sc.Decide.GetAgent(), sc.Decide.GetAction(), sc.Decide.GetContext())
			if err != nil {
				return framed.Answer{}, err
			}
			d, err := s.o.Policies.Decide(ctx, tenant, q)
			if err != nil {
				return framed.Answer{}, err
			}
			out, err := proto.MarshalOptions{}.MarshalAppend(wire.Room(sc.Out), policywire.FromDecision(&d))
			if err != nil {
				return framed.Answer{}, err
			}
			return sc.Single(out), nil
		},
	}
}
