package server

import (
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/rpc/internal/backend"
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
	if s.o.Namespaces != nil {
		c.NewKey = s.o.Namespaces.NewContextKey
	}
	return c
}
