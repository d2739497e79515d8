//go:build cgo

package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/rpc"
)

// A store is copied while every capability of it is written to: each copy is sound, is one
// state of all of them, and has what was answered before. Copies are served, and go on.
func TestA92CopiesOfAStoreUnderLoadAreSound(t *testing.T) {
	db, err := rocks.Open(filepath.Join(t.TempDir(), "live"), rocks.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	live := hosted(t, db, kvtest.New())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var loads sync.WaitGroup
	var rounds atomic.Int64 // that were answered
	for n := range 4 {
		loads.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := live.round(ctx, fmt.Sprint(n, "-", i)); err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				rounds.Add(1)
			}
		})
	}
	for n := range 3 {
		more := rounds.Load() + 8
		require.Eventually(t, func() bool { return rounds.Load() >= more || t.Failed() }, patience, tick)
		dir := filepath.Join(t.TempDir(), fmt.Sprint("copy-", n))
		done := rounds.Load()
		require.NoError(t, live.Checkpoint(t.Context(), dir))
		func() {
			e, err := rocks.Open(dir, rocks.Options{MustExist: true})
			require.NoError(t, err)
			defer func() { require.NoError(t, e.Close()) }()
			sound(t, e)
			restored := hosted(t, e, kvtest.New())
			restored.oneState(done)
			require.NoError(t, restored.round(t.Context(), "after"))
			restored.end()
			sound(t, e)
		}()
	}
	stop()
	loads.Wait()
	live.end()
	sound(t, db)
}

// round uses every capability once.
func (h *host) round(ctx context.Context, id string) error {
	locks, jobs, tasks := h.Locks("t"), h.Jobs("t"), h.Tasks("t")
	task, agent := "task-"+id, "agent-"+id
	document := func(format string, args ...any) json.RawMessage { return fmt.Appendf(nil, format, args...) }
	move := func(m rpc.TaskMove) error {
		_, err := tasks.Move(ctx, task, m)
		return err
	}
	var grant rpc.LockGrant
	for _, do := range []func() error{
		func() error {
			_, err := tasks.Create(ctx, document(`{"task_id":%q,"metadata":{"author_id":"ann"},"config":{"type":"x"}}`, task), rpc.WAL)
			return err
		},
		func() error { return move(rpc.TaskMove{To: approval.Submitted}) },
		func() error {
			_, err := h.Approvals("t").Request(ctx, task, rpc.ApprovalAsking{Approvals: []json.RawMessage{document(`{"approval_id":%q,"reviewer_id":"bob"}`, "app-"+id)}}, rpc.WAL)
			return err
		},
		func() error {
			_, err := h.Approvals("t").Respond(ctx, rpc.ApprovalAnswer{Approval: "app-" + id, By: "bob", Action: approval.Approve}, rpc.WAL)
			return err
		},
		func() error { return locks.Register(ctx, agent, 2, rpc.WAL) },
		func() (err error) {
			grant, err = locks.Acquire(ctx, rpc.LockRequest{Name: lock.Task(task), Agent: agent})
			return err
		},
		func() error { return move(rpc.TaskMove{To: approval.Applying, Agent: agent, Token: grant.Token}) },
		func() error {
			return move(rpc.TaskMove{To: approval.Completed, Agent: agent, Token: grant.Token, Outcome: rpc.TaskOutcome{Result: "success"}})
		},
		func() error {
			_, err := locks.Release(ctx, rpc.LockHolding{Name: lock.Task(task), Agent: agent, Token: grant.Token}, rpc.WAL)
			return err
		},
		func() error {
			_, err := h.Sessions("t").Create(ctx, document(`{"session_id":%q,"user_id":"ann"}`, "s-"+id), rpc.WAL)
			return err
		},
		func() error {
			_, err := h.Limits("t").Check(ctx, rpc.LimitName{Endpoint: "tasks:create", User: id}, rpc.LimitRule{Max: 2, Window: day}, rpc.WAL)
			return err
		},
		func() error {
			_, _, err := jobs.Enqueue(ctx, rpc.WAL, rpc.Job{ID: "job-" + id, Queue: job.LockCleanup})
			return err
		},
		func() error {
			_, err := h.Settings("t").Set(ctx, setting.LockDefaultTTL, []byte("60"), rpc.WAL)
			return err
		},
		func() error {
			consumer := rpc.EventConsumer{Stream: event.Task, Group: "audit-logger", Name: agent}
			list, err := h.Events("t").ReadGroup(ctx, rpc.WAL, consumer, 2, 0)
			if err != nil || len(list) == 0 {
				return err
			}
			_, err = h.Events("t").Acknowledge(ctx, rpc.WAL, event.Task, consumer.Group, []rpc.EventID{list[0].ID})
			return err
		},
	} {
		if err := do(); err != nil {
			return fmt.Errorf("round %s: %w", id, err)
		}
	}
	return nil
}

