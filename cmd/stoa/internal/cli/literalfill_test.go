package cli

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/policy/policytest"
	"github.com/stoadb/stoa/kv/session"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/server"
	"github.com/stoadb/stoa/rpc/server/socket"
)

// literals is a store of all that literal keys are of, and a daemon that serves it, for the
// tenant acme. Its clock begins with the present, by which the directory is read.
type literals struct {
	db    engine.Engine
	clock *kvtest.Clock
	store *kv.Store
	locks *lock.Store
	jobs  *job.Store
	path  string
	close []func(t *testing.T) // the last first
}

func openLiterals(t *testing.T) *literals {
	quiet := slog.New(slog.DiscardHandler)
	s := &literals{db: mem.New(), clock: kvtest.New()}
	s.clock.Set(time.Since(s.clock.Now()))
	t.Cleanup(func() { _ = s.db.Close() })
	var err error
	s.store, err = kv.Open(s.db, kv.Options{Clock: s.clock, Log: quiet})
	require.NoError(t, err)
	policies, err := policy.New(s.store, policy.Options{})
	require.NoError(t, err)
	o := server.Options{Policies: policies, Records: policies.Records()}
	o.Settings, err = setting.New(s.store, setting.Options{Log: quiet})
	require.NoError(t, err)
	o.Events, err = event.New(s.store, event.Options{})
	require.NoError(t, err)
	o.Limits, err = limit.New(s.store, limit.Options{})
	require.NoError(t, err)
	s.locks, err = lock.New(s.store, lock.Options{Config: o.Settings.Locks, Log: quiet, Events: o.Events})
	require.NoError(t, err)
	o.Locks = s.locks
	o.Sessions, err = session.New(o.Records, session.Options{})
	require.NoError(t, err)
	o.Approvals, err = approval.New(o.Records, approval.Options{Locks: s.locks})
	require.NoError(t, err)
	s.jobs, err = job.New(s.store, job.Options{Log: quiet})
	require.NoError(t, err)
	o.Jobs = s.jobs
	s.serve(t, o)
	return s
}

func (s *literals) serve(t *testing.T, o server.Options) {
	dir, err := os.MkdirTemp("", "stoa-*") // short enough for a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s.path = filepath.Join(dir, SocketName)
	srv, err := server.New(s.db, o)
	require.NoError(t, err)
	ln, err := socket.Listen(s.path, socket.Options{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, ln) }()
	s.close = append(s.close, func(t *testing.T) {
		stop()
		require.NoError(t, <-served)
		s.jobs.Close()
		s.locks.Close()
		require.NoError(t, s.store.Close())
	})
}

func (s *literals) dial(t *testing.T, f rpc.Framing) *rpc.Client {
	c, err := rpc.Dial(t.Context(), s.path, rpc.WithFraming(f))
	require.NoError(t, err)
	s.close = append(s.close, func(*testing.T) { c.Close() })
	return c
}

// end ends all but the engine.
func (s *literals) end(t *testing.T) {
	for i := len(s.close) - 1; i >= 0; i-- {
		s.close[i](t)
	}
}

// fillCoordination brings something of every key of the approval system to the tenant, as an
// import of all that a record may have leaves it. A request waits for a lock until the end.
func (s *literals) fillCoordination(t *testing.T) {
	t.Helper()
	ctx, c := t.Context(), s.dial(t, rpc.FramingFrames)
	for name, value := range map[string]string{"config:lock:default_ttl": "45", "config:lock:heartbeat_interval": "20", "feature:batch_approvals": `"enabled"`} {
		_, err := c.Settings("acme").Set(ctx, name, []byte(value), rpc.WAL)
		require.NoError(t, err)
	}
	s.fillLocks(t, c)
	for _, n := range []rpc.LimitName{{Endpoint: "tasks:create", User: "user-123"}, {Endpoint: "approvals:respond", User: "user-456"}, {Endpoint: "approvals:respond", User: "user-456"},
		{Endpoint: "lock:acquire", User: "agent-123"}} {
		_, err := c.Limits("acme").Check(ctx, n, rpc.LimitRule{Max: 10, Window: time.Hour}, rpc.WAL)
		require.NoError(t, err)
	}
	for _, doc := range []string{`{"session_id":"s-1","user_id":"user-789","user_name":"Ann","roles":["admin"],"permissions":["tasks:create"],"ip_address":"192.0.2.7","user_agent":"curl/8"}`,
		`{"session_id":"s-2","user_id":"user-789"}`} {
		_, err := c.Sessions("acme").Create(ctx, json.RawMessage(doc), rpc.WAL)
		require.NoError(t, err)
	}
	_, err := c.Events("acme").Publish(ctx, rpc.WAL, event.Task, []rpc.EventNew{{Name: "task:state_changed", Payload: json.RawMessage(`{"task_id":"task-123","from":"DRAFT","to":"SUBMITTED"}`), Source: "api-server-01"}})
	require.NoError(t, err)
	fillJobs(t, c.Jobs("acme"))
	fillTasks(t, c)
}

