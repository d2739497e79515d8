package approvaltest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
)

var ctx = context.Background()

// Host is the capability on an engine, with a clock by hand, and how a test reaches it. Its
// methods are about the tenant t, and fail the test where they return no error.
type Host struct {
	Approvals

	// What is behind: for what no client does.
	DB       engine.Engine
	Clock    *kvtest.Clock
	KV       *kv.Store
	Store    *approval.Store
	Locks    *lock.Store
	Settings approval.Settings // of all tenants
	Outputs  map[string]string // by their keys

	t     testing.TB
	reach Reach
	heard int // events
	close func()
}

// Open opens the capability on an engine. What is derived is recounted after the test,
// unless it is closed before.
func Open(t testing.TB, db engine.Engine, clock *kvtest.Clock, reach Reach) *Host {
	t.Helper()
	h := &Host{DB: db, Clock: clock, Outputs: map[string]string{}, t: t, reach: reach}
	quiet := slog.New(slog.DiscardHandler)
	var err error
	h.KV, err = kv.Open(db, kv.Options{Clock: clock, Log: quiet})
	require.NoError(t, err)
	require.NoError(t, h.KV.Declare(toldType()))
	h.Locks, err = lock.New(h.KV, lock.Options{Log: quiet})
	require.NoError(t, err)
	records, err := record.New(h.KV, record.Options{})
	require.NoError(t, err)
	h.Store, err = approval.New(records, approval.Options{
		Settings: func(string) approval.Settings { return h.Settings },
		Events:   func(ctx context.Context, tenant string) (approval.Feed, error) { return openTold(ctx, h.KV, tenant) },
		Jobs:     func(ctx context.Context, tenant string) (approval.Queues, error) { return openTold(ctx, h.KV, tenant) },
		Locks:    h.Locks,
		Output: func(_ context.Context, _ string, output []byte) (string, error) {
			h.Outputs["blob-1"] = string(output)
			return "blob-1", nil
		},
	})
	require.NoError(t, err)
	var leave func()
	h.Approvals, leave = reach(t, db, h.Store)
	open := true
	h.close = func() {
		if open {
			open = false
			leave()
			h.Locks.Close()
			require.NoError(t, h.KV.Close())
		}
	}
	t.Cleanup(func() {
		if open {
			h.Check()
			h.close()
		}
	})
	return h
}

// Close closes all but the engine.
func (h *Host) Close() { h.close() }

// Check demands that what follows from the records is what it is to be: indexes, queues, who
// is asked about which task, and what is told of it all.
func (h *Host) Check() {
	h.t.Helper()
	for f, err := range h.KV.Check(ctx) {
		require.NoError(h.t, err)
		require.Fail(h.t, "the check finds", f.String())
	}
	records := h.Store.Records()
	view, err := records.View("t")
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, view.Close()) }()
	all := map[string]map[string]record.Doc{}
	for _, name := range records.Collections() {
		c, err := records.Collection(name)
		require.NoError(h.t, err)
		all[name] = map[string]record.Doc{}
		for d, err := range view.All(ctx, name) {
			require.NoError(h.t, err)
			require.NoError(h.t, c.Verify(d), "%s", d.JSON)
			all[name][d.ID] = d
		}
	}
	jobs := h.jobs()
	for id, d := range all[approval.Approvals] {
		a := objectOf(h.t, d.JSON)
		if a["queue"] == nil {
			require.Contains(h.t, jobs, approval.QueueArchive+":"+id)
			continue
		}
		task, ok := all[approval.Tasks][a["task_id"].(string)]
		if !ok {
			continue // its time was over
		}
		of := objectOf(h.t, task.JSON)
		require.Equal(h.t, approval.Reviewing, of["state"], "%s waits for an answer about %s", id, task.JSON)
		require.Equal(h.t, of["round"], a["round"])
		if a["overdue"] == nil {
			require.Contains(h.t, jobs, approval.QueueApprovalTimeout+":"+id)
		}
	}
	for id, d := range all[approval.Tasks] {
		of := objectOf(h.t, d.JSON)
		_, waits := jobs[approval.QueueTaskTimeout+":"+id]
		require.Equal(h.t, of["state"] == approval.Applying, waits, "%s", d.JSON)
	}
	h.checkEvents(all)
}