// oneState demands that at least so many rounds are whole, and that what the streams tell of
// tasks is what the tasks are: both are of one moment.
func (h *host) oneState(rounds int64) {
	h.t.Helper()
	told := map[string]string{}
	for after := (rpc.EventID{}); ; {
		list, err := h.Events("t").Read(h.t.Context(), event.Task, rpc.EventReadOptions{After: after, Limit: 1000})
		require.NoError(h.t, err)
		if len(list) == 0 {
			break
		}
		for _, e := range list {
			var of struct {
				Task string `json:"task_id"`
				To   string
			}
			require.NoError(h.t, json.Unmarshal(e.Payload, &of))
			told[of.Task], after = of.To, e.ID
		}
	}
	is, completed := documentsOf(h.t, "state", h.Records("t").All(h.t.Context(), approval.Tasks, rpc.RecordQuery{})), int64(0)
	require.Equal(h.t, told, is)
	for _, state := range is {
		if state == approval.Completed {
			completed++
		}
	}
	require.GreaterOrEqual(h.t, completed, rounds)
}

// documentsOf are documents by their ids: what each has in a field, or all of it for "".
func documentsOf(t testing.TB, field string, list iter.Seq2[rpc.Doc, error]) map[string]string {
	t.Helper()
	all := map[string]string{}
	for d, err := range list {
		require.NoError(t, err)
		if all[d.ID] = string(d.JSON); field != "" {
			all[d.ID], _ = document.Text(document.Field(d.JSON, document.Path{field}))
		}
	}
	return all
}

// A copy, and the log of what was written since, make every state in between: the documents
// as they were at a revision.
func TestA92ACopyAndTheLogMakeWhatWasAtARevision(t *testing.T) {
	db, err := rocks.Open(filepath.Join(t.TempDir(), "live"), rocks.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	live := hosted(t, db, kvtest.New())
	ctx := t.Context()
	tasks := func(h *host) map[string]string {
		return documentsOf(t, "", h.Records("t").All(ctx, approval.Tasks, rpc.RecordQuery{}))
	}
	for i := range 5 {
		require.NoError(t, live.round(ctx, fmt.Sprint("before-", i)))
	}
	dir := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, live.Checkpoint(ctx, dir))
	require.NoError(t, live.round(ctx, "since"))
	_, err = live.Tasks("t").Delete(ctx, "task-before-1", record.UpdateOptions{})
	require.NoError(t, err)
	last, err := live.Tasks("t").Update(ctx, "task-before-2", json.RawMessage(`{"note":"the last that counts"}`), record.UpdateOptions{})
	require.NoError(t, err)
	want := tasks(live)
	require.NoError(t, live.round(ctx, "too-late"))

	e, err := rocks.Open(dir, rocks.Options{MustExist: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	copied := hosted(t, e, kvtest.New())
	got, from := tasks(copied), uint64(0)
	for e, err := range copied.Records("t").Watch(ctx, approval.Tasks, "", rpc.Once()) {
		require.NoError(t, err)
		if e.Kind == rpc.EventSynced {
			from = e.Revision
			break
		}
	}
	require.NotEqual(t, want, got)
	for e, err := range live.Records("t").Watch(ctx, approval.Tasks, "", rpc.After(from), rpc.Once()) {
		require.NoError(t, err)
		switch e.Kind {
		case rpc.EventPut:
			got[e.Doc.ID] = string(e.Doc.JSON)
		case rpc.EventDelete, rpc.EventExpire:
			delete(got, e.Doc.ID)
		default:
			require.Fail(t, "the log is whole", e.Kind.String())
		}
		if e.Revision == last.Revision {
			break
		}
	}
	require.Equal(t, want, got)
}

// What was due while nobody served a store is done once, by who serves a copy of it.
func TestWhatWasDueSinceACheckpointIsDoneOnce(t *testing.T) {
	db, err := rocks.Open(filepath.Join(t.TempDir(), "live"), rocks.Options{})
	require.NoError(t, err)
	live := hosted(t, db, kvtest.New(), job.Archive)
	live.willBeDue()
	dir := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, live.Checkpoint(t.Context(), dir))
	live.end()
	require.NoError(t, db.Close())
	e, err := rocks.Open(dir, rocks.Options{MustExist: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	wasDue(t, e)
}
