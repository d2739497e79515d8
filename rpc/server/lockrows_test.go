package server

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/lock/locktest"
	"github.com/stoadb/stoa/rpc"
)

// The rows of locks hold over the socket as they do in process.
func TestLockRows(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		inFullOnce(t, f)
		locktest.Run(t, func(t testing.TB, h *locktest.Host) (locktest.Locks, func()) {
			d := start(t, keptOpen{h.DB}, Options{Locks: h.Store, Events: h.Events, Raw: true})
			return remoteLocks{d.dialAs(t, f)}, d.stop
		})
	})
}

// Each row that kv/lock lists has a test that runs over the socket.
func TestEveryRowOfLocksIsTestedOverTheSocket(t *testing.T) {
	readme, err := os.ReadFile("../../kv/lock/README.md")
	require.NoError(t, err)
	var tested []string
	for _, name := range locktest.Rows() {
		tested = append(tested, regexp.MustCompile(`A\d+`).FindAllString(regexp.MustCompile(`^(A\d+)+`).FindString(name), -1)...)
	}
	rows := regexp.MustCompile("(?m)^\\| (A\\d+) \\|.*`TestRows/").FindAllStringSubmatch(string(readme), -1) // the others are those of a whole daemon
	require.Len(t, rows, 42)
	for _, row := range rows {
		require.Contains(t, tested, row[1])
	}
}

// remoteLocks are the locks of a client as those of a store.
type remoteLocks struct{ c *rpc.Client }

func (r remoteLocks) Acquire(ctx context.Context, tenant string, q lock.Request) (lock.Grant, error) {
	return r.c.Locks(tenant).Acquire(ctx, q)
}

func (r remoteLocks) Renew(ctx context.Context, tenant string, h lock.Holding, ttl time.Duration, d engine.Durability) (lock.Grant, error) {
	return r.c.Locks(tenant).Renew(ctx, h, ttl, d)
}

func (r remoteLocks) Downgrade(ctx context.Context, tenant string, h lock.Holding, d engine.Durability) (lock.Grant, error) {
	return r.c.Locks(tenant).Downgrade(ctx, h, d)
}

func (r remoteLocks) Release(ctx context.Context, tenant string, h lock.Holding, d engine.Durability) (bool, error) {
	return r.c.Locks(tenant).Release(ctx, h, d)
}

func (r remoteLocks) ReleaseAll(ctx context.Context, tenant, agent string, d engine.Durability) (int, error) {
	return r.c.Locks(tenant).ReleaseAll(ctx, agent, d)
}

func (r remoteLocks) Register(ctx context.Context, tenant, agent string, maxTasks int, d engine.Durability) error {
	return r.c.Locks(tenant).Register(ctx, agent, maxTasks, d)
}

func (r remoteLocks) Heartbeat(ctx context.Context, tenant, agent string, d engine.Durability) error {
	return r.c.Locks(tenant).Heartbeat(ctx, agent, d)
}

func (r remoteLocks) Drain(ctx context.Context, tenant, agent string, drain bool, d engine.Durability) error {
	return r.c.Locks(tenant).Drain(ctx, agent, drain, d)
}

func (r remoteLocks) Deregister(ctx context.Context, tenant, agent string, d engine.Durability) error {
	return r.c.Locks(tenant).Deregister(ctx, agent, d)
}

func (r remoteLocks) Agent(ctx context.Context, tenant, agent string) (lock.Agent, error) {
	return r.c.Locks(tenant).Agent(ctx, agent)
}

func (r remoteLocks) Get(tenant, name string) (lock.Lock, error) {
	return r.c.Locks(tenant).Get(context.Background(), name)
}

func (r remoteLocks) Lookup(ctx context.Context, tenant, key string) (json.RawMessage, error) {
	return r.c.Locks(tenant).Lookup(ctx, key)
}

func (r remoteLocks) Watch(ctx context.Context, tenant string, o lock.WatchOptions) iter.Seq2[lock.Event, error] {
	return r.c.Locks(tenant).Watch(ctx, o)
}

// Writes is one: TestWritesCarryGuards has all that a client can write.
func (r remoteLocks) Writes() map[string]func(...lock.Guard) error {
	return map[string]func(...lock.Guard) error{"rows": func(guards ...lock.Guard) error {
		var b engine.Batch
		b.Put(column.Generic, row("guarded"), []byte("v"))
		return r.c.Store(context.Background()).Guarded("t", guards...).Apply(&b)
	}}
}

func (r remoteLocks) Stream(ctx context.Context, tenant string) ([]event.Entry, error) {
	return r.c.Events(tenant).Range(ctx, event.Lock, event.RangeOptions{Limit: kv.MaxPage})
}
