package daemon

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/rpc"
)

// change is what a stream says of a change of a task, an approval or a lock.
type change struct{ name, of, from, to string }

// told are the changes that a follower of a stream is told, from its beginning to its end.
func told(t *testing.T, events *rpc.Events, stream string) (list []change) {
	t.Helper()
	info, err := events.Info(t.Context(), stream)
	require.NoError(t, err)
	require.NotZero(t, info.Entries, stream)
	for e, err := range events.Follow(t.Context(), stream, event.Place{}) {
		require.NoError(t, err)
		var p struct {
			Task     string `json:"task_id"`
			Approval string `json:"approval_id"`
			Lock     string `json:"lock"`
			From, To string
		}
		require.NoError(t, json.Unmarshal(e.Payload, &p))
		of := map[string]string{event.Task: p.Task, event.Approval: p.Approval, event.Lock: p.Lock}[stream]
		list = append(list, change{e.Name, of, p.From, p.To})
		if e.ID == info.Last {
			break
		}
	}
	return list
}

// Each change of tasks, approvals and locks is in the daemon's streams once, in order, with
// what it was before and is, whoever made it: a caller, a job of the daemon, or time.
func TestA83EachChangeIsInTheStreamsOfTheDaemon(t *testing.T) {
	for name, framing := range map[string]rpc.Framing{"frames": rpc.FramingFrames, "grpc": rpc.FramingGRPC} {
		t.Run(name, func(t *testing.T) {
			db := mem.New()
			defer func() { require.NoError(t, db.Close()) }()
			h := hosted(t, db, kvtest.New())
			defer h.end()
			ctx := t.Context()
			client, err := rpc.Dial(ctx, h.path, rpc.WithFraming(framing))
			require.NoError(t, err)
			defer client.Close()
			tasks, approvals, locks, events := client.Tasks("acme"), client.Approvals("acme"), client.Locks("acme"), client.Events("acme")
			move := func(m rpc.TaskMove) {
				t.Helper()
				_, err := tasks.Move(ctx, "t-1", m)
				require.NoError(t, err)
			}
			_, err = tasks.Create(ctx, map[string]any{"task_id": "t-1", "metadata": map[string]string{"author_id": "ann"}, "config": map[string]any{"type": "x", "timeout_seconds": 2}}, rpc.WAL)
			require.NoError(t, err)
			move(rpc.TaskMove{To: approval.Submitted})
			var asked []json.RawMessage
			for _, who := range []string{"ann", "bob", "cid"} {
				asked = append(asked, json.RawMessage(`{"approval_id":"of-`+who+`","reviewer_id":"`+who+`"}`))
			}
			_, err = approvals.Request(ctx, "t-1", rpc.ApprovalAsking{Approvals: asked, Required: 2}, rpc.WAL)
			require.NoError(t, err)
			_, err = approvals.Delegate(ctx, rpc.ApprovalDelegation{Approval: "of-bob", By: "bob", To: "eve"}, rpc.WAL)
			require.NoError(t, err)
			for id, by := range map[string]string{"of-ann": "ann", "of-bob": "eve"} {
				_, err = approvals.Respond(ctx, rpc.ApprovalAnswer{Approval: id, By: by, Action: approval.Approve}, rpc.WAL)
				require.NoError(t, err)
				_, err = approvals.Respond(ctx, rpc.ApprovalAnswer{Approval: id, By: by, Action: approval.Approve}, rpc.WAL)
				require.ErrorIs(t, err, approval.ErrAlreadyResponded, "which changes nothing")
			}
			g, err := locks.Acquire(ctx, rpc.LockRequest{Name: "task:t-1", Agent: "worker"})
			require.NoError(t, err)
			move(rpc.TaskMove{To: approval.Applying, Agent: "worker", Token: g.Token})
			h.clock.Pass(2*time.Second + 10*time.Millisecond) // a job of the daemon ends it, and frees the lock
			require.Eventually(t, func() bool {
				found, err := tasks.Lookup(ctx, "ade:task:t-1:state")
				require.NoError(t, err)
				l, err := locks.Get(ctx, "task:t-1")
				require.NoError(t, err)
				return string(found) == `"COMPLETED"` && len(l.Holders) == 0
			}, time.Minute, time.Millisecond)
			_, err = locks.Acquire(ctx, rpc.LockRequest{Name: "task:t-1", Agent: "worker", TTL: time.Second})
			require.NoError(t, err)
			h.clock.Pass(time.Second)
			_, err = locks.Acquire(ctx, rpc.LockRequest{Name: "task:t-1", Agent: "other"}) // finds that its time is over
			require.NoError(t, err)

			require.Equal(t, []change{
				{"task:created", "t-1", "", "DRAFT"},
				{"task:state_changed", "t-1", "DRAFT", "SUBMITTED"},
				{"task:state_changed", "t-1", "SUBMITTED", "REVIEWING"},
				{"task:state_changed", "t-1", "REVIEWING", "APPROVED"},
				{"task:state_changed", "t-1", "APPROVED", "APPLYING"},
				{"task:state_changed", "t-1", "APPLYING", "COMPLETED"},
			}, told(t, events, event.Task))
			require.ElementsMatch(t, []change{
				{"approval:created", "of-ann", "", "PENDING"},
				{"approval:created", "of-bob", "", "PENDING"},
				{"approval:created", "of-cid", "", "PENDING"},
				{"approval:state_changed", "of-bob", "PENDING", "DELEGATED"},
				{"approval:state_changed", "of-ann", "PENDING", "APPROVED"},
				{"approval:state_changed", "of-bob", "DELEGATED", "APPROVED"},
				{"approval:state_changed", "of-cid", "PENDING", "CLOSED"},
			}, told(t, events, event.Approval))
			require.Equal(t, []change{
				{"lock:acquired", "ade:lock:task:t-1", "free", "exclusive"},
				{"lock:released", "ade:lock:task:t-1", "exclusive", "free"},
				{"lock:acquired", "ade:lock:task:t-1", "free", "exclusive"},
				{"lock:expired", "ade:lock:task:t-1", "exclusive", "free"},
				{"lock:acquired", "ade:lock:task:t-1", "free", "exclusive"},
			}, told(t, events, event.Lock))
		})
	}
}