// checkEvents demands that the events of each record lead, one after the other, to the state
// that it has.
func (h *Host) checkEvents(all map[string]map[string]record.Doc) {
	h.t.Helper()
	heard := h.heard
	h.heard = 0
	told := map[string]any{}
	for _, e := range h.Events() {
		id, _ := e.Payload["approval_id"].(string)
		if e.Stream == approval.StreamTasks {
			id, _ = e.Payload["task_id"].(string)
		}
		id = e.Stream + " " + id
		if e.Name == approval.EventTaskDeleted {
			require.Equal(h.t, told[id], e.Payload["from"])
			delete(told, id)
			continue
		}
		if e.Name == approval.EventTaskCreated {
			delete(told, id) // one of the same id was there, until its time was over
		}
		if to := e.Payload["to"]; to != nil {
			require.Equal(h.t, told[id], e.Payload["from"], "%v", e)
			told[id] = to
		}
	}
	h.heard = heard
	is := map[string]any{}
	for _, name := range []string{approval.Approvals, approval.Archive} {
		for id, d := range all[name] {
			is[approval.StreamApprovals+" "+id] = objectOf(h.t, d.JSON)["status"]
		}
	}
	for id, d := range all[approval.Tasks] {
		is[approval.StreamTasks+" "+id] = objectOf(h.t, d.JSON)["state"]
	}
	for id, state := range is {
		require.Equal(h.t, state, told[id], id)
	}
}

// Object is a JSON object.
type Object map[string]any

// JSON is its text.
func (o Object) JSON() []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // tests make them of what JSON has
	}
	return text
}

func objectOf(t testing.TB, text []byte) (o Object) {
	t.Helper()
	require.NoError(t, json.Unmarshal(text, &o))
	return o
}

// in is the object under a name.
func (o Object) in(name string) Object {
	inner, _ := o[name].(map[string]any)
	return inner
}

// wal is how the tests write.
const wal = engine.WAL

// TryTask makes a task, unless that is refused.
func (h *Host) TryTask(doc Object) (record.Doc, error) {
	return h.CreateTask(ctx, "t", doc.JSON(), record.WriteOptions{Durability: wal})
}

// NewTask makes a task in DRAFT with an id.
func (h *Host) NewTask(id string) string {
	h.t.Helper()
	d, err := h.TryTask(Object{"task_id": id, "metadata": Object{"author_id": "user-001"}, "config": Object{"type": "infrastructure"}})
	require.NoError(h.t, err)
	return d.ID
}

// TryMove moves a task, unless that is refused.
func (h *Host) TryMove(id, to string) error {
	_, err := h.Move(ctx, "t", id, approval.Move{To: to, Durability: wal})
	return err
}

// MoveTo moves a task from state to state.
func (h *Host) MoveTo(id string, states ...string) {
	h.t.Helper()
	for _, to := range states {
		require.NoError(h.t, h.TryMove(id, to), to)
	}
}

// Lock has an agent hold the lock of a task, and returns the token.
func (h *Host) Lock(id, agent string) uint64 {
	h.t.Helper()
	g, err := h.Locks.Acquire(ctx, "t", lock.Request{Name: lock.Task(id), Agent: agent})
	require.NoError(h.t, err)
	return g.Token
}

// Apply has an agent apply a task.
func (h *Host) Apply(id, agent string) uint64 {
	h.t.Helper()
	token := h.Lock(id, agent)
	_, err := h.Move(ctx, "t", id, approval.Move{To: approval.Applying, Agent: agent, Token: token, Durability: wal})
	require.NoError(h.t, err)
	return token
}

// Complete has an agent say what has come of it.
func (h *Host) Complete(id, agent string, token uint64, o approval.Outcome) Object {
	h.t.Helper()
	d, err := h.Move(ctx, "t", id, approval.Move{To: approval.Completed, Agent: agent, Token: token, Outcome: o, Durability: wal})
	require.NoError(h.t, err)
	return objectOf(h.t, d.JSON)
}

