package lock

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

// tester is a test, or a case of a property.
type tester interface {
	require.TestingT
	Helper()
}

// host is locks on an engine in memory with a clock by hand.
type host struct {
	t      tester
	db     engine.Engine
	clock  *kvtest.Clock
	kv     *kv.Store
	mu     sync.Mutex
	config Config
	ended  bool
	*Store
}

func newHost(t testing.TB) *host {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	return openHost(t, db, kvtest.New())
}

func openHost(t testing.TB, db engine.Engine, clock *kvtest.Clock) *host {
	store, err := kv.Open(db, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	h := &host{t: t, db: db, clock: clock, kv: store}
	h.Store, err = New(store, Options{Log: slog.New(slog.DiscardHandler), Config: func(string) Config {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.config
	}})
	require.NoError(t, err)
	t.Cleanup(h.end)
	return h
}

// set has requests from now on go by a configuration.
func (h *host) set(c Config) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.config = c
}

// end checks and closes everything but the engine, once.
func (h *host) end() {
	if h.ended {
		return
	}
	h.ended = true
	h.sound()
	h.Store.Close()
	require.NoError(h.t, h.kv.Close())
}

// reopen is the next process.
func (h *host) reopen() *host {
	h.end()
	return openHost(h.t.(testing.TB), h.db, h.clock)
}

// sound runs the checks.
func (h *host) sound() {
	for f, err := range h.kv.Check(ctx) {
		require.NoError(h.t, err)
		require.Fail(h.t, "the check finds", f.String())
	}
	for f, err := range check(ctx, h.kv) {
		require.NoError(h.t, err)
		require.Fail(h.t, "the check finds", f.String())
	}
}

// try asks for a lock without waiting.
func (h *host) try(agent, name string, mode Mode) (Grant, error) {
	return h.Acquire(ctx, "t", Request{Name: name, Agent: agent, Mode: mode, Durability: engine.WAL})
}

func (h *host) acquire(agent, name string, mode Mode) Grant {
	g, err := h.try(agent, name, mode)
	require.NoError(h.t, err)
	return g
}

func (h *host) release(agent, name string) bool {
	held, err := h.Release(ctx, "t", Holding{Name: name, Agent: agent}, engine.WAL)
	require.NoError(h.t, err)
	return held
}

// call is a request that waits.
type call struct {
	cancel context.CancelFunc
	done   chan struct{}
	Grant
	err error
}

// wait has a request wait, and returns once it is in the queue, or has its answer.
func (h *host) wait(r Request) *call {
	ctx, cancel := context.WithCancel(ctx)
	r.Wait, r.Durability = true, engine.WAL
	c := &call{cancel: cancel, done: make(chan struct{})}
	queued := make(chan struct{}, 1)
	moved := r.Moved
	r.Moved = func(place int) {
		select {
		case queued <- struct{}{}:
		default:
		}
		if moved != nil {
			moved(place)
		}
	}
	go func() {
		c.Grant, c.err = h.Acquire(ctx, "t", r)
		close(c.done)
	}()
	select {
	case <-queued:
	case <-c.done:
	case <-time.After(time.Minute):
		require.Fail(h.t, "it does not wait")
	}
	return c
}

// granted waits for the answer.
func (h *host) granted(c *call) Grant {
	h.t.Helper()
	h.answered(c)
	require.NoError(h.t, c.err)
	return c.Grant
}

func (h *host) answered(c *call) {
	h.t.Helper()
	select {
	case <-c.done:
	case <-time.After(time.Minute):
		require.Fail(h.t, "no answer")
	}
}

// waits reports that a call has no answer.
func (h *host) waits(c *call) {
	h.t.Helper()
	select {
	case <-c.done:
		require.Fail(h.t, "it has an answer", "%v %v", c.Grant, c.err)
	case <-time.After(2 * time.Millisecond):
	}
}

// soon waits while time stands still.
func (h *host) soon(what string, done func() bool) {
	h.t.Helper()
	require.Eventually(h.t, done, time.Minute, time.Millisecond, what)
}

// revision is that of the last change of a lock.
func (h *host) revision() uint64 {
	space, err := h.space("t")
	require.NoError(h.t, err)
	stats, err := space.Stats()
	require.NoError(h.t, err)
	return stats.Revision
}

func TestA3A4AFreeTaskAndOneThatIsHeld(t *testing.T) {
	h := newHost(t)
	g, err := h.Acquire(ctx, "t", Request{Name: Task("1"), Agent: "a", Purpose: "to migrate"})
	require.NoError(t, err)
	now := h.kv.Now()
	require.Equal(t, Grant{Name: "task:1", Agent: "a", Mode: Exclusive, Token: 1, Acquired: now, Expires: now.Add(30 * time.Second), Until: now.Add(time.Hour), Purpose: "to migrate"}, g)
	h.clock.Pass(10 * time.Second)
	_, err = h.try("b", Task("1"), Exclusive)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, CodeHeld, e.Code)
	require.Equal(t, []string{"a"}, e.Holders)
	require.Equal(t, 20*time.Second, e.Remaining)
	require.Equal(t, "task:1", e.Lock)
	again, err := h.Renew(ctx, "t", Holding{Name: Task("1"), Agent: "a", Token: g.Token}, 0, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, g.Token, again.Token)
}

