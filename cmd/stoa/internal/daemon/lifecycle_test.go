package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
)

const (
	tick = time.Millisecond
	over = 2 * tick // from just before an end to behind it: times are rounded so that nothing ends early
	day  = 24 * time.Hour
)

// absent is what a literal key shows that stands for nothing.
const absent = "absent"

// key is what a literal key shows.
func (h *host) key(lookup func(context.Context, string) (json.RawMessage, error), key string) string {
	h.t.Helper()
	text, err := lookup(h.t.Context(), key)
	for _, none := range []error{lock.ErrNotFound, limit.ErrNotFound, record.ErrNotFound} {
		if errors.Is(err, none) {
			return absent
		}
	}
	require.NoError(h.t, err, key)
	return string(text)
}

// told counts the events of a stream that have a name, and a text in what they tell.
func (h *host) told(stream, name, about string) (n int) {
	h.t.Helper()
	list, err := h.Events("t").Range(h.t.Context(), stream, rpc.EventRangeOptions{Limit: 1000})
	require.NoError(h.t, err)
	for _, e := range list {
		if e.Name == name && strings.Contains(string(e.Payload), about) {
			n++
		}
	}
	return n
}

// task makes a task, which is a draft, and which is applied for a minute at most.
func (h *host) task(id string) {
	h.t.Helper()
	_, err := h.Tasks("t").Create(h.t.Context(), json.RawMessage(fmt.Sprintf(`{"task_id":%q,"metadata":{"author_id":"ann","tags":["red"]},"config":{"type":"x","timeout_seconds":60}}`, id)), rpc.WAL)
	require.NoError(h.t, err)
}

// asked makes a task, and asks bob about it.
func (h *host) asked(task, id, rest string) {
	h.t.Helper()
	h.task(task)
	_, err := h.Tasks("t").Move(h.t.Context(), task, rpc.TaskMove{To: approval.Submitted})
	require.NoError(h.t, err)
	_, err = h.Approvals("t").Request(h.t.Context(), task, rpc.ApprovalAsking{Approvals: []json.RawMessage{json.RawMessage(fmt.Sprintf(`{"approval_id":%q,"reviewer_id":"bob"%s}`, id, rest))}}, rpc.WAL)
	require.NoError(h.t, err)
}

// answer is bob's.
func (h *host) answer(id string) {
	h.t.Helper()
	_, err := h.Approvals("t").Respond(h.t.Context(), rpc.ApprovalAnswer{Approval: id, By: "bob", Action: approval.Approve}, rpc.WAL)
	require.NoError(h.t, err)
}

// lifecycle is the eleven rows of the seed's summary of keys: each test makes what the
// pattern stands for, and follows it to its end. What is to be gone is gone once its time is
// over, for who asks, and then by itself for good.
var lifecycle = []struct {
	pattern, lives, ends string
	test                 func(t *testing.T, h *host)
}{
	{"ade:lock:* (active)", "30s", "heartbeat extends, expires auto-release", lifeOfALock},
	{"ade:lock:*:queue", "5m", "cleared on lock release", lifeOfAQueue},
	{"ade:lock:registry", "none", "background job cleans expired", lifeOfTheRegistry},
	{"ade:approval:request:*", "30d", "archived, then deleted", lifeOfAnApproval},
	{"ade:approval:queue:*", "none", "entries removed on status change", lifeOfAnApprovalQueue},
	{"ade:task:*:state", "90d", "archived to cold storage", lifeOfATask("ade:task:t-1:state", `"DRAFT"`)},
	{"ade:task:*:data", "90d", "archived to cold storage", lifeOfATask("ade:task:t-1:data", "")},
	{"ade:task:index:*", "90d", "cleared on task deletion", lifeOfATaskIndex},
	{"ade:session:*", "24h", "auto-expire", lifeOfASession},
	{"ade:events:*", "7d", "MAXLEN eviction", lifeOfEvents},
	{"ade:ratelimit:*", "1m", "auto-expire", lifeOfALimit},
}

func TestA93EveryRowOfTheLifecycleTable(t *testing.T) {
	for _, row := range lifecycle {
		t.Run(row.pattern, func(t *testing.T) {
			db := mem.New()
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			h := hosted(t, db, kvtest.New())
			row.test(t, h)
			h.end()
			sound(t, db)
		})
	}
}

func lifeOfALock(t *testing.T, h *host) {
	const key = "ade:lock:task:x"
	locks := h.Locks("t")
	g, err := locks.Acquire(t.Context(), rpc.LockRequest{Name: "task:x", Agent: "a"})
	require.NoError(t, err)
	h.clock.Pass(30*time.Second - tick)
	require.Contains(t, h.key(locks.Lookup, key), `"holder_agent_id":"a"`)
	_, err = locks.Renew(t.Context(), rpc.LockHolding{Name: "task:x", Agent: "a", Token: g.Token}, 0, rpc.WAL)
	require.NoError(t, err)
	h.clock.Pass(30*time.Second - tick)
	require.Contains(t, h.key(locks.Lookup, key), `"heartbeat_count":1`)
	h.clock.Pass(over)
	require.Equal(t, absent, h.key(locks.Lookup, key))
	h.soon("its rows are gone", func() bool {
		return h.rows(kv.ShapeRecord, "task:x")+h.rows(kv.ShapeIndex, "task:x")+h.rows(kv.ShapeDue, "task:x") == 0
	})
	h.soon("it is told", func() bool { return h.told(event.Lock, "lock:expired", "task:x") == 1 })
}