func (s *literals) fillLocks(t *testing.T, c *rpc.Client) {
	t.Helper()
	locks := c.Locks("acme")
	require.NoError(t, locks.Register(t.Context(), "agent-123", 10, rpc.WAL))
	for _, r := range []rpc.LockRequest{{Name: lock.Task(task), Agent: "agent-123", Purpose: "Applying database migration"}, {Name: lock.Resource("database", "prod-db-01"), Agent: "agent-456"},
		{Name: lock.Resource("service", "api-gateway"), Agent: "agent-456", Mode: lock.Shared}} {
		r.TTL = time.Hour
		_, err := locks.Acquire(t.Context(), r)
		require.NoError(t, err)
	}
	ctx, hangUp := context.WithCancel(t.Context())
	queued, left := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		_, err := locks.Acquire(ctx, rpc.LockRequest{Name: lock.Task(task), Agent: "agent-789", Wait: true, MaxWait: time.Hour, Priority: 100, Moved: func(int) { queued <- struct{}{} }})
		left <- err
	}()
	<-queued
	s.clock.Pass(30 * time.Second) // when it is looked who waits for itself
	require.Eventually(t, func() bool {
		_, err := locks.Lookup(ctx, "ade:lock:deadlock:check:agent-789")
		return err == nil
	}, time.Minute, time.Millisecond)
	s.close = append(s.close, func(t *testing.T) {
		hangUp()
		require.ErrorIs(t, <-left, context.Canceled)
	})
}

// fillJobs makes a job that is ready, one that is not due, and one that a worker has.
func fillJobs(t *testing.T, jobs *rpc.Jobs) {
	t.Helper()
	of := json.RawMessage(`{"target":"ade:lock:task:123"}`)
	_, _, err := jobs.Enqueue(t.Context(), rpc.WAL, rpc.Job{ID: "job-3", Queue: job.LockCleanup, Payload: of})
	require.NoError(t, err)
	leased, err := jobs.Lease(t.Context(), rpc.JobLeaseOptions{Queue: job.LockCleanup, Worker: "worker-1", For: time.Hour})
	require.NoError(t, err)
	require.Len(t, leased, 1)
	_, _, err = jobs.Enqueue(t.Context(), rpc.WAL, rpc.Job{ID: "job-1", Queue: job.LockCleanup, Payload: of})
	require.NoError(t, err)
	require.NoError(t, jobs.Schedule(t.Context(), rpc.WAL, rpc.Job{ID: "job-2", Queue: job.LockCleanup, Payload: of, Due: time.Now().Add(time.Hour)}))
}

func fillTasks(t *testing.T, c *rpc.Client) {
	t.Helper()
	now := time.Now().UTC()
	at, later := now.Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339)
	load := func(collection, doc string) {
		t.Helper()
		doc = strings.NewReplacer("\n", "", "AT", `"`+at+`"`, "LATER", `"`+later+`"`).Replace(doc)
		n, err := c.Records("acme").Import(t.Context(), collection, strings.NewReader(doc))
		require.NoError(t, err, collection)
		require.Equal(t, 1, n)
	}
	load(approval.Tasks, `{"task_id":"task-123","state":"COMPLETED","config":{"type":"infrastructure","version":"1","description":"d","parameters":{"x":1},"resources":["database:prod-db-01"],
		"rollback_strategy":"manual","timeout_seconds":60,"priority":50},"metadata":{"author_id":"user-001","author_name":"Ann","team":"ops","ticket_ref":"T-1","tags":["db"],
		"created_at":AT,"updated_at":AT,"submitted_at":AT,"approved_at":AT,"applying_at":AT,"completed_at":AT},
		"execution":{"agent_id":"agent-123","token":7,"started_at":AT,"completed_at":AT,"deadline_at":AT,"result":"failure","output":"o","output_bytes":1,"output_key":"k","error":"e","error_details":{},"retry_count":1},
		"risk":{"score":35,"level":"MEDIUM","factors":[],"auto_approvable":false,"assessed_at":AT,"assessed_by":"v1"}}`)
	load(approval.Tasks, `{"task_id":"task-456","state":"REVIEWING","round":1,"required_count":2,"metadata":{"author_id":"user-002","created_at":AT,"updated_at":AT}}`)
	load(approval.Previews, `{"task_id":"task-123","preview":{"changes":["one"],"warnings":[],"errors":[]},"created_at":AT}`)
	load(approval.Approvals, `{"approval_id":"app-123","task_id":"task-456","round":1,"reviewer_id":"user-790","reviewer_name":"U","status":"APPROVED","priority":"HIGH","delegated_to":"user-790","delegation_chain":["user-790"],
		"created_at":AT,"due_at":AT,"responded_at":AT,"response_action":"approve","response_reason":"r","reviewed_by":"user-790"}`)
	load(approval.Approvals, `{"approval_id":"app-124","task_id":"task-456","round":1,"reviewer_id":"user-789","status":"PENDING","priority":"HIGH","risk_score":35,"created_at":AT,"due_at":LATER}`)
	load(approval.Delegations, `{"policy_id":"policy-456","owner_id":"user-123","delegate_to":"user-789","conditions":{"task_types":["infrastructure"],"risk_above":50},"cascade":true,"active":true,"created_at":AT,"expires_at":LATER}`)
}