func TestA5AHolderAcquiresAgain(t *testing.T) {
	h := newHost(t)
	g := h.acquire("a", Task("1"), Exclusive)
	h.clock.Pass(10 * time.Second)
	again := h.acquire("a", Task("1"), Exclusive)
	require.Equal(t, g.Token, again.Token)
	require.Equal(t, g.Acquired, again.Acquired)
	require.Equal(t, g.Expires.Add(10*time.Second), again.Expires)
	require.Zero(t, again.Heartbeats)
}

func TestA8A9HeartbeatsUpToTheEnd(t *testing.T) {
	h := newHost(t)
	h.set(Config{MaxTTL: time.Minute})
	g := h.acquire("a", Task("1"), Exclusive)
	holding := Holding{Name: Task("1"), Agent: "a"}
	for beat := range 3 {
		h.clock.Pass(10 * time.Second)
		again, err := h.Renew(ctx, "t", holding, 0, engine.WAL)
		require.NoError(t, err)
		require.EqualValues(t, beat+1, again.Heartbeats)
		require.Equal(t, min(g.Acquired.Add(time.Duration(beat+1)*10*time.Second+30*time.Second).Unix(), g.Until.Unix()), again.Expires.Unix())
	}
	_, err := h.Renew(ctx, "t", holding, 0, engine.WAL)
	require.ErrorIs(t, err, ErrMaxTTL)
	_, err = h.Renew(ctx, "t", Holding{Name: Task("1"), Agent: "b"}, 0, engine.WAL)
	require.ErrorIs(t, err, ErrNotHolder)
	_, err = h.Renew(ctx, "t", Holding{Name: Task("1"), Agent: "a", Token: 99}, 0, engine.WAL)
	require.ErrorIs(t, err, ErrNotHolder)
	h.clock.Pass(30 * time.Second)
	_, err = h.Renew(ctx, "t", holding, 0, engine.WAL)
	require.ErrorIs(t, err, ErrNotHolder, "it is not revived")
	_, err = h.Acquire(ctx, "t", Request{Name: Task("2"), Agent: "a", TTL: 61 * time.Second})
	require.ErrorIs(t, err, ErrMaxTTL)
}

func TestA7A13A14TokensGrowAndReleasesAreTheHolders(t *testing.T) {
	h := newHost(t)
	first := h.acquire("a", Task("1"), Exclusive)
	require.False(t, h.release("b", Task("1")))
	h.clock.Pass(30 * time.Second)
	second := h.acquire("b", Task("1"), Exclusive)
	require.Greater(t, second.Token, first.Token)
	held, err := h.Release(ctx, "t", Holding{Name: Task("1"), Agent: "a", Token: first.Token}, engine.WAL)
	require.NoError(t, err)
	require.False(t, held)
	_, err = h.try("c", Task("1"), Exclusive)
	require.ErrorIs(t, err, ErrHeld)
	require.True(t, h.release("b", Task("1")))
	require.False(t, h.release("b", Task("1")))
	require.Greater(t, h.acquire("a", Task("1"), Exclusive).Token, second.Token)
}

func TestA11A12TheNextInLineGetsIt(t *testing.T) {
	h := newHost(t)
	h.acquire("a", Task("1"), Exclusive)
	b, c := h.wait(Request{Name: Task("1"), Agent: "b"}), h.wait(Request{Name: Task("1"), Agent: "c"})
	require.True(t, h.release("a", Task("1")))
	g := h.granted(b)
	require.Equal(t, Exclusive, g.Mode)
	h.waits(c)
	h.clock.Pass(30 * time.Second)
	next := h.granted(c) // b's time is over
	require.Greater(t, next.Token, g.Token)
	require.Equal(t, g.Expires, next.Acquired)
}

func TestA15A16A18A19SharedLocks(t *testing.T) {
	h := newHost(t)
	name := Resource("database", "prod")
	for n := range 10 {
		h.acquire(fmt.Sprint("s", n), name, Shared)
	}
	_, err := h.try("x", name, Exclusive)
	require.ErrorIs(t, err, ErrHeld)
	x := h.wait(Request{Name: name, Agent: "x", Mode: Exclusive})
	_, err = h.try("late", name, Shared)
	require.ErrorIs(t, err, ErrHeld, "a writer waits")
	for n := range 10 {
		h.waits(x)
		require.True(t, h.release(fmt.Sprint("s", n), name))
	}
	h.granted(x)
	var calls []*call
	for _, r := range []Request{{Agent: "s1", Mode: Shared}, {Agent: "s2", Mode: Shared}, {Agent: "x2", Mode: Exclusive}, {Agent: "s3", Mode: Shared}} {
		r.Name = name
		calls = append(calls, h.wait(r))
	}
	require.True(t, h.release("x", name))
	first, second := h.granted(calls[0]), h.granted(calls[1])
	require.Equal(t, first.Token+1, second.Token, "in one batch")
	h.waits(calls[2])
	h.release("s1", name)
	h.waits(calls[2])
	h.release("s2", name)
	h.granted(calls[2])
	h.waits(calls[3])
	h.release("x2", name)
	h.granted(calls[3])
}

func TestA37TwoThatWaitForEachOther(t *testing.T) {
	h := newHost(t)
	h.acquire("a", Task("1"), Exclusive)
	h.acquire("b", Task("2"), Exclusive)
	a := h.wait(Request{Name: Task("2"), Agent: "a"})
	_, err := h.Acquire(ctx, "t", Request{Name: Task("1"), Agent: "b", Wait: true})
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, CodeDeadlock, e.Code)
	require.Equal(t, []string{"b", "a"}, e.Cycle)
	h.waits(a)
	h.release("b", Task("2"))
	h.granted(a)
}
