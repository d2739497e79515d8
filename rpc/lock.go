package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/stoadb/stoa/kv/lock"
	_ "github.com/stoadb/stoa/rpc/internal/lockwire" // says how locks go over the wire
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Locks are the locks of a tenant, with fencing tokens, for agents that share work; see
// package lock. Beside the errors of calls (ErrUnavailable, ErrBusy, ErrBound) methods
// return [*lock.Error]. Times to live count in milliseconds, of which a part is one. It is
// a view of its client, and as safe for concurrent use.
type Locks struct {
	c      *Client
	tenant string
}

// Locks returns the locks of a tenant; "" is the tenant that the daemon binds this user to.
func (c *Client) Locks(tenant string) *Locks { return &Locks{c, tenant} }

// What calls of [Locks] take and return, so that a program imports one package.
type (
	// LockRequest is what a lock is asked for with.
	LockRequest = lock.Request
	// LockGrant is that an agent holds a lock.
	LockGrant = lock.Grant
	// LockHolding names what an agent holds.
	LockHolding = lock.Holding
	// Lock is what is known of a lock.
	Lock = lock.Lock
)

// lockClaim is how long a lock is kept for a client that has waited for it, until it says
// that it knows.
const lockClaim = 5 * time.Second

// inMs is a time in ms, rounded up; what is negative is more than any time may be.
func inMs(d time.Duration) uint64 { return uint64((d + time.Millisecond - 1) / time.Millisecond) }

// fromMs is a time of so many ms, or the longest.
func fromMs(ms uint64) time.Duration {
	const longest = uint64(1<<63-1) / uint64(time.Millisecond)
	return time.Duration(min(ms, longest)) * time.Millisecond
}

// lockAsking are the arguments of Acquire.
type lockAsking struct {
	ofTenant
	Name, Agent string
	Mode        lock.Mode
	TTLMs       uint64 `wire:"ttl_ms"`
	Purpose     string
	Wait        bool
	MaxWaitMs   uint64
	ClaimMs     uint64
	Priority    int
	Durability  Durability
}

// lockTurn is where a request stands, or what it was granted.
type lockTurn struct {
	Place int
	Grant *lock.Grant
}

var lockAcquire = op.NewStream(op.Method{Number: 1001, Name: "Lock.Acquire", Access: op.AccessTenant}, acquire,
	func(*lockTurn) int { return 256 }, 0)

