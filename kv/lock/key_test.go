package lock

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

func (h *host) key(key string) string {
	h.t.Helper()
	found, err := h.Lookup(ctx, "t", key)
	require.NoError(h.t, err)
	return string(found)
}

func TestA1A2A24A32A33A34A36LiteralKeys(t *testing.T) {
	h := newHost(t)
	const empty = "[]"
	for _, key := range []string{"ade:lock:registry", "ade:lock:index:agent:a", "ade:lock:index:resource:db", "ade:lock:waitfor:a", "ade:lock:task:1:queue"} {
		require.Equal(t, empty, h.key(key), key)
	}
	_, err := h.Acquire(ctx, "t", Request{Name: Task("task:123"), Agent: "a", Purpose: "to apply"})
	require.NoError(t, err)
	_, err = h.Acquire(ctx, "t", Request{Name: Resource("db", "x"), Agent: "a", TTL: 10 * time.Second})
	require.NoError(t, err)
	h.acquire("a", Resource("db", "y"), Shared)
	h.clock.Pass(time.Second)
	h.acquire("b", Resource("db", "y"), Shared)
	w := h.wait(Request{Name: Task("task:123"), Agent: "b", Priority: 7, MaxWait: 60 * time.Second})
	task := `{"holder_agent_id":"a","acquired_at":"2026-03-01T12:00:00Z","expires_at":"2026-03-01T12:00:30Z","purpose":"to apply","heartbeat_count":0,"queue_length":1}`
	require.Equal(t, task, h.key("ade:lock:task:task:123"))
	require.Equal(t, task, h.key("ade:lock:task:{task:123}"))
	require.Equal(t, `{"mode":"exclusive","holders":[{"agent_id":"a","acquired_at":"2026-03-01T12:00:00Z"}],"exclusive_holder":"a","acquired_at":"2026-03-01T12:00:00Z","expires_at":"2026-03-01T12:00:10Z"}`, h.key("ade:lock:resource:db:x"))
	require.Equal(t, `{"mode":"shared","holders":[{"agent_id":"a","acquired_at":"2026-03-01T12:00:00Z"},{"agent_id":"b","acquired_at":"2026-03-01T12:00:01Z"}],"acquired_at":"2026-03-01T12:00:00Z","expires_at":"2026-03-01T12:00:31Z"}`, h.key("ade:lock:resource:db:y"))
	require.Equal(t, `[[{"agent_id":"b","mode":"exclusive","priority":7,"requested_at":"2026-03-01T12:00:01Z","max_wait_seconds":60},1772366401000]]`, h.key("ade:lock:task:task:123:queue"))
	require.Equal(t, `["ade:lock:resource:db:x","ade:lock:resource:db:y","ade:lock:task:task:123"]`, h.key("ade:lock:index:agent:a"))
	require.Equal(t, `["ade:lock:resource:db:y"]`, h.key("ade:lock:index:agent:b"))
	require.Equal(t, `["ade:lock:resource:db:x","ade:lock:resource:db:y"]`, h.key("ade:lock:index:resource:db"))
	require.Equal(t, empty, h.key("ade:lock:index:resource:d"))
	require.Equal(t, `[["ade:lock:resource:db:x",1772366410000],["ade:lock:task:task:123",1772366430000],["ade:lock:resource:db:y",1772366431000]]`, h.key("ade:lock:registry"))
	require.Equal(t, `["ade:lock:task:task:123"]`, h.key("ade:lock:waitfor:b"))
	h.clock.Pass(9 * time.Second)
	require.Equal(t, `[["ade:lock:task:task:123",1772366430000],["ade:lock:resource:db:y",1772366431000]]`, h.key("ade:lock:registry"))
	require.Equal(t, `["ade:lock:resource:db:y","ade:lock:task:task:123"]`, h.key("ade:lock:index:agent:a"))
	_, err = h.Lookup(ctx, "t", "ade:lock:resource:db:x")
	require.ErrorIs(t, err, ErrNotFound)
	h.release("a", Task("task:123"))
	h.granted(w)
	require.Equal(t, empty, h.key("ade:lock:waitfor:b"))
	require.NoError(t, h.Register(ctx, "t", "b", 10, engine.WAL))
	require.Equal(t, `{"max_tasks":10,"active_tasks":1,"queued_tasks":0,"last_heartbeat":"2026-03-01T12:00:10Z","status":"active"}`, h.key("ade:lock:agent:b:capacity"))
	for _, key := range []string{"ade:lock:task:none", "ade:lock:agent:none:capacity", "ade:lock:deadlock:check:none"} {
		_, err = h.Lookup(ctx, "t", key)
		require.ErrorIs(t, err, ErrNotFound, key)
	}
	for _, key := range []string{"ade:lock:other:1", "lock:task:1", "ade:lock:", "ade:lock:other:1:queue", "ade:lock:task:1:channel"} {
		_, err = h.Lookup(ctx, "t", key)
		require.ErrorIs(t, err, ErrInvalidArgument, key)
	}
}

func TestNamesThatAreRefused(t *testing.T) {
	for _, name := range []string{"", "task", "task:", "resource:db", "resource:db:", "resource::1", "other:1", "agent:a", "task:{1}", "task:a\x00", "task:\xff",
		"task:1:queue", "resource:db:1:channel", "resource:" + strings.Repeat("d", MaxType+1) + ":1", "task:" + strings.Repeat("i", MaxName)} {
		_, _, err := ParseName(name)
		require.ErrorIs(t, err, ErrInvalidArgument, name)
	}
	h := newHost(t)
	_, err := h.Get("", Task("1"))
	require.ErrorIs(t, err, ErrInvalidArgument)
	for _, r := range []Request{
		{Name: Task("1")}, {Name: Task("1"), Agent: "{a}"}, {Name: Task("1"), Agent: strings.Repeat("a", MaxAgent+1)}, {Name: Task("1"), Agent: "a", Purpose: strings.Repeat("p", MaxPurpose+1)},
		{Name: Task("1"), Agent: "a", Priority: -1}, {Name: Task("1"), Agent: "a", Priority: TopPriority + 1}, {Name: Task("1"), Agent: "a", TTL: -1}, {Name: Task("1"), Agent: "a", MaxWait: 1},
		{Name: Task("1"), Agent: "a", Wait: true, MaxWait: MaxWait + 1}, {Name: Task("1"), Agent: "a", Mode: 3}, {Name: Task("1"), Agent: "a", Claim: -1}, {Name: Task("1"), Agent: "a", Durability: 9},
	} {
		_, err := h.Acquire(ctx, "t", r)
		require.ErrorIs(t, err, ErrInvalidArgument, "%+v", r)
	}
}
