package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/kv/session"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/kv/stream"
)

// sessionSecret is what opens the session of fillCapabilities.
const sessionSecret = "sess-opens-everything"

// fillCapabilities puts for acme what agents coordinate by, of every kind: locks, agents,
// tasks, approvals, sessions, limits, events, streams, buckets, jobs, settings.
func fillCapabilities(t testing.TB, e engine.Engine) {
	ctx, log, clock := t.Context(), slog.New(slog.DiscardHandler), kvtest.New()
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	store, err := kv.Open(e, kv.Options{Clock: clock, Log: log})
	must(err)

	configured, err := setting.New(store, setting.Options{Log: log})
	must(err)
	_, err = configured.Set(ctx, "acme", setting.DeadlockDetection, []byte(`"disabled"`), engine.WAL)
	must(err)

	limits, err := limit.New(store, limit.Options{})
	must(err)
	_, err = limits.Check(ctx, "acme", limit.Name{Endpoint: "tasks:create", User: "u"}, limit.Rule{Max: 1}, engine.WAL)
	must(err)

	locks, err := lock.New(store, lock.Options{Log: log})
	must(err)
	must(locks.Register(ctx, "acme", "deployer", 3, engine.WAL))
	for _, r := range []lock.Request{
		{Name: lock.Task("1"), Agent: "deployer", Purpose: "a deployment"},
		{Name: lock.Task("2"), Agent: "deployer"},
		{Name: lock.Resource("database", "main"), Agent: "reader-1", Mode: lock.Shared},
		{Name: lock.Resource("database", "main"), Agent: "reader-2", Mode: lock.Shared},
	} {
		_, err := locks.Acquire(ctx, "acme", r)
		must(err)
	}
	_, err = locks.Release(ctx, "acme", lock.Holding{Name: lock.Task("2"), Agent: "deployer"}, engine.WAL)
	must(err)

	records, err := record.New(store, record.Options{})
	must(err)
	sessions, err := session.New(records, session.Options{})
	must(err)
	_, err = sessions.Create(ctx, "acme", []byte(`{"session_id":"`+sessionSecret+`","user_id":"ann"}`), record.WriteOptions{})
	must(err)
	approvals, err := approval.New(records, approval.Options{Locks: locks})
	must(err)
	for _, id := range []string{"t-1", "t-2"} {
		_, err = approvals.CreateTask(ctx, "acme", fmt.Appendf(nil, `{"task_id":%q,"metadata":{"author_id":"ann"},"config":{"type":"infrastructure"}}`, id), record.WriteOptions{})
		must(err)
	}
	_, err = approvals.Move(ctx, "acme", "t-1", approval.Move{To: approval.Submitted})
	must(err)
	_, err = approvals.Request(ctx, "acme", "t-1", approval.Asking{Approvals: []json.RawMessage{
		[]byte(`{"approval_id":"a-1","reviewer_id":"bob","risk_score":35}`), []byte(`{"approval_id":"a-2","reviewer_id":"cid"}`)}}, record.WriteOptions{})
	must(err)
	_, err = approvals.Respond(ctx, "acme", approval.Answer{Approval: "a-2", By: "cid", Action: approval.Approve}, engine.WAL)
	must(err)
	_, err = records.Create(ctx, "acme", approval.Delegations, []byte(`{"policy_id":"policy-1","owner_id":"bob","delegate_to":"cid"}`), record.WriteOptions{})
	must(err)

	events, err := event.New(store, event.Options{})
	must(err)
	feed, err := events.Open(ctx, "acme")
	must(err)
	_, err = feed.Publish(ctx, engine.WAL, event.Task, []event.Event{{Name: "task:created", Payload: []byte(`{"task_id":"t-1"}`), Source: "stoa"}, {Name: "task:state_changed"}, {Name: "last"}})
	must(err)
	delivered, err := feed.ReadGroup(ctx, engine.WAL, event.Consumer{Stream: event.Task, Group: "audit-logger", Name: "consumer-1"}, 2, 0)
	must(err)
	require.Len(t, delivered, 2)

	named, err := stream.New(store, stream.Options{Log: log})
	must(err)
	streams, err := named.Open(ctx, "acme")
	must(err)
	_, err = streams.Create(ctx, engine.WAL, "orders", kv.StreamLimits{})
	must(err)
	_, err = streams.CreateConsumer(ctx, engine.WAL, "orders", stream.Config{Name: "billing", MaxDeliver: 1})
	must(err)
	_, err = streams.Publish(ctx, engine.WAL, "orders", stream.AppendOptions{}, stream.Message{Subject: "orders.1", Payload: []byte("one")}, stream.Message{Subject: "orders.2"}, stream.Message{Subject: "orders.3"})
	must(err)
	billing, err := streams.Consumer("orders", "billing")
	must(err)
	fetched, err := billing.Fetch(ctx, engine.WAL, stream.FetchOptions{Limit: 2})
	must(err)
	must(billing.Terminate(ctx, engine.WAL, stream.Ref{Number: 1, Token: fetched[0].Token}, "it is no order"))

	buckets, err := bucket.New(store, bucket.Options{Log: log})
	must(err)
	agreed, err := buckets.Propose(ctx, "acme", []byte(`{"service":"activity","schemas":{"E":{"type":"string"}},"resources":{"kv":{"log":{"purpose":"p","schema":{"schema":"E"},"history":3}}}}`))
	must(err)
	_, err = buckets.Accept(ctx, "acme", "activity", agreed.Proposed.Digest(), false)
	must(err)
	_, err = buckets.Reconcile(ctx, "acme", "activity")
	must(err)
	inLog, err := buckets.Bound("acme", "activity", "log")
	must(err)
	for _, key := range []string{"ann.logs-in", "ann.logs-out"} {
		_, err = inLog.Put(ctx, key, []byte(`"value of `+key+`"`), bucket.PutOptions{})
		must(err)
	}
	_, err = inLog.Delete(ctx, "ann.logs-in", bucket.DeleteOptions{})
	must(err)

	jobs, err := job.New(store, job.Options{Log: log})
	must(err)
	queues, err := jobs.Open(ctx, "acme")
	must(err)
	for _, j := range []job.Job{{ID: "x-1", Queue: job.Archive}, {ID: "x-2", Queue: job.LockCleanup}} {
		_, _, err = queues.Add(ctx, engine.WAL, j)
		must(err)
	}
	must(queues.Put(ctx, engine.WAL, job.Job{ID: "x-3", Queue: job.Archive, Due: clock.Now().Add(time.Hour)}))
	_, err = queues.Lease(ctx, job.LeaseOptions{Queue: job.LockCleanup, Worker: "w"})
	must(err)
	jobs.Close()
	locks.Close()
	must(store.Close())
}

// capabilityStore is a store that fillCapabilities has filled.
func capabilityStore(t testing.TB) *Source {
	e := mem.New()
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	fillCapabilities(t, e)
	return From(e, Facts{})
}

// rowOf is the row of a shape of a space whose key has a text in it: of the space of a
// system, or of the collection of a name. One of what is due is of the space that it speaks of.
func rowOf(t testing.TB, s *Source, of any, shape kv.Shape, text string) (key, value []byte) {
	names := s.spaces()
	it, err := s.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	for it.Next() {
		row, err := kv.ParseRow(it.Key())
		require.NoError(t, err)
		if row.Shape != shape || !bytes.Contains(it.Key(), []byte(text)) {
			continue
		}
		scope := row.Scope
		if shape == kv.ShapeDue {
			scope = row.Of
		}
		in, err := names.of(scope)
		require.NoError(t, err)
		if in != nil && (of == any(in.System) || of == any(in.Name)) {
			return bytes.Clone(it.Key()), bytes.Clone(it.Value())
		}
	}
	require.Fail(t, "there is no such row", "%v %s %q", of, shape, text)
	return nil, nil
}
