package locktest

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/lock"
)

var ctx = context.Background()

// Setup says what a host runs on. The zero Setup is an engine in memory and a clock of its own,
// reached in process.
type Setup struct {
	DB    engine.Engine // the caller closes it; nil: one in memory
	Clock *kvtest.Clock // nil: one of its own
	Reach Reach         // nil: InProcess
	Told  bool          // changes are told in the stream of locks
	// NoSweep leaves the sweep to who calls Store.Sweep.
	NoSweep bool
}

// Tester is a test, or a case of a property.
type Tester interface {
	require.TestingT
	Helper() // as of testing.T
}

// Host is locks on an engine, with a clock by hand, and how a test reaches them. Its methods
// are about the tenant t, and fail the test where they return no error.
type Host struct {
	Locks

	T Tester // of what is demanded; a property has it be its case

	// What is behind: for what no client does.
	DB     engine.Engine
	Clock  *kvtest.Clock
	KV     *kv.Store
	Store  *lock.Store
	Events *event.Store // nil: nothing is told

	t      testing.TB
	setup  Setup
	mu     sync.Mutex
	config lock.Config
	leave  func()
	ended  bool
}

// Open opens locks. They are checked when they are closed, which is after the test at the
// latest.
func Open(t testing.TB, s Setup) *Host {
	t.Helper()
	if s.DB == nil {
		s.DB = mem.New()
		t.Cleanup(func() { _ = s.DB.Close() })
	}
	if s.Clock == nil {
		s.Clock = kvtest.New()
	}
	if s.Reach == nil {
		s.Reach = InProcess
	}
	h := &Host{T: t, t: t, DB: s.DB, Clock: s.Clock, setup: s}
	quiet := slog.New(slog.DiscardHandler)
	var err error
	h.KV, err = kv.Open(s.DB, kv.Options{Clock: s.Clock, Log: quiet})
	require.NoError(t, err)
	if s.Told {
		h.Events, err = event.New(h.KV, event.Options{})
		require.NoError(t, err)
	}
	h.Store, err = lock.New(h.KV, lock.Options{Log: quiet, Config: h.configOf, Events: h.Events, NoSweep: s.NoSweep})
	require.NoError(t, err)
	h.Locks, h.leave = s.Reach(t, h)
	t.Cleanup(h.End)
	return h
}

func (h *Host) configOf(string) lock.Config {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.config
}

// Set has requests from now on go by a configuration.
func (h *Host) Set(c lock.Config) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.config = c
}

// End checks and closes everything but the engine, once.
func (h *Host) End() {
	if h.ended {
		return
	}
	h.ended = true
	h.check()
	h.leave()
	h.Store.Close()
	require.NoError(h.T, h.KV.Close())
}

// Reopen is the next process.
func (h *Host) Reopen() *Host {
	h.T.Helper()
	h.End()
	s := h.setup
	s.DB, s.Clock = h.DB, h.Clock
	return Open(h.t, s)
}

// check demands that what follows from the locks is what it is to be, and that each record of
// theirs is as this package writes it.
func (h *Host) check() {
	h.T.Helper()
	for f, err := range h.KV.Check(ctx) {
		require.NoError(h.T, err)
		require.Fail(h.T, "the check finds", f.String())
	}
	for tenant, err := range h.KV.Tenants(ctx, "", true) {
		require.NoError(h.T, err)
		space := h.Space(tenant.Name)
		if space == nil {
			continue
		}
		for r, err := range space.All(ctx, nil) {
			require.NoError(h.T, err)
			require.Empty(h.T, lock.Fault(&r), "%s", r.Key)
		}
	}
}