func lifeOfAQueue(t *testing.T, h *host) {
	const key = "ade:lock:task:x:queue"
	locks := h.Locks("t")
	held := func() rpc.LockHolding {
		g, err := locks.Acquire(t.Context(), rpc.LockRequest{Name: "task:x", Agent: "a", TTL: 30 * time.Minute})
		require.NoError(t, err)
		return rpc.LockHolding{Name: "task:x", Agent: "a", Token: g.Token}
	}
	wait := func() chan error {
		ended, queued := make(chan error, 1), make(chan int, 1)
		go func() {
			_, err := locks.Acquire(t.Context(), rpc.LockRequest{Name: "task:x", Agent: "b", Wait: true, PlaceOnce: true, Moved: func(place int) { queued <- place }})
			ended <- err
		}()
		require.Equal(t, 1, <-queued)
		require.Contains(t, h.key(locks.Lookup, key), `"b`)
		return ended
	}
	mine, ended := held(), wait()
	h.clock.Pass(5*time.Minute - tick)
	require.Contains(t, h.key(locks.Lookup, key), `"b`)
	h.clock.Pass(over)
	require.ErrorIs(t, <-ended, lock.ErrWaitTimeout)
	require.Equal(t, "[]", h.key(locks.Lookup, key))

	ended = wait()
	_, err := locks.Release(t.Context(), mine, rpc.WAL)
	require.NoError(t, err)
	require.NoError(t, <-ended)
	require.Equal(t, "[]", h.key(locks.Lookup, key))
}

func lifeOfTheRegistry(t *testing.T, h *host) {
	const key = "ade:lock:registry"
	locks := h.Locks("t")
	for name, ttl := range map[string]time.Duration{"task:x": time.Minute, "resource:db:main": time.Hour} {
		_, err := locks.Acquire(t.Context(), rpc.LockRequest{Name: name, Agent: "a", TTL: ttl})
		require.NoError(t, err)
	}
	require.Contains(t, h.key(locks.Lookup, key), "ade:lock:task:x")
	h.clock.Pass(time.Minute)
	require.NotContains(t, h.key(locks.Lookup, key), "task:x")
	require.Contains(t, h.key(locks.Lookup, key), "ade:lock:resource:db:main")
	h.soon("what it was computed from is gone", func() bool { return h.rows(kv.ShapeRecord, "task:x") == 0 })
	h.clock.Pass(time.Hour)
	require.Equal(t, "[]", h.key(locks.Lookup, key))
}

func lifeOfAnApproval(t *testing.T, h *host) {
	const key = "ade:approval:request:a-1"
	tasks := h.Tasks("t")
	h.asked("t-1", "a-1", "")
	h.answer("a-1")
	h.clock.Pass(30*day - tick)
	require.Contains(t, h.key(tasks.Lookup, key), `"APPROVED"`)
	h.clock.Pass(over)
	h.soon("it is archived", func() bool { return h.key(tasks.Lookup, key) == absent })
	require.Equal(t, "[]", h.key(tasks.Lookup, "ade:approval:index:task:t-1"))
	d, err := h.Records("t").Get(t.Context(), approval.Archive, "a-1")
	require.NoError(t, err)
	require.Contains(t, string(d.JSON), `"APPROVED"`)
	h.soon("its job is gone", func() bool { return h.rows(kv.ShapeRecord, "archive:a-1") == 0 })
}

func lifeOfAnApprovalQueue(t *testing.T, h *host) {
	tasks := h.Tasks("t")
	h.asked("t-1", "a-1", "")
	h.asked("t-2", "a-2", `,"on_timeout":"auto_reject"`)
	for _, key := range []string{"ade:approval:queue:user:bob", "ade:approval:queue:global"} {
		require.Contains(t, h.key(tasks.Lookup, key), `"a-1"`)
	}
	h.answer("a-1")
	for _, key := range []string{"ade:approval:queue:user:bob", "ade:approval:queue:global"} {
		require.NotContains(t, h.key(tasks.Lookup, key), `"a-1"`)
		require.Contains(t, h.key(tasks.Lookup, key), `"a-2"`)
	}
	h.clock.Pass(48*time.Hour + tick)
	h.soon("what is due is answered", func() bool { return h.key(tasks.Lookup, "ade:approval:queue:global") == "[]" })
	require.Equal(t, "[]", h.key(tasks.Lookup, "ade:approval:queue:user:bob"))
}