// acquire takes a lock back that the client does not hear of.
func acquire(ctx context.Context, s *lock.Store, a *lockAsking) iter.Seq2[lockTurn, error] {
	return func(yield func(lockTurn, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		gone := false
		g, err := s.Acquire(ctx, a.Tenant, lock.Request{
			Name: a.Name, Agent: a.Agent, Mode: a.Mode, TTL: fromMs(a.TTLMs), Purpose: a.Purpose, Wait: a.Wait,
			MaxWait: fromMs(a.MaxWaitMs), Claim: fromMs(a.ClaimMs), Priority: a.Priority, Durability: a.Durability,
			Moved: func(place int) {
				if gone = gone || !yield(lockTurn{Place: place}, nil); gone {
					cancel()
				}
			},
		})
		switch {
		case err != nil && !gone:
			yield(lockTurn{}, err)
		case err == nil && (gone || !yield(lockTurn{Grant: &g}, nil)):
			_, _ = s.Release(context.WithoutCancel(ctx), a.Tenant, lock.Holding{Name: g.Name, Agent: g.Agent, Token: g.Token}, a.Durability)
		}
	}
}

// Acquire takes a lock for an agent, or waits for it where the request says so, until ctx
// ends; see [lock.Store.Acquire]. Who waits does so as long as the call and its connection
// last. Moved is told the place in the queue. A lock that was waited for, and that this
// client does not hear of, goes on to the next after Claim, 5 s unless the request says
// otherwise: Acquire renews it once it has it.
func (l *Locks) Acquire(ctx context.Context, r LockRequest) (g LockGrant, err error) {
	if r.TTL < 0 || r.MaxWait < 0 || r.Claim < 0 || r.Priority < 0 {
		return g, &lock.Error{Code: lock.CodeInvalidArgument, Lock: r.Name, Reason: "a time, or a priority, is negative"}
	}
	if r.Wait && r.Claim == 0 {
		r.Claim = lockClaim
	}
	waited := false
	for t, err := range stream(ctx, l.c, lockAcquire, lockAsking{ofTenant{l.tenant}, r.Name, r.Agent, r.Mode, inMs(r.TTL), r.Purpose, r.Wait,
		inMs(r.MaxWait), inMs(r.Claim), r.Priority, r.Durability}) {
		switch {
		case err != nil:
			return g, err
		case t.Grant != nil:
			g = *t.Grant
		default:
			waited = true
			if r.Moved != nil {
				r.Moved(t.Place)
			}
		}
	}
	if g.Token == 0 {
		return g, senseless(&lockAcquire.Method, errors.New("it ended without a grant"))
	}
	if waited || r.Wait && g.Expires.Sub(g.Acquired) <= r.Claim {
		return l.Renew(ctx, LockHolding{Name: g.Name, Agent: g.Agent, Token: g.Token}, r.TTL, r.Durability)
	}
	return g, nil
}

// lockHeld are arguments about what an agent holds.
type lockHeld struct {
	ofTenant
	Name, Agent string
	Token       uint64
	Durability  Durability
}

func (l *Locks) held(h LockHolding, d Durability) lockHeld {
	return lockHeld{ofTenant{l.tenant}, h.Name, h.Agent, h.Token, d}
}

func (a *lockHeld) holding() lock.Holding {
	return lock.Holding{Name: a.Name, Agent: a.Agent, Token: a.Token}
}

// lockRenewing are the arguments of Renew.
type lockRenewing struct {
	lockHeld
	TTLMs uint64 `wire:"ttl_ms"`
}

var lockRenew = op.New(op.Method{Number: 1002, Name: "Lock.Renew", Access: op.AccessTenant},
	func(ctx context.Context, s *lock.Store, a *lockRenewing) (lock.Grant, error) {
		return s.Renew(ctx, a.Tenant, a.holding(), fromMs(a.TTLMs), a.Durability)
	})

// Renew has an agent hold a lock for ttl from now on, 0 for as long as at first; see
// [lock.Store.Renew].
func (l *Locks) Renew(ctx context.Context, h LockHolding, ttl time.Duration, d Durability) (LockGrant, error) {
	return call(ctx, l.c, lockRenew, lockRenewing{l.held(h, d), inMs(ttl)})
}

var lockRelease = op.New(op.Method{Number: 1003, Name: "Lock.Release", Access: op.AccessTenant},
	func(ctx context.Context, s *lock.Store, a *lockHeld) (held bool, err error) {
		return s.Release(ctx, a.Tenant, a.holding(), a.Durability)
	})

// Release gives a lock back, and says whether the agent held it; see [lock.Store.Release].
func (l *Locks) Release(ctx context.Context, h LockHolding, d Durability) (held bool, err error) {
	return call(ctx, l.c, lockRelease, l.held(h, d))
}

// lockAgent are arguments about an agent.
type lockAgent struct {
	ofTenant
	Agent      string
	Durability Durability
}

var lockReleaseAll = op.New(op.Method{Number: 1004, Name: "Lock.ReleaseAll", Access: op.AccessTenant},
	func(ctx context.Context, s *lock.Store, a *lockAgent) (released int, err error) {
		return s.ReleaseAll(ctx, a.Tenant, a.Agent, a.Durability)
	})

// ReleaseAll gives all locks of an agent back, in one batch, and returns how many they
// were; see [lock.Store.ReleaseAll].
func (l *Locks) ReleaseAll(ctx context.Context, agent string, d Durability) (released int, err error) {
	return call(ctx, l.c, lockReleaseAll, lockAgent{ofTenant{l.tenant}, agent, d})
}

var lockDowngrade = op.New(op.Method{Number: 1005, Name: "Lock.Downgrade", Access: op.AccessTenant},
	func(ctx context.Context, s *lock.Store, a *lockHeld) (lock.Grant, error) {
		return s.Downgrade(ctx, a.Tenant, a.holding(), a.Durability)
	})

// Downgrade has an agent that holds a lock alone share it from now on, by a new token; see
// [lock.Store.Downgrade].
func (l *Locks) Downgrade(ctx context.Context, h LockHolding, d Durability) (LockGrant, error) {
	return call(ctx, l.c, lockDowngrade, l.held(h, d))
}

// lockName are the arguments of Get.
type lockName struct {
	ofTenant
	Name string
}

var lockGet = op.New(op.Method{Number: 1006, Name: "Lock.Get", Access: op.AccessTenant},
	func(_ context.Context, s *lock.Store, a *lockName) (lock.Lock, error) { return s.Get(a.Tenant, a.Name) })

// Get returns what is known of a lock: its mode is [lock.Free] where nobody holds it.
func (l *Locks) Get(ctx context.Context, name string) (Lock, error) {
	return call(ctx, l.c, lockGet, lockName{ofTenant{l.tenant}, name})
}

// lockKey are the arguments of Lookup.
type lockKey struct {
	ofTenant
	Key string
}

var lockLookup = op.New(op.Method{Number: 1007, Name: "Lock.Lookup", Access: op.AccessTenant},
	func(ctx context.Context, s *lock.Store, a *lockKey) (json.RawMessage, error) {
		return s.Lookup(ctx, a.Tenant, a.Key)
	})

// Lookup returns what a literal key stands for; see [lock.Store.Lookup].
func (l *Locks) Lookup(ctx context.Context, key string) (json.RawMessage, error) {
	return call(ctx, l.c, lockLookup, lockKey{ofTenant{l.tenant}, key})
}