// At brings a new task to a state.
func (h *Host) At(id, state string) {
	h.t.Helper()
	h.NewTask(id)
	way := map[string][]string{
		approval.Submitted: {approval.Submitted},
		approval.Reviewing: {approval.Submitted, approval.Reviewing},
		approval.Approved:  {approval.Submitted, approval.Reviewing, approval.Approved},
		approval.Applying:  {approval.Submitted, approval.Reviewing, approval.Approved},
		approval.Completed: {approval.Submitted, approval.Reviewing, approval.Approved},
		approval.Rejected:  {approval.Submitted, approval.Reviewing, approval.Rejected},
		approval.Cancelled: {approval.Cancelled},
	}
	h.MoveTo(id, way[state]...)
	if state == approval.Applying || state == approval.Completed {
		token := h.Apply(id, "agent-"+id)
		if state == approval.Completed {
			h.Complete(id, "agent-"+id, token, approval.Outcome{Result: "success"})
		}
	}
}

// Get returns a task.
func (h *Host) Get(id string) Object {
	h.t.Helper()
	d, err := h.Task(ctx, "t", id)
	require.NoError(h.t, err)
	return objectOf(h.t, d.JSON)
}

// TryAsk asks about a task with documents, unless that is refused.
func (h *Host) TryAsk(task string, required int, docs ...Object) ([]record.Doc, error) {
	a := approval.Asking{Required: required}
	for _, doc := range docs {
		a.Approvals = append(a.Approvals, doc.JSON())
	}
	return h.Request(ctx, "t", task, a, record.WriteOptions{Durability: wal})
}

// Ask asks reviewers about a task; the id of each approval is that of task and reviewer.
func (h *Host) Ask(task string, required int, reviewers ...string) (ids []string) {
	h.t.Helper()
	var docs []Object
	for _, r := range reviewers {
		docs = append(docs, Object{"approval_id": task + "-" + r, "reviewer_id": r})
	}
	made, err := h.TryAsk(task, required, docs...)
	require.NoError(h.t, err)
	for _, d := range made {
		ids = append(ids, d.ID)
	}
	return ids
}

// Asked returns an approval.
func (h *Host) Asked(id string) Object {
	h.t.Helper()
	d, err := h.Approval(ctx, "t", id)
	require.NoError(h.t, err)
	return objectOf(h.t, d.JSON)
}

// TryAnswer answers, unless that is refused.
func (h *Host) TryAnswer(id, by, action string) error {
	_, err := h.Respond(ctx, "t", approval.Answer{Approval: id, By: by, Action: action, Reason: "because"}, wal)
	return err
}

// Answers gives answers as ID, BY, ACTION.
func (h *Host) Answers(list ...[3]string) {
	h.t.Helper()
	for _, a := range list {
		require.NoError(h.t, h.TryAnswer(a[0], a[1], a[2]), a)
	}
}

// Key returns what a literal key stands for; a refusal is its code.
func (h *Host) Key(key string) string {
	h.t.Helper()
	found, err := h.Lookup(ctx, "t", key)
	if err != nil {
		return code(err)
	}
	return string(found)
}

// code is that of a refusal.
func code(err error) string {
	var e *record.Error
	var l *lock.Error
	switch {
	case errors.As(err, &e):
		return string(e.Code)
	case errors.As(err, &l):
		return string(l.Code)
	case err == nil:
		return ""
	}
	return err.Error()
}

// refused requires a refusal of a code, and of a field unless that is "".
func refused(t testing.TB, err error, want record.Code, field string) *record.Error {
	t.Helper()
	var e *record.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, want, e.Code, e.Reason)
	if field != "" {
		require.Equal(t, field, e.Field)
	}
	return e
}

// waiting are the ids of the queue of a user; "": of all.
func (h *Host) waiting(user string) (ids []string) {
	h.t.Helper()
	page, err := h.Queue(ctx, "t", user, record.Query{Limit: 1000})
	require.NoError(h.t, err)
	for _, d := range page.Docs {
		ids = append(ids, d.ID)
	}
	return ids
}

// changes are the events of a stream since the last call, as ID FROM TO.
func (h *Host) changes(stream string) (list []string) {
	h.t.Helper()
	field := map[string]string{approval.StreamTasks: "task_id", approval.StreamApprovals: "approval_id"}[stream]
	for _, e := range h.Events() {
		if e.Stream == stream {
			part := func(name string) string { s, _ := e.Payload[name].(string); return s }
			list = append(list, part(field)+" "+part("from")+" "+part("to"))
		}
	}
	slices.Sort(list)
	return list
}

// after is the instant some time from now.
func (h *Host) after(d time.Duration) string {
	return h.KV.Now().Add(d).UTC().Format(time.RFC3339Nano)
}
