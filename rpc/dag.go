package rpc

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Dag is the contexts of a daemon. Its methods are those of dag.Store, with the
// same errors, and those of calls: ErrUnavailable, ErrBusy and their like. It is
// a view of its client, and as safe for concurrent use.
type Dag struct{ c *Client }

// Dag returns the contexts of the daemon. Calls that take no context end with
// that of c; streams end with both.
func (c *Client) Dag() *Dag { return &Dag{c} }

// dagCall makes one call.
func dagCall[Req, Res any](c *Client, op string, method func(context.Context, *Req, ...grpc.CallOption) (*Res, error), ask *Req) (res *Res, err error) {
	err = c.invoke(op, func(ctx context.Context) (err error) {
		res, err = method(ctx, ask)
		return err
	})
	return res, err
}

// until returns the client for calls that end with ctx too.
func (d *Dag) until(ctx context.Context) (*Client, context.CancelFunc) {
	ctx, cancel := d.c.within(ctx)
	return d.c.WithContext(ctx), cancel
}

// odd returns what is wrong with an answer that makes no sense, if anything is.
func odd(op string, err error) error {
	if err == nil || errors.Is(err, ErrInternal) {
		return err
	}
	return fmt.Errorf("rpc: %s: %w: the daemon's answer makes no sense: %s", op, ErrInternal, err.Error())
}

// CreateContext is dag.Store's.
func (d *Dag) CreateContext(id codec.ContextID, app codec.ApplicationMeta) error {
	_, err := dagCall(d.c, "create context", d.c.dag.CreateContext,
		&stoav1.DagCreateContextRequest{ContextId: id[:], Application: dagwire.FromApplication(&app)})
	return err
}

// NewContext makes an empty context with a new id, and returns it: the public half of a
// key which the daemon keeps, and with which it says which group has the context.
func (d *Dag) NewContext(app codec.ApplicationMeta) (id codec.ContextID, err error) {
	res, err := dagCall(d.c, "create context", d.c.dag.CreateContext, &stoav1.DagCreateContextRequest{Application: dagwire.FromApplication(&app)})
	if err != nil {
		return id, err
	}
	id, err = op.ParseID[codec.ContextID]("context_id", res.GetContextId())
	return id, odd("create context", err)
}

// SetApplication is dag.Store's.
func (d *Dag) SetApplication(id codec.ContextID, app codec.ApplicationMeta) error {
	_, err := dagCall(d.c, "set application", d.c.dag.SetApplication,
		&stoav1.DagSetApplicationRequest{ContextId: id[:], Application: dagwire.FromApplication(&app)})
	return err
}

// DeleteContext is dag.Store's.
func (d *Dag) DeleteContext(id codec.ContextID) error {
	_, err := dagCall(d.c, "delete context", d.c.dag.DeleteContext, &stoav1.DagDeleteContextRequest{ContextId: id[:]})
	return err
}

// Context is dag.Store's.
func (d *Dag) Context(id codec.ContextID) (dag.ContextInfo, error) {
	res, err := dagCall(d.c, "context", d.c.dag.GetContext, &stoav1.DagGetContextRequest{ContextId: id[:]})
	if err != nil {
		return dag.ContextInfo{}, err
	}
	info, err := dagwire.Context(res.GetContext())
	return info, odd("context", err)
}

// Contexts is dag.Store's; a limit over 1,000, or of 0, is one of 1,000.
func (d *Dag) Contexts(after codec.ContextID, limit int) ([]dag.ContextInfo, error) {
	res, err := dagCall(d.c, "contexts", d.c.dag.ListContexts,
		&stoav1.DagListContextsRequest{After: op.OptionalBytes(after), Limit: pageOf(limit)})
	if err != nil {
		return nil, err
	}
	list := make([]dag.ContextInfo, len(res.GetContexts()))
	for i, m := range res.GetContexts() {
		if list[i], err = dagwire.Context(m); err != nil {
			return nil, odd("contexts", err)
		}
	}
	return list, nil
}

// pageOf returns a limit as a request for a page has it.
func pageOf(limit int) uint32 { return uint32(min(max(limit, 0), MaxDagPage)) }

// Config returns the revision counters of a context, zeros if nothing was
// counted yet. It returns dag.ErrNoContext.
func (d *Dag) Config(id codec.ContextID) (codec.ContextConfigValue, error) {
	res, err := dagCall(d.c, "config", d.c.dag.GetConfig, &stoav1.DagGetConfigRequest{ContextId: id[:]})
	return configOf(res.GetConfig()), err
}

// BumpConfig raises the revision counters of a context that are named by one, on
// disk, and returns them. It returns dag.ErrNoContext.
func (d *Dag) BumpConfig(id codec.ContextID, application, members bool) (codec.ContextConfigValue, error) {
	res, err := dagCall(d.c, "bump config", d.c.dag.BumpConfig,
		&stoav1.DagBumpConfigRequest{ContextId: id[:], Application: application, Members: members})
	return configOf(res.GetConfig()), err
}

func configOf(m *stoav1.DagConfig) codec.ContextConfigValue {
	return codec.ContextConfigValue{ApplicationRevision: m.GetApplicationRevision(), MembersRevision: m.GetMembersRevision()}
}
