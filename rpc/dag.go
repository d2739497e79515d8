package rpc

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/backend"
	_ "github.com/stoadb/stoa/rpc/internal/dagwire" // what types of package dag are in messages
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Dag is the contexts of a daemon. Its methods are those of dag.Store, with the
// same errors, and those of calls: ErrUnavailable, ErrBusy and their like. It is
// a view of its client, and as safe for concurrent use. Contexts are in this file, deltas
// on their way in are in dagcommit.go and dagadd.go, what is read of them in dagread.go and
// dagwalk.go, states in dagstate.go, what compares and takes over contexts in
// dagcompare.go, dagseed.go and dagverify.go.
type Dag struct{ c *Client }

// Dag returns the contexts of the daemon.
func (c *Client) Dag() *Dag { return &Dag{c} }

// dagContext are arguments about a context.
type dagContext struct{ ContextID codec.ContextID }

// AboutContext returns the context.
func (a *dagContext) AboutContext() codec.ContextID { return a.ContextID }

// dagRunning are arguments about a context and its application.
type dagRunning struct {
	dagContext
	Application codec.ApplicationMeta
}

// dagCreating are the arguments of CreateContext. No id is that of a new key.
type dagCreating struct {
	ContextID   []byte
	Application codec.ApplicationMeta

	context codec.ContextID
}

// AboutContext returns the context.
func (a *dagCreating) AboutContext() codec.ContextID { return a.context }

var dagCreate = op.New(op.Method{Number: 601, Name: "Dag.CreateContext", Role: access.Signer},
	func(_ context.Context, s *backend.Contexts, a *dagCreating) (_ codec.ContextID, err error) {
		if len(a.ContextID) == 0 && s.NewKey != nil {
			a.context, err = s.NewKey()
		} else {
			a.context, err = op.ParseID[codec.ContextID]("context_id", a.ContextID)
		}
		if err == nil {
			err = s.CreateContext(a.context, a.Application)
		}
		return a.context, err
	})

// CreateContext makes an empty context, durably; see [dag.Store.CreateContext].
func (d *Dag) CreateContext(ctx context.Context, id codec.ContextID, app codec.ApplicationMeta) error {
	_, err := call(ctx, d.c, dagCreate, dagCreating{ContextID: id[:], Application: app})
	return err
}

// NewContext makes an empty context with a new id, and returns it: the public half of a
// key which the daemon keeps, and with which it says which group has the context.
func (d *Dag) NewContext(ctx context.Context, app codec.ApplicationMeta) (id codec.ContextID, err error) {
	return call(ctx, d.c, dagCreate, dagCreating{Application: app})
}

var dagDelete = op.New(op.Method{Number: 602, Name: "Dag.DeleteContext", Role: access.Operator},
	func(_ context.Context, s *backend.Contexts, a *dagContext) (op.Nothing, error) {
		return op.Nothing{}, s.DeleteContext(a.ContextID)
	})

// DeleteContext removes a context, durably: its metadata, state, private state, deltas
// and cursors; see [dag.Store.DeleteContext].
func (d *Dag) DeleteContext(ctx context.Context, id codec.ContextID) error {
	_, err := call(ctx, d.c, dagDelete, dagContext{id})
	return err
}

// dagPage are arguments that ask for a page of what a context has.
type dagPage[N any] struct {
	dagContext
	after[N]
}

// listOf returns arguments that ask for a list of what a context has.
func listOf[N any](id codec.ContextID) dagPage[N] { return dagPage[N]{dagContext: dagContext{id}} }

var dagList = op.New(op.Method{Number: 603, Name: "Dag.ListContexts", Role: access.Reader},
	func(_ context.Context, s *backend.Contexts, a *after[codec.ContextID]) (paged[dag.ContextInfo, codec.ContextID], error) {
		return page(a, s.Contexts, func(c *dag.ContextInfo) codec.ContextID { return c.ID })
	})

