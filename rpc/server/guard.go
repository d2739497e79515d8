package server

import (
	"context"
	"fmt"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// guards returns the expectation that locks of a tenant are held.
func (s *Server) guards(tenant string, guards []lock.Guard) (*lock.Guarded, error) {
	if s.o.Locks == nil {
		return nil, fmt.Errorf("%w: guards of writes: no locks are served here", engine.ErrUnsupported)
	}
	return s.o.Locks.Guards(tenant, guards...)
}

// guarded returns a context by which changes are made only if all of some locks of a tenant are
// held by the grants that their guards name.
func (s *Server) guarded(ctx context.Context, tenant string, guards []lock.Guard) (context.Context, error) {
	if len(guards) == 0 {
		return ctx, nil
	}
	g, err := s.guards(tenant, guards)
	if err != nil {
		return ctx, err
	}
	return kv.Expecting(ctx, g.Check), nil
}

// guardsOf returns guards as a message has them.
func guardsOf(list []*stoav1.LockGuard) []lock.Guard {
	var guards []lock.Guard
	for _, g := range list {
		guards = append(guards, lock.Guard{Name: g.GetName(), Token: g.GetToken()})
	}
	return guards
}

// applyGuarded writes a batch if all of some locks of a tenant are held.
func (s *Server) applyGuarded(b *engine.Batch, tenant string, guards []lock.Guard) error {
	g, err := s.guards(tenant, guards)
	if err != nil {
		return err
	}
	return s.eng.Update(func(r engine.Getter, into *engine.Batch) error {
		if err := g.CheckIn(r.(engine.Reader)); err != nil {
			return err
		}
		into.Append(b)
		return nil
	})
}
