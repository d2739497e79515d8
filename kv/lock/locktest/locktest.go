// Package locktest tests that locks are what the rows of [kv/lock] ask for, however they are
// reached.
//
// Start at Run. One suite serves both: what holds in process holds for the client of
// package rpc.
//
// [kv/lock]: https://github.com/stoadb/stoa/tree/main/kv/lock#tests-of-the-rows
package locktest

import (
	"context"
	"encoding/json"
	"iter"
	"testing"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/lock"
)

// Locks are what is tested of [lock.Store], and of what goes by it.
type Locks interface {
	holding
	agents
	reading
	// Writes are ways of writing something that succeed while locks are held by the grants
	// that their guards name, by what they are called.
	Writes() map[string]func(...lock.Guard) error
	// Stream are the newest entries of the stream of locks of a tenant, oldest first.
	Stream(ctx context.Context, tenant string) ([]event.Entry, error)
}

type holding interface {
	Acquire(ctx context.Context, tenant string, r lock.Request) (lock.Grant, error)
	Renew(ctx context.Context, tenant string, h lock.Holding, ttl time.Duration, d engine.Durability) (lock.Grant, error)
	Downgrade(ctx context.Context, tenant string, h lock.Holding, d engine.Durability) (lock.Grant, error)
	Release(ctx context.Context, tenant string, h lock.Holding, d engine.Durability) (held bool, err error)
	ReleaseAll(ctx context.Context, tenant, agent string, d engine.Durability) (n int, err error)
}

type agents interface {
	Register(ctx context.Context, tenant, agent string, maxTasks int, d engine.Durability) error
	Heartbeat(ctx context.Context, tenant, agent string, d engine.Durability) error
	Drain(ctx context.Context, tenant, agent string, drain bool, d engine.Durability) error
	Deregister(ctx context.Context, tenant, agent string, d engine.Durability) error
	Agent(ctx context.Context, tenant, agent string) (lock.Agent, error)
}

type reading interface {
	Get(tenant, name string) (lock.Lock, error)
	Lookup(ctx context.Context, tenant, key string) (json.RawMessage, error)
	Watch(ctx context.Context, tenant string, o lock.WatchOptions) iter.Seq2[lock.Event, error]
}

// Reach says how a test reaches the locks of a host, until leave is called.
type Reach func(t testing.TB, h *Host) (l Locks, leave func())

// Run tests each row that has a test here, in a subtest of its name, on an engine in
// memory with a clock of its own.
func Run(t *testing.T, reach Reach) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if !r.together {
				enginetest.SkipUnderRace(t, "one goroutine asks")
			}
			r.test(t, Open(t, Setup{Reach: reach, Told: r.told}))
		})
	}
}

// Rows returns the names of the subtests, each of which begins with the rows that it is of.
func Rows() (names []string) {
	for _, r := range rows {
		names = append(names, r.name)
	}
	return names
}
