package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// dagService is the Dag service: what it does is dag.Store's. What is about
// contexts is in this file, their states in dagstate.go, deltas on their way in
// in dagadd.go, and what is read of them in dagread.go and dagcompare.go.
type dagService struct {
	stoav1.UnimplementedDagServer
	s *Server
}

// pageLimit returns the entries of a page, where a client asks for limit.
func pageLimit(limit uint32) int {
	if limit == 0 || limit > rpc.MaxDagPage {
		return rpc.MaxDagPage
	}
	return int(limit)
}

// field returns what package dagwire says of a message, as it goes over the
// wire.
func field(err error) error {
	var e *op.FieldError
	if errors.As(err, &e) {
		return badField(e.Field, e.Reason)
	}
	return err
}

// contextID returns the context that a request names.
func contextID(r interface{ GetContextId() []byte }) (codec.ContextID, error) {
	id, err := op.ParseID[codec.ContextID]("context_id", r.GetContextId())
	return id, field(err)
}

// durability returns what a request says of when a write is acknowledged.
func durability(d stoav1.Durability) (engine.Durability, error) {
	switch d {
	case stoav1.Durability_DURABILITY_UNSPECIFIED, stoav1.Durability_DURABILITY_SYNCED:
		return engine.Synced, nil
	case stoav1.Durability_DURABILITY_WAL:
		return engine.WAL, nil
	}
	return 0, badField("durability", fmt.Sprintf("no durability %d", int32(d)))
}

// CreateContext is Dag.CreateContext.
func (t *dagService) CreateContext(_ context.Context, r *stoav1.DagCreateContextRequest) (*stoav1.DagCreateContextResponse, error) {
	app, err := dagwire.Application("application", r.GetApplication())
	if err != nil {
		return nil, field(err)
	}
	var id codec.ContextID
	if len(r.GetContextId()) == 0 && t.s.o.Namespaces != nil {
		id, err = t.s.o.Namespaces.NewContextKey()
	} else {
		id, err = contextID(r)
	}
	if err != nil {
		return nil, err
	}
	if err := t.s.o.Dag.CreateContext(id, app); err != nil {
		return nil, aboutContext(err, id)
	}
	return &stoav1.DagCreateContextResponse{ContextId: op.Bytes(id)}, nil
}

// SetApplication is Dag.SetApplication.
func (t *dagService) SetApplication(_ context.Context, r *stoav1.DagSetApplicationRequest) (*stoav1.DagSetApplicationResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	app, err := dagwire.Application("application", r.GetApplication())
	if err != nil {
		return nil, field(err)
	}
	if err := t.s.o.Dag.SetApplication(id, app); err != nil {
		return nil, aboutContext(err, id)
	}
	return &stoav1.DagSetApplicationResponse{}, nil
}

// DeleteContext is Dag.DeleteContext.
func (t *dagService) DeleteContext(_ context.Context, r *stoav1.DagDeleteContextRequest) (*stoav1.DagDeleteContextResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	if err := t.s.o.Dag.DeleteContext(id); err != nil {
		return nil, aboutContext(err, id)
	}
	return &stoav1.DagDeleteContextResponse{}, nil
}

// ListContexts is Dag.ListContexts.
func (t *dagService) ListContexts(_ context.Context, r *stoav1.DagListContextsRequest) (*stoav1.DagListContextsResponse, error) {
	after, err := op.ParseOptional[codec.ContextID]("after", r.GetAfter())
	if err != nil {
		return nil, field(err)
	}
	limit := pageLimit(r.GetLimit())
	page, err := t.s.o.Dag.Contexts(after, limit)
	if err != nil {
		return nil, err
	}
	res := &stoav1.DagListContextsResponse{Contexts: make([]*stoav1.DagContextInfo, len(page))}
	for i := range page {
		res.Contexts[i] = dagwire.FromContext(&page[i])
	}
	if len(page) == limit {
		res.Next = res.Contexts[len(page)-1].ContextId
	}
	return res, nil
}

// GetContext is Dag.GetContext.
func (t *dagService) GetContext(_ context.Context, r *stoav1.DagGetContextRequest) (*stoav1.DagGetContextResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	info, err := t.s.o.Dag.Context(id)
	if err != nil {
		return nil, aboutContext(err, id)
	}
	return &stoav1.DagGetContextResponse{Context: dagwire.FromContext(&info)}, nil
}
