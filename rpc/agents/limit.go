package agents

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	_ "github.com/stoadb/stoa/rpc/internal/limitwire" // says how limits go over the wire
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Limits are the rate limits of a tenant. Any number of goroutines may use them at once.
// Refusals are [*limit.Error]; that a limit is reached is none.
type Limits struct {
	c      caller.Caller
	tenant string
}

// NewLimits returns the rate limits of a tenant; "" is the tenant that the daemon binds this
// user to.
func NewLimits(c caller.Caller, tenant string) *Limits { return &Limits{c, tenant} }

// limitCheck are the arguments of Check.
type limitCheck struct {
	op.OfTenant
	limit.Name
	Max        int
	WindowMs   uint64
	Durability engine.Durability
}

var limitCheckOp = op.New(op.Method{Number: 1071, Name: "Limit.Check", Role: access.Writer, Tenant: true, Brief: true},
	func(ctx context.Context, s *limit.Store, a *limitCheck) (limit.Verdict, error) {
		return s.Check(ctx, a.Tenant, a.Name, limit.Rule{Max: a.Max, Window: op.FromMs(a.WindowMs)}, a.Durability)
	})

// Check counts one more of a name, unless as many have been within the window: then it is
// not allowed, and doesn't count; see [limit.Store.Check].
func (l *Limits) Check(ctx context.Context, n limit.Name, by limit.Rule, d engine.Durability) (limit.Verdict, error) {
	if by.Window < 0 || by.Max < 0 {
		return limit.Verdict{}, &limit.Error{Code: limit.CodeInvalidArgument, Field: "rule", Reason: "how often, or a window, is negative"}
	}
	return caller.Call(ctx, l.c, limitCheckOp, limitCheck{op.Of(l.tenant), n, by.Max, op.InMs(by.Window), d})
}

// limitName are the arguments of Get.
type limitName struct {
	op.OfTenant
	limit.Name
}

var limitGet = op.New(op.Method{Number: 1072, Name: "Limit.Get", Role: access.Reader, Tenant: true, Short: true},
	func(_ context.Context, s *limit.Store, a *limitName) (limit.Limit, error) {
		return s.Show(a.Tenant, a.Name)
	})

// Get returns what is known of a limit, and counts nothing. It returns limit.ErrNotFound
// where nothing has been within its window.
func (l *Limits) Get(ctx context.Context, n limit.Name) (limit.Limit, error) {
	return caller.Call(ctx, l.c, limitGet, limitName{op.Of(l.tenant), n})
}

// limitListing are the arguments of List.
type limitListing struct {
	op.OfTenant
	limit.ListOptions
}

// limitPage is what List returns.
type limitPage struct {
	Limits []limit.Limit
	Next   string
}

var limitList = op.New(op.Method{Number: 1073, Name: "Limit.List", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *limit.Store, a *limitListing) (p limitPage, err error) {
		p.Limits, p.Next, err = s.List(ctx, a.Tenant, a.ListOptions)
		return p, err
	})

// List returns a page of the limits of which something counts, and the cursor of the next;
// see [limit.Store.List]. Who reads all takes [Limits.All].
func (l *Limits) List(ctx context.Context, o limit.ListOptions) (list []limit.Limit, next string, err error) {
	p, err := caller.Call(ctx, l.c, limitList, limitListing{op.Of(l.tenant), o})
	return p.Limits, p.Next, err
}

// All yields the limits of which something counts, page by page: from the cursor on, and
// Limit of them at most, all if that is 0. Those that come and go meanwhile may be missed.
func (l *Limits) All(ctx context.Context, o limit.ListOptions) iter.Seq2[limit.Limit, error] {
	return caller.Pagewise(limitList.Name, o.Limit, o.Cursor, func(cursor string, most int) ([]limit.Limit, string, error) {
		o.Cursor, o.Limit = cursor, most
		return l.List(ctx, o)
	})
}

// limitForgetting are the arguments of Reset.
type limitForgetting struct {
	op.OfTenant
	limit.Name
	Durability engine.Durability
}

var limitReset = op.New(op.Method{Number: 1074, Name: "Limit.Reset", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *limit.Store, a *limitForgetting) (was bool, err error) {
		return s.Reset(ctx, a.Tenant, a.Name, a.Durability)
	})

// Reset forgets what counts of a limit, and says whether anything did.
func (l *Limits) Reset(ctx context.Context, n limit.Name, d engine.Durability) (was bool, err error) {
	return caller.Call(ctx, l.c, limitReset, limitForgetting{op.Of(l.tenant), n, d})
}

// limitKey are the arguments of Lookup.
type limitKey struct {
	op.OfTenant
	Key string
}

var limitLookup = op.New(op.Method{Number: 1075, Name: "Limit.Lookup", Role: access.Reader, Tenant: true},
	func(_ context.Context, s *limit.Store, a *limitKey) (json.RawMessage, error) {
		return s.Lookup(a.Tenant, a.Key)
	})

// Lookup returns what a literal key stands for; see [limit.Store.Lookup].
func (l *Limits) Lookup(ctx context.Context, key string) (json.RawMessage, error) {
	return caller.Call(ctx, l.c, limitLookup, limitKey{op.Of(l.tenant), key})
}
