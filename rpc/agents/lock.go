package agents

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	_ "github.com/stoadb/stoa/rpc/internal/lockwire" // says how locks go over the wire
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Locks are the locks of a tenant, with fencing tokens, for agents that share work; see
// package lock. Beside the errors of calls (ErrUnavailable, ErrBusy, ErrBound) methods
// return [*lock.Error]. Times to live count in milliseconds, of which a part is one. It is
// a view of its client, and as safe for concurrent use.
//
// What holders do is in this file, what is read in lockread.go, watches in lockwatch.go, the
// agents in lockagent.go.
type Locks struct {
	c      caller.Caller
	tenant string
}

// NewLocks returns the locks of a tenant, for package rpc.
func NewLocks(c caller.Caller, tenant string) *Locks { return &Locks{c, tenant} }

// lockClaim is how long a lock is kept for a client that has waited for it, until it says
// that it knows.
const lockClaim = 5 * time.Second

// lockAsking are the arguments of Acquire.
type lockAsking struct {
	op.OfTenant
	Name, Agent string
	Mode        lock.Mode
	TTLMs       uint64 `wire:"ttl_ms"`
	Purpose     string
	Wait        bool
	MaxWaitMs   uint64
	ClaimMs     uint64
	Priority    int
	Durability  engine.Durability
	PlaceOnce   bool
	PlaceNever  bool
}

// lockTurn is where a request stands, or what it was granted and where it began to wait; 0: it
// did not.
type lockTurn struct {
	Place int
	Grant *lock.Grant
}

var lockAcquire = op.NewStream(op.Method{Number: 1001, Name: "Lock.Acquire", Role: access.Writer, Tenant: true}, acquire,
	func(*lockTurn) int { return 256 }, 0).EndingWith(func(t *lockTurn) bool { return t.Grant != nil })

// acquire takes a lock back that the client does not hear of.
func acquire(ctx context.Context, s *lock.Store, a *lockAsking) iter.Seq2[lockTurn, error] {
	return func(yield func(lockTurn, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		gone, began := false, 0
		tell := func(t lockTurn, err error) bool {
			gone = gone || !yield(t, err)
			return !gone
		}
		err := s.AcquireFor(ctx, a.Tenant, lock.Request{
			Name: a.Name, Agent: a.Agent, Mode: a.Mode, TTL: op.FromMs(a.TTLMs), Purpose: a.Purpose, Wait: a.Wait,
			MaxWait: op.FromMs(a.MaxWaitMs), Claim: op.FromMs(a.ClaimMs), Priority: a.Priority, Durability: a.Durability,
			PlaceOnce: a.PlaceOnce || a.PlaceNever,
			Moved: func(place int) {
				began = cmp.Or(began, place)
				if !a.PlaceNever && !tell(lockTurn{Place: place}, nil) {
					cancel()
				}
			},
		}, func(g lock.Grant) bool { return tell(lockTurn{Place: began, Grant: &g}, nil) })
		if err != nil {
			tell(lockTurn{}, err)
		}
	}
}

// lockTrying are the arguments of TryAcquire.
type lockTrying struct {
	op.OfTenant
	Name, Agent string
	Mode        lock.Mode
	TTLMs       uint64 `wire:"ttl_ms"`
	Purpose     string
	Durability  engine.Durability
}

var lockTryAcquire = op.New(op.Method{Number: 1008, Name: "Lock.TryAcquire", Role: access.Writer, Tenant: true, Brief: true},
	func(ctx context.Context, s *lock.Store, a *lockTrying) (lock.Grant, error) {
		return s.Acquire(ctx, a.Tenant, lock.Request{Name: a.Name, Agent: a.Agent, Mode: a.Mode, TTL: op.FromMs(a.TTLMs), Purpose: a.Purpose, Durability: a.Durability})
	})

// Acquire takes a lock for an agent, or waits for it where the request says so, until ctx
// ends; see [lock.Store.Acquire]. Who waits does so as long as the call and its connection
// last. Moved is told the place in the queue. A lock that was waited for, and that this
// client does not hear of, goes on to the next after Claim, 5 s unless the request says
// otherwise: Acquire renews it once it has it, unless it was asked for no longer than that. One that was not waited for is kept until its
// time is over where the connection is lost before the answer has come: to ask again as the
// same agent returns it.
func (l *Locks) Acquire(ctx context.Context, r lock.Request) (g lock.Grant, err error) {
	if r.TTL < 0 || r.MaxWait < 0 || r.Claim < 0 || r.Priority < 0 {
		return g, &lock.Error{Code: lock.CodeInvalidArgument, Lock: r.Name, Reason: "a time, or a priority, is negative"}
	}
	if !r.Wait && r.MaxWait == 0 {
		return caller.Call(ctx, l.c, lockTryAcquire, lockTrying{op.Of(l.tenant), r.Name, r.Agent, r.Mode, op.InMs(r.TTL), r.Purpose, r.Durability})
	}
	if r.Claim == 0 {
		r.Claim = lockClaim
	}
	waited := false
	for t, err := range caller.Stream(ctx, l.c, lockAcquire, lockAsking{op.Of(l.tenant), r.Name, r.Agent, r.Mode, op.InMs(r.TTL), r.Purpose, r.Wait,
		op.InMs(r.MaxWait), op.InMs(r.Claim), r.Priority, r.Durability, r.PlaceOnce, r.Moved == nil}) {
		if err != nil {
			return g, err
		}
		waited = waited || t.Place > 0
		switch {
		case t.Grant != nil:
			g = *t.Grant
		case r.Moved != nil:
			r.Moved(t.Place)
		}
	}
	if g.Token == 0 {
		return g, caller.Senseless(&lockAcquire.Method, errors.New("it ended without a grant"))
	}
	if r.TTL > 0 && r.TTL <= r.Claim { // it is kept for all of the time that was asked for
		return g, nil
	}
	if waited || g.Expires.Sub(g.Acquired) <= r.Claim {
		renewed, err := l.Renew(ctx, lock.Holding{Name: g.Name, Agent: g.Agent, Token: g.Token}, r.TTL, r.Durability)
		switch {
		case err == nil:
			return renewed, nil
		case errors.Is(err, lock.ErrMaxTTL): // it holds the lock to the last moment as it is
		default:
			l.giveBack(ctx, g, r.Durability)
			return lock.Grant{}, err
		}
	}
	return g, nil
}

// giveBack releases what a call was granted that fails. Where that fails too, the lock is
// held until its time is over.
func (l *Locks) giveBack(ctx context.Context, g lock.Grant, d engine.Durability) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockClaim)
	defer cancel()
	_, _ = l.Release(ctx, lock.Holding{Name: g.Name, Agent: g.Agent, Token: g.Token}, d)
}