// governed is what the store itself names of the governance layer.
type governed struct{ day, event, delegation string }

// fillGovernance brings the source's own records of the governance layer to the tenant.
func (s *literals) fillGovernance(t *testing.T) (g governed) {
	t.Helper()
	ctx, c := t.Context(), s.dial(t, rpc.FramingFrames)
	begun, err := c.Policy("acme").Bootstrap(ctx)
	require.NoError(t, err)
	g.delegation = begun[len(begun)-1].ID
	_, err = c.Policy("acme").Heartbeat(ctx, policy.Governor)
	require.NoError(t, err)
	for _, collection := range []string{policy.Policies, policy.Intents, policy.Claims, policy.Delegations, policy.Ledger} {
		doc := policytest.Example(t, collection)
		switch collection {
		case policy.Delegations:
			delete(doc["constraints"].(map[string]any), "valid_until") // which was to come when it was written
		case policy.Ledger:
			doc = doc.With(policytest.Object{"event_id": nil, "timestamp": nil})
		}
		made, err := c.Records("acme").Create(ctx, collection, doc)
		require.NoError(t, err, collection)
		g.event = made.ID
	}
	at := strings.Split(g.event, "-")[1]
	g.day = at[:4] + "-" + at[4:6] + "-" + at[6:]
	return g
}

// keys are the patterns of the governance layer, in its order.
func (g governed) keys() []literalKey {
	rules := hashOf{"policy_id", "scope", "name", "description", "rules", "active", "created_at", "updated_at", "created_by"}
	const mail, intent, cece, claim, delegation = "pol-20251130-a1b2c3", "int-20251130-x1y2z3", policy.Governor, "clm-20251130-own001", "del-20251130-d001"
	return []literalKey{
		{"policy:email.send:" + mail, rules, nil},
		{"policy:id:" + mail, rules, nil},
		{"policy:active", setOf{"pol-core-safety", "pol-core-audit", mail}, nil},
		{"policy:scope:email.send", setOf{mail}, nil},
		{"ledger:" + intent + ":" + g.event, hashOf{"event_id", "intent_id", "timestamp", "agent_id", "tool", "action", "inputs_hash", "outputs_hash", "policy_decision", "metadata", "notes",
			"previous_hash", "hash"}, nil},
		{"ledger:by_date:" + g.day, setOf{g.event}, nil},
		{"ledger:by_agent:" + cece, setOf{g.event}, nil},
		{"ledger:by_tool:gmail", setOf{g.event}, nil},
		{"ledger:by_intent:" + intent, setOf{g.event}, nil},
		{"ledger:counter:" + g.day, exactly("1"), nil},
		{"agent:" + cece, hashOf{"agent_id", "name", "description", "class", "capabilities", "policies_required", "owner", "status", "config", "created_at", "updated_at", "last_seen"}, nil},
		{"agent:active", setOf{cece}, nil},
		{"agent:by_class:lucidia", setOf{cece}, nil},
		{"agent:by_owner:blackroad.system", setOf{cece}, nil},
		{"intent:" + intent, hashOf{"intent_id", "actor", "goal", "context", "priority", "status", "plan", "assigned_agent", "created_at", "updated_at"}, nil},
		{"intent:active", setOf{intent}, nil},
		{"intent:by_status:executing", setOf{intent}, nil},
		{"intent:by_actor:user:alexa", setOf{intent}, nil},
		{"intent:by_agent:" + cece, setOf{intent}, nil},
		{"claim:user:alexa:" + claim, hashOf{"claim_id", "subject", "claim_type", "object", "assertion", "issued_by", "issued_at", "expires_at", "revoked", "evidence"}, nil},
		{"claim:active", setOf{claim}, nil},
		{"claim:by_type:ownership", setOf{claim}, nil},
		{"claim:by_object:org:blackroad", setOf{claim}, nil},
		{"claim:by_subject:user:alexa", setOf{claim}, nil},
		{"delegation:user:alexa:" + delegation, hashOf{"delegation_id", "delegator", "delegate", "scope", "constraints", "active", "created_at", "updated_at", "uses_count"}, nil},
		{"delegation:active", setOf{g.delegation, delegation}, nil},
		{"delegation:by_delegate:agent:" + cece, setOf{g.delegation, delegation}, nil},
		{"delegation:by_scope:notion.*", setOf{delegation}, nil},
		{"delegation:by_delegator:user:alexa", setOf{delegation}, nil},
	}
}
