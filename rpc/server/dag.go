package server

import (
	"context"
	"errors"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/backend"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// dagService is the calls of the Dag service whose clients send many messages: AddMany,
// in dagadd.go, Diff and Seed. Package rpc describes the others.
type dagService struct {
	stoav1.UnimplementedDagServer
	s *Server
}

// contexts is what does the operations of the Dag service.
func (s *Server) contexts() *backend.Contexts {
	c := &backend.Contexts{Store: s.o.Dag, Scratch: func() (engine.Engine, func() error, error) {
		e := mem.New()
		return e, e.Close, nil
	}}
	c.Content, c.Bare = s.content, s.mayAddBare
	if s.o.Namespaces != nil {
		c.NewKey = s.o.Namespaces.NewContextKey
	}
	return c
}

// mayAddBare refuses a delta without an envelope for a context whose deltas are signed, and for any
// that a group has who does not run the daemon: it tells nobody who has made it.
func (s *Server) mayAddBare(ctx context.Context, id codec.ContextID) error {
	if s.content == nil {
		return nil
	}
	if err := s.content.Unsigned(id); err != nil {
		return err
	}
	who, _ := framed.PeerFrom(ctx)
	if who.Rights.Runs() {
		return nil
	}
	switch _, _, err := s.o.Namespaces.Resolve(id); {
	case errors.Is(err, namespace.ErrNoContext):
		return nil
	case err != nil:
		return err
	}
	return errRole(access.Operator, who, "a delta without an envelope for a context that a group has", fault.FieldContext, id.String())
}