// Contexts yields all contexts in the order of their ids.
func (d *Dag) Contexts(ctx context.Context) iter.Seq2[dag.ContextInfo, error] {
	return pages(ctx, d.c, dagList, after[codec.ContextID]{})
}

var dagInfo = op.New(op.Method{Number: 604, Name: "Dag.GetContext", Role: access.Reader},
	func(_ context.Context, s *backend.Contexts, a *dagContext) (dag.ContextInfo, error) {
		return s.Context(a.ContextID)
	})

// Context returns what is known of a context, or [dag.ErrNoContext]; see
// [dag.Store.Context].
func (d *Dag) Context(ctx context.Context, id codec.ContextID) (dag.ContextInfo, error) {
	return call(ctx, d.c, dagInfo, dagContext{id})
}

var dagSetApplication = op.New(op.Method{Number: 605, Name: "Dag.SetApplication", Role: access.Signer},
	func(_ context.Context, s *backend.Contexts, a *dagRunning) (op.Nothing, error) {
		return op.Nothing{}, s.SetApplication(a.ContextID, a.Application)
	})

// SetApplication replaces the application of a context, durably; see
// [dag.Store.SetApplication].
func (d *Dag) SetApplication(ctx context.Context, id codec.ContextID, app codec.ApplicationMeta) error {
	_, err := call(ctx, d.c, dagSetApplication, dagRunning{dagContext{id}, app})
	return err
}

var dagConfig = op.New(op.Method{Number: 606, Name: "Dag.GetConfig", Role: access.Reader},
	func(_ context.Context, s *backend.Contexts, a *dagContext) (codec.ContextConfigValue, error) {
		return s.Config(a.ContextID)
	})

// Config returns the revision counters of a context, zeros if nothing was counted yet;
// see [dag.Store.Config].
func (d *Dag) Config(ctx context.Context, id codec.ContextID) (codec.ContextConfigValue, error) {
	return call(ctx, d.c, dagConfig, dagContext{id})
}

// dagBumping are the arguments of BumpConfig.
type dagBumping struct {
	dagContext
	Application, Members bool
}

var dagBump = op.New(op.Method{Number: 607, Name: "Dag.BumpConfig", Role: access.Signer},
	func(_ context.Context, s *backend.Contexts, a *dagBumping) (codec.ContextConfigValue, error) {
		if !a.Application && !a.Members {
			return codec.ContextConfigValue{}, &op.FieldError{Field: "application", Reason: "neither it nor members is to be counted"}
		}
		return s.BumpConfig(a.ContextID, a.Application, a.Members)
	})

// BumpConfig raises the revision counters of a context by one that are named, durably,
// and returns them; see [dag.Store.BumpConfig]. Of a context that a group has it
// returns ErrOwned.
func (d *Dag) BumpConfig(ctx context.Context, id codec.ContextID, application, members bool) (codec.ContextConfigValue, error) {
	return call(ctx, d.c, dagBump, dagBumping{dagContext{id}, application, members})
}

var dagClock = op.New(op.Method{Number: 636, Name: "Dag.GetClock", Role: access.Reader},
	func(_ context.Context, s *backend.Contexts, _ *op.Nothing) (hlc.State, error) {
		return s.Clock().State(), nil
	})

// Clock returns what the clock of the daemon says, as [hlc.Clock.State] does.
func (d *Dag) Clock(ctx context.Context) (hlc.State, error) {
	return call(ctx, d.c, dagClock, op.Nothing{})
}

var dagConfirmClock = op.New(op.Method{Number: 637, Name: "Dag.ConfirmClock", Role: access.Operator},
	func(_ context.Context, s *backend.Contexts, _ *op.Nothing) (hlc.State, error) {
		return s.ConfirmClock()
	})

// ConfirmClock takes the system clock of the daemon as right, as
// [hlc.Clock.Confirm] does, with its errors.
func (d *Dag) ConfirmClock(ctx context.Context) (hlc.State, error) {
	return call(ctx, d.c, dagConfirmClock, op.Nothing{})
}