// lockHeld are arguments about what an agent holds.
type lockHeld struct {
	op.OfTenant
	Name, Agent string
	Token       uint64
	Durability  engine.Durability
}

func (l *Locks) held(h lock.Holding, d engine.Durability) lockHeld {
	return lockHeld{op.Of(l.tenant), h.Name, h.Agent, h.Token, d}
}

func (a *lockHeld) holding() lock.Holding {
	return lock.Holding{Name: a.Name, Agent: a.Agent, Token: a.Token}
}

// lockRenewing are the arguments of Renew.
type lockRenewing struct {
	lockHeld
	TTLMs uint64 `wire:"ttl_ms"`
}

var lockRenew = op.New(op.Method{Number: 1002, Name: "Lock.Renew", Role: access.Writer, Tenant: true, Brief: true},
	func(ctx context.Context, s *lock.Store, a *lockRenewing) (lock.Grant, error) {
		return s.Renew(ctx, a.Tenant, a.holding(), op.FromMs(a.TTLMs), a.Durability)
	})

// Renew has an agent hold a lock for ttl from now on, 0 for as long as at first; see
// [lock.Store.Renew].
func (l *Locks) Renew(ctx context.Context, h lock.Holding, ttl time.Duration, d engine.Durability) (lock.Grant, error) {
	return caller.Call(ctx, l.c, lockRenew, lockRenewing{l.held(h, d), op.InMs(ttl)})
}

var lockRelease = op.New(op.Method{Number: 1003, Name: "Lock.Release", Role: access.Writer, Tenant: true, Brief: true},
	func(ctx context.Context, s *lock.Store, a *lockHeld) (held bool, err error) {
		return s.Release(ctx, a.Tenant, a.holding(), a.Durability)
	})

// Release gives a lock back, and says whether the agent held it; see [lock.Store.Release].
func (l *Locks) Release(ctx context.Context, h lock.Holding, d engine.Durability) (held bool, err error) {
	return caller.Call(ctx, l.c, lockRelease, l.held(h, d))
}

// lockAgent are arguments about an agent.
type lockAgent struct {
	op.OfTenant
	Agent      string
	Durability engine.Durability
}

var lockReleaseAll = op.New(op.Method{Number: 1004, Name: "Lock.ReleaseAll", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *lock.Store, a *lockAgent) (released int, err error) {
		return s.ReleaseAll(ctx, a.Tenant, a.Agent, a.Durability)
	})

// ReleaseAll gives all locks of an agent back, in one batch, and returns how many they
// were; see [lock.Store.ReleaseAll].
func (l *Locks) ReleaseAll(ctx context.Context, agent string, d engine.Durability) (released int, err error) {
	return caller.Call(ctx, l.c, lockReleaseAll, lockAgent{op.Of(l.tenant), agent, d})
}

var lockDowngrade = op.New(op.Method{Number: 1005, Name: "Lock.Downgrade", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *lock.Store, a *lockHeld) (lock.Grant, error) {
		return s.Downgrade(ctx, a.Tenant, a.holding(), a.Durability)
	})

// Downgrade has an agent that holds a lock alone share it from now on, by a new token; see
// [lock.Store.Downgrade].
func (l *Locks) Downgrade(ctx context.Context, h lock.Holding, d engine.Durability) (lock.Grant, error) {
	return caller.Call(ctx, l.c, lockDowngrade, l.held(h, d))
}
