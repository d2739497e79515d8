package kvstorage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
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

// host is the capability on an engine in memory.
type host struct {
	t     testing.TB
	db    engine.Engine
	clock *kvtest.Clock
	store *kv.Store
	*Storage
}

func newHost(t testing.TB, o Options) *host {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	return openHost(t, db, kvtest.New(), o)
}

// openHost opens the capability, and checks the store after the test. A clock of
// nil is the machine's.
func openHost(t testing.TB, db engine.Engine, clock *kvtest.Clock, o Options) *host {
	options := kv.Options{Log: slog.New(slog.DiscardHandler)}
	if clock != nil {
		options.Clock = clock
	}
	store, err := kv.Open(db, options)
	require.NoError(t, err)
	s, err := New(store, o)
	require.NoError(t, err)
	h := &host{t, db, clock, store, s}
	t.Cleanup(func() {
		for f, err := range store.Check(ctx) {
			if errors.Is(err, kv.ErrClosed) {
				return
			}
			require.NoError(t, err)
			require.Fail(t, "the check finds", f.String())
		}
		require.NoError(t, store.Close())
	})
	return h
}

// reopen is the next process.
func (h *host) reopen() *host {
	require.NoError(h.t, h.store.Close())
	return openHost(h.t, h.db, h.clock, h.o)
}

// reply is the result of a call as a client parses it.
type reply map[string]any

// call makes a call of tenant t, whose arguments are a format; a refusal is its
// code and field.
func (h *host) call(op, args string, with ...any) reply { return h.as("t", op, args, with...) }

func (h *host) as(tenant, op, args string, with ...any) reply {
	h.t.Helper()
	raw, err := h.raw(tenant, op, fmt.Sprintf(args, with...))
	if err != nil {
		var e *Error
		require.ErrorAs(h.t, err, &e)
		return reply{"code": string(e.Code), "field": e.Field}
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var r reply
	require.NoError(h.t, d.Decode(&r))
	return r
}

func (h *host) raw(tenant, op, args string) ([]byte, error) {
	return h.Call(ctx, Surface, op, tenant, []byte(args))
}

// code is the code of a call that is refused.
func (h *host) code(op, args string, with ...any) any { return h.call(op, args, with...)["code"] }

func number(n any) json.Number { return json.Number(fmt.Sprint(n)) }

// pass lets time pass, and waits until n keys are left.
func (h *host) pass(d time.Duration, left uint64) {
	h.clock.Pass(d)
	require.True(h.t, h.clock.Until(func() bool {
		stats, err := h.Stats("t")
		require.NoError(h.t, err)
		return stats.Keys == left
	}))
}

func text(n int) string { return strings.Repeat("x", n) }