func lifeOfATask(key, shows string) func(*testing.T, *host) {
	return func(t *testing.T, h *host) {
		tasks := h.Tasks("t")
		h.task("t-1")
		h.clock.Pass(day)
		_, err := tasks.Update(t.Context(), "t-1", json.RawMessage(`{"note":"a change begins the ninety days anew"}`), record.UpdateOptions{})
		require.NoError(t, err)
		h.clock.Pass(90*day - tick)
		require.Contains(t, h.key(tasks.Lookup, key), shows)
		h.clock.Pass(over)
		require.Equal(t, absent, h.key(tasks.Lookup, key))
		h.soon("its rows are gone", func() bool { return h.rows(kv.ShapeRecord, "t-1")+h.rows(kv.ShapeIndex, "t-1") == 0 })
	}
}

func lifeOfATaskIndex(t *testing.T, h *host) {
	tasks := h.Tasks("t")
	indexes := []string{"ade:task:index:state:DRAFT", "ade:task:index:author:ann", "ade:task:index:tag:red"}
	h.task("t-1")
	h.task("t-2")
	for _, key := range indexes {
		require.Contains(t, h.key(tasks.Lookup, key), `"t-2"`)
	}
	_, err := tasks.Delete(t.Context(), "t-2", record.UpdateOptions{})
	require.NoError(t, err)
	h.clock.Pass(90*day - tick)
	for _, key := range indexes {
		require.Contains(t, h.key(tasks.Lookup, key), `"t-1"`)
		require.NotContains(t, h.key(tasks.Lookup, key), `"t-2"`)
	}
	h.clock.Pass(over)
	for _, key := range indexes {
		require.Equal(t, "[]", h.key(tasks.Lookup, key))
	}
	h.soon("its rows are gone", func() bool { return h.rows(kv.ShapeIndex, "t-1") == 0 })
}

func lifeOfASession(t *testing.T, h *host) {
	sessions := h.Sessions("t")
	_, err := sessions.Create(t.Context(), json.RawMessage(`{"session_id":"s-1","user_id":"ann"}`), rpc.WAL)
	require.NoError(t, err)
	h.clock.Pass(day - tick)
	require.Contains(t, h.key(sessions.Lookup, "ade:session:s-1"), `"ann"`)
	require.NotEqual(t, "[]", h.key(sessions.Lookup, "ade:session:index:user:ann"))
	h.clock.Pass(over)
	require.Equal(t, absent, h.key(sessions.Lookup, "ade:session:s-1"))
	require.Equal(t, "[]", h.key(sessions.Lookup, "ade:session:index:user:ann"))
	h.soon("its rows are gone", func() bool {
		return h.rows(kv.ShapeRecord, "@")+h.rows(kv.ShapeIndex, "@")+h.rows(kv.ShapeDue, "@") == 0
	})
}

func lifeOfEvents(t *testing.T, h *host) {
	events := h.Events("t")
	publish := func(n int) {
		list := make([]rpc.EventNew, n)
		for i := range list {
			list[i] = rpc.EventNew{Name: "task:created"}
		}
		_, err := events.Publish(t.Context(), rpc.WAL, event.Task, list)
		require.NoError(t, err)
	}
	kept := func() uint64 {
		info, err := events.Info(t.Context(), event.Task)
		require.NoError(t, err)
		return info.Entries
	}
	for range event.Kept / event.MaxBatch {
		publish(event.MaxBatch)
	}
	publish(1)
	require.EqualValues(t, event.Kept, kept(), "the newest, exactly")
	h.clock.Pass(day)
	publish(2)
	h.clock.Pass(event.KeptFor - day - tick)
	require.EqualValues(t, event.Kept, kept())
	h.clock.Pass(over)
	require.EqualValues(t, 2, kept())
	h.soon("their rows are gone", func() bool { return h.rows(kv.ShapeEntry, event.Task) == 2 })
	h.clock.Pass(day)
	require.Equal(t, "[]", h.key(events.Lookup, "ade:events:task"))
	h.soon("all rows are gone", func() bool { return h.rows(kv.ShapeEntry, event.Task) == 0 })
}

func lifeOfALimit(t *testing.T, h *host) {
	const key = "ade:ratelimit:tasks:create:ann"
	limits := h.Limits("t")
	check := func() bool {
		v, err := limits.Check(t.Context(), rpc.LimitName{Endpoint: "tasks:create", User: "ann"}, rpc.LimitRule{Max: 1, Window: time.Minute}, rpc.WAL)
		require.NoError(t, err)
		return v.Allowed
	}
	require.True(t, check())
	h.clock.Pass(time.Minute - tick)
	require.Equal(t, "1", h.key(limits.Lookup, key))
	require.False(t, check())
	h.clock.Pass(over)
	require.Equal(t, absent, h.key(limits.Lookup, key))
	h.soon("its rows are gone", func() bool { return h.rows(kv.ShapeRecord, "ann")+h.rows(kv.ShapeDue, "ann") == 0 })
	require.True(t, check())
}
