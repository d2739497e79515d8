package locktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/lock"
)

// KeyIs demands that a literal key shows something.
func (h *Host) KeyIs(key, want string) {
	h.T.Helper()
	found, err := h.Lookup(ctx, "t", key)
	require.NoError(h.T, err, key)
	require.Equal(h.T, want, string(found), key)
}

func a1A2A24A32A33A34A36LiteralKeys(t *testing.T, h *Host) {
	const empty = "[]"
	for _, key := range []string{"ade:lock:registry", "ade:lock:index:agent:a", "ade:lock:index:resource:db", "ade:lock:waitfor:a", "ade:lock:task:1:queue"} {
		h.KeyIs(key, empty)
	}
	_, err := h.Acquire(ctx, "t", lock.Request{Name: lock.Task("task:123"), Agent: "a", Purpose: "to apply"})
	require.NoError(t, err)
	_, err = h.Acquire(ctx, "t", lock.Request{Name: lock.Resource("db", "x"), Agent: "a", TTL: 10 * time.Second})
	require.NoError(t, err)
	h.Take("a", lock.Resource("db", "y"), lock.Shared)
	h.Clock.Pass(time.Second)
	h.Take("b", lock.Resource("db", "y"), lock.Shared)
	w := h.Wait(lock.Request{Name: lock.Task("task:123"), Agent: "b", Priority: 7, MaxWait: 60 * time.Second})
	task := `{"holder_agent_id":"a","acquired_at":"2026-03-01T12:00:00Z","expires_at":"2026-03-01T12:00:30Z","purpose":"to apply","heartbeat_count":0,"queue_length":1}`
	h.KeyIs("ade:lock:task:task:123", task)
	h.KeyIs("ade:lock:task:{task:123}", task)
	h.KeyIs("ade:lock:resource:db:x", `{"mode":"exclusive","holders":[{"agent_id":"a","acquired_at":"2026-03-01T12:00:00Z"}],"exclusive_holder":"a","acquired_at":"2026-03-01T12:00:00Z","expires_at":"2026-03-01T12:00:10Z"}`)
	h.KeyIs("ade:lock:resource:db:y", `{"mode":"shared","holders":[{"agent_id":"a","acquired_at":"2026-03-01T12:00:00Z"},{"agent_id":"b","acquired_at":"2026-03-01T12:00:01Z"}],"acquired_at":"2026-03-01T12:00:00Z","expires_at":"2026-03-01T12:00:31Z"}`)
	h.KeyIs("ade:lock:task:task:123:queue", `[[{"agent_id":"b","mode":"exclusive","priority":7,"requested_at":"2026-03-01T12:00:01Z","max_wait_seconds":60},1772366401000]]`)
	h.KeyIs("ade:lock:index:agent:a", `["ade:lock:resource:db:x","ade:lock:resource:db:y","ade:lock:task:task:123"]`)
	h.KeyIs("ade:lock:index:agent:b", `["ade:lock:resource:db:y"]`)
	h.KeyIs("ade:lock:index:resource:db", `["ade:lock:resource:db:x","ade:lock:resource:db:y"]`)
	h.KeyIs("ade:lock:index:resource:d", empty)
	h.KeyIs("ade:lock:registry", `[["ade:lock:resource:db:x",1772366410000],["ade:lock:task:task:123",1772366430000],["ade:lock:resource:db:y",1772366431000]]`)
	h.KeyIs("ade:lock:waitfor:b", `["ade:lock:task:task:123"]`)
	h.Clock.Pass(9 * time.Second)
	h.KeyIs("ade:lock:registry", `[["ade:lock:task:task:123",1772366430000],["ade:lock:resource:db:y",1772366431000]]`)
	h.KeyIs("ade:lock:index:agent:a", `["ade:lock:resource:db:y","ade:lock:task:task:123"]`)
	_, err = h.Lookup(ctx, "t", "ade:lock:resource:db:x")
	require.ErrorIs(t, err, lock.ErrNotFound)
	h.Free("a", lock.Task("task:123"))
	h.Granted(w)
	h.KeyIs("ade:lock:waitfor:b", empty)
	require.NoError(t, h.Register(ctx, "t", "b", 10, engine.WAL))
	h.KeyIs("ade:lock:agent:b:capacity", `{"max_tasks":10,"active_tasks":1,"queued_tasks":0,"last_heartbeat":"2026-03-01T12:00:10Z","status":"active"}`)
	for _, key := range []string{"ade:lock:task:none", "ade:lock:agent:none:capacity", "ade:lock:deadlock:check:none"} {
		_, err = h.Lookup(ctx, "t", key)
		require.ErrorIs(t, err, lock.ErrNotFound, key)
	}
	for _, key := range []string{"ade:lock:other:1", "lock:task:1", "ade:lock:", "ade:lock:other:1:queue", "ade:lock:task:1:channel"} {
		_, err = h.Lookup(ctx, "t", key)
		require.ErrorIs(t, err, lock.ErrInvalidArgument, key)
	}
}
