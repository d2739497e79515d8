package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcmem "google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
	kvsession "github.com/stoadb/stoa/kv/session"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/agents"
	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// fuzzStream is the server's end of a stream whose requests are fixed.
type fuzzStream struct {
	ctx   context.Context
	rest  []byte // messages, each after its length
	many  bool   // the client may send any number of them
	codec *wire.Codec
}

func (s *fuzzStream) SetHeader(metadata.MD) error  { return nil }
func (s *fuzzStream) SendHeader(metadata.MD) error { return nil }
func (s *fuzzStream) SetTrailer(metadata.MD)       {}
func (s *fuzzStream) Context() context.Context     { return s.ctx }

func (s *fuzzStream) SendMsg(m any) error {
	out, err := s.codec.Marshal(m)
	out.Free()
	return err
}

func (s *fuzzStream) RecvMsg(m any) error {
	b, n := protowire.ConsumeBytes(s.rest)
	if n < 0 && s.many {
		return io.EOF
	}
	if n < 0 { // as gRPC does
		return status.Error(codes.Internal, "a request is missing")
	}
	s.rest = s.rest[n:]
	if err := decoded(s.codec, b, m); err != nil {
		return status.Error(codes.Internal, err.Error()) // as gRPC does
	}
	return nil
}

// decoded has a message say what bytes do, in one piece, as the server's codec does.
func decoded(c *wire.Codec, b []byte, m any) error {
	return c.Unmarshal(grpcmem.BufferSlice{grpcmem.SliceBuffer(b)}, m)
}

// firstOnKV is the first of the services of FuzzRequests that need a kv.Store.
const firstOnKV = 3

// fuzzed makes what the services on a kv.Store need, with something in it, and returns what
// ends it.
func fuzzed(t *testing.T, store *kv.Store, o *Options) (end func()) {
	var err error
	o.Policies, err = policy.New(store, policy.Options{})
	require.NoError(t, err)
	o.Records = o.Policies.Records()
	_, err = o.Records.Create(t.Context(), "t", policy.Intents, []byte(`{"intent_id":"int-20260101-abcdef","actor":"user:a","goal":"x"}`), record.WriteOptions{})
	require.NoError(t, err)
	o.Locks, err = lock.New(store, lock.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	_, err = o.Locks.Acquire(t.Context(), "t", lock.Request{Name: lock.Task("a"), Agent: "a"})
	require.NoError(t, err)
	o.Limits, err = limit.New(store, limit.Options{})
	require.NoError(t, err)
	o.Settings, err = setting.New(store, setting.Options{})
	require.NoError(t, err)
	o.Approvals, err = approval.New(o.Records, approval.Options{Locks: o.Locks})
	require.NoError(t, err)
	_, err = o.Approvals.CreateTask(t.Context(), "t", []byte(`{"task_id":"a","metadata":{"author_id":"a"}}`), record.WriteOptions{})
	require.NoError(t, err)
	o.Sessions, err = kvsession.New(o.Records, kvsession.Options{})
	require.NoError(t, err)
	_, err = o.Sessions.Create(t.Context(), "t", []byte(`{"session_id":"a","user_id":"a","sliding":true}`), record.WriteOptions{})
	require.NoError(t, err)
	o.Events, err = event.New(store, event.Options{})
	require.NoError(t, err)
	feed, err := o.Events.Open(t.Context(), "t")
	require.NoError(t, err)
	_, err = feed.Publish(t.Context(), engine.WAL, event.Task, []event.Event{{Name: "a"}, {Name: "b"}})
	require.NoError(t, err)
	o.Buckets, err = bucket.New(store, bucket.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	_, err = o.Buckets.Create(t.Context(), "t", bucket.Config{Name: "a", History: 3})
	require.NoError(t, err)
	o.Streams, err = stream.New(store, stream.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	streams, err := o.Streams.Open(t.Context(), "t")
	require.NoError(t, err)
	_, err = streams.Create(t.Context(), engine.WAL, "a", kv.StreamLimits{})
	require.NoError(t, err)
	_, err = streams.CreateConsumer(t.Context(), engine.WAL, "a", stream.Config{Name: "c"})
	require.NoError(t, err)
	_, err = streams.Publish(t.Context(), engine.WAL, "a", stream.AppendOptions{}, stream.Message{Subject: "x.y"})
	require.NoError(t, err)
	o.Jobs, err = job.New(store, job.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	queues, err := o.Jobs.Open(t.Context(), "t")
	require.NoError(t, err)
	_, _, err = queues.Add(t.Context(), engine.WAL, job.Job{ID: "a", Queue: job.Archive})
	require.NoError(t, err)
	return func() {
		o.Jobs.Close()
		o.Locks.Close()
	}
}

// FuzzRequests sends any bytes to any method. It may fail only with an error
// that a peer may see, and the daemon goes on.
func FuzzRequests(f *testing.F) {
	services := []struct {
		generated *grpc.ServiceDesc
		of        func(*Server) (domain, byHand any)
	}{
		{&stoav1.Store_ServiceDesc, func(s *Server) (any, any) { return s.eng, &storeService{s: s} }},
		{&stoav1.Blob_ServiceDesc, func(s *Server) (any, any) { return s.blobs, &blobService{s: s} }},
		{&stoav1.Admin_ServiceDesc, func(s *Server) (any, any) { return &admin{s}, nil }},
		{&stoav1.Policy_ServiceDesc, func(s *Server) (any, any) { return s.o.Policies, nil }},
		{&stoav1.Record_ServiceDesc, func(s *Server) (any, any) { return s.o.Records, &recordService{s: s} }},
		{&stoav1.Lock_ServiceDesc, func(s *Server) (any, any) { return s.o.Locks, nil }},
		{&stoav1.Limit_ServiceDesc, func(s *Server) (any, any) { return s.o.Limits, nil }},
		{&stoav1.Setting_ServiceDesc, func(s *Server) (any, any) { return s.o.Settings, nil }},
		{&stoav1.Task_ServiceDesc, func(s *Server) (any, any) { return s.o.Approvals, nil }},
		{&stoav1.Approval_ServiceDesc, func(s *Server) (any, any) { return s.o.Approvals, nil }},
		{&stoav1.Session_ServiceDesc, func(s *Server) (any, any) { return s.o.Sessions, nil }},
		{&stoav1.Event_ServiceDesc, func(s *Server) (any, any) { return s.o.Events, nil }},
		{&stoav1.Job_ServiceDesc, func(s *Server) (any, any) { return s.o.Jobs, nil }},
		{&stoav1.Bucket_ServiceDesc, func(s *Server) (any, any) { return s.o.Buckets, nil }},
		{&stoav1.Stream_ServiceDesc, func(s *Server) (any, any) { return &agents.StreamStores{Store: s.o.Streams, Buckets: s.o.Buckets}, nil }},
	}
	seedRequests(f)
	f.Fuzz(func(t *testing.T, service, method byte, data []byte) {
		eng := mem.New()
		defer eng.Close()
		var b engine.Batch
		b.Put(column.Generic, row("a"), []byte("1"))
		require.NoError(t, eng.Apply(&b))
		var log bytes.Buffer
		o := Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
		to := services[int(service)%len(services)]
		if int(service)%len(services) >= firstOnKV { // which take a while to make
			store, err := kv.Open(eng, kv.Options{Log: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			defer store.Close()
			defer fuzzed(t, store, &o)()
		}
		s, err := New(eng, o)
		require.NoError(t, err)
		defer s.hangUp()
		ctx, cancel := context.WithCancel(peer.NewContext(t.Context(), &peer.Peer{AuthInfo: demux.Peer{Rights: access.Rights{Roles: access.All}}}))
		defer cancel()

		domain, byHand := to.of(s)
		desc := s.described(to.generated, byHand)
		which := int(method) % (len(desc.Methods) + len(desc.Streams))
		if which < len(desc.Methods) {
			m := desc.Methods[which]
			_, err = m.Handler(domain, ctx, func(v any) error { return decoded(wire.NewCodec(), data, v) }, s.unary)
		} else {
			m := desc.Streams[which-len(desc.Methods)]
			stream := &fuzzStream{ctx: ctx, rest: data, many: m.ClientStreams, codec: wire.NewCodec()}
			switch m.StreamName {
			case "Watch", "Acquire", "Follow", "Read", "ReadGroup", "Lease": // which end when their caller goes
				time.AfterFunc(time.Millisecond, cancel)
			}
			err = s.stream(domain, stream, &grpc.StreamServerInfo{FullMethod: m.StreamName}, m.Handler)
		}
		require.NotErrorIs(t, err, rpc.ErrInternal, "%s", log.String())
		s.streams.Wait()
		require.Zero(t, s.inFlight.Used())
		require.Zero(t, s.scans.Used())
		require.Zero(t, s.sessions.Used())
		require.Zero(t, s.snapshots.count())
		_, err = eng.Get(nil, column.Generic, row("none"))
		require.ErrorIs(t, err, engine.ErrNotFound)
	})
}

// seedRequests adds one good request to each method that takes more than an
// empty one.
func seedRequests(f *testing.F) {
	var b engine.Batch
	b.Put(column.Generic, row("b"), []byte("2"))
	b.DeleteRange(column.Generic, row("c"), row("d"))
	b.ExpectAbsent(column.Generic, row("b"))
	tenant := []byte("t")
	scan := &stoav1.ScanRequest{Column: 10, Prefix: row(""), Reverse: true, Limit: 3}
	unary := [][]proto.Message{
		{
			&stoav1.GetRequest{Column: 10, Key: row("a")},
			&stoav1.MultiGetRequest{Lookups: wire.AppendLookups(nil, []engine.Lookup{{Column: 10, Key: row("a")}, {Column: 11, Key: []byte{0x20}}})},
			&stoav1.ApplyRequest{Ops: b.Bytes(), Expectations: b.Expectations(), Durability: 2},
			&stoav1.ApproximateSizeRequest{Column: 10, Prefix: row("")},
		},
		{
			&stoav1.BlobStatRequest{BlobId: make([]byte, 32)},
			&stoav1.BlobDeleteRequest{BlobId: make([]byte, 32), Force: true},
			&stoav1.BlobListRequest{After: make([]byte, 32), Limit: 5},
		},
		{
			&stoav1.StatusRequest{}, &stoav1.StatsRequest{}, &stoav1.CheckpointRequest{Dir: "relative"},
			&stoav1.CompactRequest{Column: 10, Start: row("a")}, &stoav1.FlushRequest{}, &stoav1.ReopenRequest{},
		},
		{
			&stoav1.PolicyDecideRequest{Tenant: tenant, Agent: "a", Action: "x.y", Context: []byte(`{"n":1}`)},
			&stoav1.PolicyUseRequest{Tenant: tenant, Agent: "a", Action: "x", Log: true, IntentId: "int-20260101-abcdef", AskForMs: 5},
			&stoav1.PolicyExplainRequest{Tenant: tenant, Agent: "a", Action: "x.y", Context: []byte(`{}`)},
			&stoav1.PolicyAnswerRequest{Tenant: tenant, ApprovalId: "apr-20260101-abcdef", Approve: true, By: "user:a"},
			&stoav1.PolicyBootstrapRequest{Tenant: tenant, Durability: 2},
			&stoav1.PolicyHeartbeatRequest{Tenant: tenant, AgentId: "a"},
			&stoav1.PolicyStepRequest{Tenant: tenant, IntentId: "int-20260101-abcdef", Step: 1, Patch: []byte(`{}`)},
			&stoav1.PolicyRevokeRequest{Tenant: tenant, Collection: "claim", Id: "clm-20260101-abcdef"},
			&stoav1.PolicySetSettingsRequest{Tenant: tenant, Settings: &stoav1.PolicyTenantSettings{DefaultDeny: true}},
			&stoav1.PolicyMigrateRequest{Tenant: tenant, Collection: "policy", From: 1, To: 2},
			&stoav1.PolicyDropRequest{Tenant: tenant, Collection: "policy", Version: 2},
			&stoav1.PolicyHeadRequest{Tenant: tenant},
			&stoav1.PolicyApprovalRequest{Tenant: tenant, ApprovalId: "apr-20260101-abcdef"},
			&stoav1.PolicySettingsRequest{Tenant: tenant},
		},
		{
			&stoav1.RecordCreateRequest{Tenant: tenant, Collection: "intent", Document: []byte(`{"actor":"user:a","goal":"x"}`), Durability: 2},
			&stoav1.RecordGetRequest{Tenant: tenant, Collection: "intent", Id: "int-20260101-abcdef"},
			&stoav1.RecordUpdateRequest{Tenant: tenant, Collection: "intent", Id: "int-20260101-abcdef", Patch: []byte(`{"goal":"y"}`), Revision: 1},
			&stoav1.RecordTransitionRequest{Tenant: tenant, Collection: "intent", Id: "int-20260101-abcdef", To: "cancelled", Patch: []byte(`{}`)},
			&stoav1.RecordDeleteRequest{Tenant: tenant, Collection: "intent", Id: "int-20260101-abcdef"},
			&stoav1.RecordListRequest{Tenant: tenant, Collection: "intent", Filters: []*stoav1.RecordFilter{{Index: "by_actor", Equal: [][]byte{[]byte(`"user:a"`)}}}, All: true, Reverse: true, Limit: 3},
			&stoav1.RecordLookupRequest{Tenant: tenant, Key: "intent:active"},
			&stoav1.RecordSchemaRequest{Collection: "policy"},
			&stoav1.RecordCollectionsRequest{},
			&stoav1.RecordPutAsideRequest{Tenant: tenant, Collection: "intent"},
		},
		{
			&stoav1.LockRenewRequest{Tenant: tenant, Name: "task:a", Agent: "a", TtlMs: 5},
			&stoav1.LockReleaseRequest{Tenant: tenant, Name: "task:a", Agent: "a", Token: 1},
			&stoav1.LockReleaseAllRequest{Tenant: tenant, Agent: "a"},
			&stoav1.LockDowngradeRequest{Tenant: tenant, Name: "resource:db:a", Agent: "a"},
			&stoav1.LockGetRequest{Tenant: tenant, Name: "task:a"},
			&stoav1.LockLookupRequest{Tenant: tenant, Key: "ade:lock:{task:a}:queue"},
			&stoav1.LockTryAcquireRequest{Tenant: tenant, Name: "resource:db:a", Agent: "b", Mode: stoav1.LockMode_LOCK_MODE_SHARED, Purpose: "x"},
			&stoav1.LockListRequest{Tenant: tenant, Prefix: "task:", Agent: "a", Limit: 3},
			&stoav1.LockQueueRequest{Tenant: tenant, Name: "task:a"},
			&stoav1.LockRegisterRequest{Tenant: tenant, Agent: "a", MaxTasks: 2},
			&stoav1.LockHeartbeatRequest{Tenant: tenant, Agent: "a"},
			&stoav1.LockDrainRequest{Tenant: tenant, Agent: "a"},
			&stoav1.LockDeregisterRequest{Tenant: tenant, Agent: "a"},
			&stoav1.LockGetAgentRequest{Tenant: tenant, Agent: "a"},
			&stoav1.LockListAgentsRequest{Tenant: tenant, Limit: 3},
		},
		{
			&stoav1.LimitCheckRequest{Tenant: tenant, Endpoint: "tasks:create", User: "a", Max: 2, WindowMs: 5},
			&stoav1.LimitGetRequest{Tenant: tenant, Endpoint: "tasks:create", User: "a"},
			&stoav1.LimitListRequest{Tenant: tenant, Endpoint: "tasks:create", Limit: 3},
			&stoav1.LimitResetRequest{Tenant: tenant, Endpoint: "tasks:create", User: "a"},
			&stoav1.LimitLookupRequest{Tenant: tenant, Key: "ade:ratelimit:{tasks:create}:a"},
		},
		{
			&stoav1.SettingGetRequest{Tenant: tenant, Name: "ade:feature:deadlock_detection"},
			&stoav1.SettingListRequest{Tenant: tenant},
			&stoav1.SettingSetRequest{Tenant: tenant, Name: "config:risk:thresholds", Value: []byte(`{"medium":1,"high":2,"critical":3}`)},
			&stoav1.SettingDeleteRequest{Tenant: tenant, Name: "config:lock:max_ttl"},
		},
		{
			&stoav1.TaskCreateRequest{Tenant: tenant, Document: []byte(`{"task_id":"b","metadata":{"author_id":"a"}}`)},
			&stoav1.TaskGetRequest{Tenant: tenant, TaskId: "a"},
			&stoav1.TaskUpdateRequest{Tenant: tenant, TaskId: "a", Patch: []byte(`{"config":{"type":"x"}}`), Revision: 1},
			&stoav1.TaskMoveRequest{Tenant: tenant, TaskId: "a", To: "SUBMITTED", By: "a", Token: 1, ErrorDetails: []byte(`{}`)},
			&stoav1.TaskAssessRequest{Tenant: tenant, TaskId: "a"},
			&stoav1.TaskSetPreviewRequest{Tenant: tenant, TaskId: "a", Preview: []byte(`{"changes":[]}`)},
			&stoav1.TaskPreviewRequest{Tenant: tenant, TaskId: "a"},
			&stoav1.TaskTimeOutRequest{Tenant: tenant, TaskId: "a"},
			&stoav1.TaskDeleteRequest{Tenant: tenant, TaskId: "a"},
			&stoav1.TaskStatsRequest{Tenant: tenant, TaskId: "a"},
			&stoav1.TaskLookupRequest{Tenant: tenant, Key: "ade:task:{a}:state"},
		},
		{
			&stoav1.ApprovalRequestRequest{Tenant: tenant, TaskId: "a", Approvals: [][]byte{[]byte(`{"reviewer_id":"b"}`)}, Required: 1},
			&stoav1.ApprovalGetRequest{Tenant: tenant, ApprovalId: "app-1"},
			&stoav1.ApprovalQueueRequest{Tenant: tenant, User: "b", Limit: 3},
			&stoav1.ApprovalRespondRequest{Tenant: tenant, Answer: &stoav1.ApprovalAnswer{ApprovalId: "app-1", By: "b", Action: "approve"}},
			&stoav1.ApprovalRespondAllRequest{Tenant: tenant, Answers: []*stoav1.ApprovalAnswer{{ApprovalId: "app-1", By: "b", Action: "reject"}}},
			&stoav1.ApprovalDelegateRequest{Tenant: tenant, ApprovalId: "app-1", By: "b", To: "c"},
			&stoav1.ApprovalEscalateRequest{Tenant: tenant, ApprovalId: "app-1"},
			&stoav1.ApprovalEscalateDueRequest{Tenant: tenant},
			&stoav1.ApprovalArchiveRequest{Tenant: tenant, ApprovalId: "app-1"},
			&stoav1.ApprovalStatsRequest{Tenant: tenant, User: "b"},
		},
		{
			&stoav1.SessionCreateRequest{Tenant: tenant, Document: []byte(`{"session_id":"b","user_id":"a","roles":["admin"]}`)},
			&stoav1.SessionGetRequest{Tenant: tenant, SessionId: "a"},
			&stoav1.SessionTouchRequest{Tenant: tenant, SessionId: "a"},
			&stoav1.SessionListRequest{Tenant: tenant, User: "a", Limit: 3, Reverse: true},
			&stoav1.SessionRevokeRequest{Tenant: tenant, SessionId: kvsession.HandleOf("a")},
			&stoav1.SessionRevokeAllRequest{Tenant: tenant, User: "a"},
			&stoav1.SessionLookupRequest{Tenant: tenant, Key: "ade:session:index:{user:a}"},
			&stoav1.SessionImportRequest{Tenant: tenant, Docs: [][]byte{[]byte(`{"session_id":"c","user_id":"a","created_at":"2126-01-01T00:00:00Z"}`)}},
		},
		{
			&stoav1.EventPublishRequest{Tenant: tenant, Stream: "task", Events: []*stoav1.EventNew{{Name: "c", Payload: []byte(`{}`), Source: "s"}}},
			&stoav1.EventRangeRequest{Tenant: tenant, Stream: "task", From: "1-1", To: "9", Limit: 3, Reverse: true},
			&stoav1.EventCreateGroupRequest{Tenant: tenant, Stream: "task", Group: "g", After: "1-1"},
			&stoav1.EventMoveGroupRequest{Tenant: tenant, Stream: "task", Group: "audit-logger", Now: true},
			&stoav1.EventDropGroupRequest{Tenant: tenant, Stream: "task", Group: "g"},
			&stoav1.EventListGroupsRequest{Tenant: tenant, Stream: "task"},
			&stoav1.EventAcknowledgeRequest{Tenant: tenant, Stream: "task", Group: "audit-logger", Ids: []string{"0-1"}},
			&stoav1.EventPendingRequest{Tenant: tenant, Stream: "task", Group: "audit-logger", After: "1-1", Limit: 3},
			&stoav1.EventClaimRequest{Tenant: tenant, Stream: "task", Group: "audit-logger", Consumer: "b", IdleMs: 1, Ids: []string{"0-1"}},
			&stoav1.EventInfoRequest{Tenant: tenant, Stream: "task"},
			&stoav1.EventLookupRequest{Tenant: tenant, Key: "ade:{events:task}:consumers"},
		},
		{
			&stoav1.JobScheduleRequest{Tenant: tenant, Id: "b", Queue: "archive", DueMs: 1 << 41, Payload: []byte(`{}`), MaxAttempts: 3},
			&stoav1.JobEnqueueRequest{Tenant: tenant, Queue: "archive", Payload: []byte(`{"a":1}`)},
			&stoav1.JobCancelRequest{Tenant: tenant, Id: "a"},
			&stoav1.JobExtendRequest{Tenant: tenant, Id: "a", Token: 1, ForMs: 5},
			&stoav1.JobCompleteRequest{Tenant: tenant, Id: "a", Token: 1},
			&stoav1.JobFailRequest{Tenant: tenant, Id: "a", Token: 1, Failure: "x", DelayMs: 5},
			&stoav1.JobRetryRequest{Tenant: tenant, Id: "a"},
			&stoav1.JobGetRequest{Tenant: tenant, Id: "a"},
			&stoav1.JobListRequest{Tenant: tenant, Queue: "archive", State: stoav1.JobStatus_JOB_STATUS_READY, Limit: 3},
			&stoav1.JobLookupRequest{Tenant: tenant, Key: "ade:job:lock:{a}"},
		},
		{
			&stoav1.BucketGetRequest{Tenant: tenant, Bucket: "a", Key: []byte("k"), Typed: true},
			&stoav1.BucketAtRequest{Tenant: tenant, Bucket: "a", Key: []byte("k"), Revision: 1},
			&stoav1.BucketStatusRequest{Tenant: tenant, Bucket: "a"},
			&stoav1.BucketPutRequest{Tenant: tenant, Bucket: "a", Key: []byte("k"), Value: []byte("v"), Expect: &stoav1.BucketPutRequest_Update{Update: 1}, TtlMs: 5},
			&stoav1.BucketDeleteRequest{Tenant: tenant, Bucket: "a", Key: []byte("k"), Expect: true},
			&stoav1.BucketPurgeRequest{Tenant: tenant, Bucket: "a", Key: []byte("k")},
			&stoav1.BucketMergeRequest{Tenant: tenant, Bucket: "a", Key: []byte("k"), Patch: []byte(`{"a":1}`), Expect: true, Revision: 1},
			&stoav1.BucketTouchRequest{Tenant: tenant, Bucket: "a", Key: []byte("k"), TtlMs: 5},
			&stoav1.BucketPurgeDeletesRequest{Tenant: tenant, Bucket: "a", All: true},
			&stoav1.BucketCreateRequest{Tenant: tenant, Config: &stoav1.BucketConfig{Name: "b", History: 2, Schema: []byte("{}")}},
			&stoav1.BucketAlterRequest{Tenant: tenant, Config: &stoav1.BucketConfig{Name: "a", TtlMs: 5}},
			&stoav1.BucketDropRequest{Tenant: tenant, Bucket: "a"},
			&stoav1.BucketListRequest{Tenant: tenant},
			&stoav1.BucketProposeRequest{Tenant: tenant, Contract: []byte(`{"service":"a"}`)},
			&stoav1.BucketPlanRequest{Tenant: tenant, Service: "a"},
			&stoav1.BucketAcceptRequest{Tenant: tenant, Service: "a", Digest: "d", Migration: true},
			&stoav1.BucketRejectRequest{Tenant: tenant, Service: "a", Digest: "d"},
			&stoav1.BucketReconcileRequest{Tenant: tenant, Service: "a"},
			&stoav1.BucketRevokeRequest{Tenant: tenant, Service: "a"},
			&stoav1.BucketAuthorityRequest{Tenant: tenant, Service: "a"},
			&stoav1.BucketAuthoritiesRequest{Tenant: tenant},
		},
		{
			&stoav1.StreamCreateRequest{Tenant: tenant, Stream: "b", Limits: &stoav1.StreamLimits{Entries: 5, AgeMs: 5}},
			&stoav1.StreamLimitRequest{Tenant: tenant, Stream: "a", Limits: &stoav1.StreamLimits{Entries: 5}},
			&stoav1.StreamDeleteRequest{Tenant: tenant, Stream: "a"},
			&stoav1.StreamInfoRequest{Tenant: tenant, Stream: "a"},
			&stoav1.StreamListRequest{Tenant: tenant},
			&stoav1.StreamPublishRequest{Tenant: tenant, Stream: "a", Messages: []*stoav1.StreamMessage{{Subject: "x.y", Payload: []byte("p")}}, ExpectedLast: proto.Uint64(1)},
			&stoav1.StreamRangeRequest{Tenant: tenant, Stream: "a", From: 1, To: 2, Filter: "x.*", Limit: 3, Reverse: true},
			&stoav1.StreamCreateConsumerRequest{Tenant: tenant, Stream: "a", Config: &stoav1.StreamConsumer{Name: "d", Filter: "x.>", AckWaitMs: 5, MaxDeliver: 3, MaxAckPending: 2}},
			&stoav1.StreamUpdateConsumerRequest{Tenant: tenant, Stream: "a", Config: &stoav1.StreamConsumer{Name: "c", MaxDeliver: 3}},
			&stoav1.StreamDeleteConsumerRequest{Tenant: tenant, Stream: "a", Consumer: "c"},
			&stoav1.StreamConsumerInfoRequest{Tenant: tenant, Stream: "a", Consumer: "c"},
			&stoav1.StreamListConsumersRequest{Tenant: tenant, Stream: "a"},
			&stoav1.StreamReplayRequest{Tenant: tenant, Stream: "a", Consumer: "c", Start: &stoav1.StreamStart{Policy: stoav1.StreamDeliver_STREAM_DELIVER_FROM, From: 1}},
			&stoav1.StreamAckRequest{Tenant: tenant, Stream: "a", Consumer: "c", Refs: []*stoav1.StreamRef{{Number: 1, Token: 1}}},
			&stoav1.StreamNakRequest{Tenant: tenant, Stream: "a", Consumer: "c", Number: 1, Token: 1, DelayMs: 5, Reason: "r"},
			&stoav1.StreamInProgressRequest{Tenant: tenant, Stream: "a", Consumer: "c", Number: 1, Token: 1},
			&stoav1.StreamTerminateRequest{Tenant: tenant, Stream: "a", Consumer: "c", Number: 1, Token: 1, Reason: "r"},
			&stoav1.StreamRetryDeadRequest{Tenant: tenant, Stream: "a", Consumer: "c", Numbers: []uint64{1}},
			&stoav1.StreamDropDeadRequest{Tenant: tenant, Stream: "a", Consumer: "c", Numbers: []uint64{1}},
			&stoav1.StreamApplyRequest{Tenant: tenant, Stream: "a", Consumer: "c", Number: 1, Token: 1, Changes: []*stoav1.BucketChange{{Bucket: "a", Key: []byte("k"), Value: []byte("v")}}},
		},
	}
	streams := [][][]proto.Message{
		{
			{scan},
			{
				&stoav1.SessionRequest{Id: 1, Request: &stoav1.SessionRequest_Snapshot{}},
				&stoav1.SessionRequest{Id: 2, Request: &stoav1.SessionRequest_Get{Get: &stoav1.GetRequest{Column: 10, Key: row("a")}}},
				&stoav1.SessionRequest{Id: 3, Request: &stoav1.SessionRequest_Scan{Scan: scan}},
				&stoav1.SessionRequest{Id: 4, Request: &stoav1.SessionRequest_Next{Next: &stoav1.SessionNextRequest{Scan: 3}}},
				&stoav1.SessionRequest{Id: 5, Request: &stoav1.SessionRequest_Close{Close: &stoav1.SessionCloseRequest{Scan: 3}}},
			},
		},
		{
			{
				&stoav1.BlobPutRequest{Part: &stoav1.BlobPutRequest_Header{Header: &stoav1.BlobPutHeader{}}},
				&stoav1.BlobPutRequest{Part: &stoav1.BlobPutRequest_Data{Data: []byte("content")}},
			},
			{&stoav1.BlobGetRequest{BlobId: make([]byte, 32), Offset: 1}},
			{&stoav1.BlobVerifyRequest{Repair: true}},
		},
		{},
		{
			{&stoav1.PolicyWhatCanRequest{Tenant: tenant, Delegate: "agent:a"}},
			{&stoav1.PolicyWhoCanRequest{Tenant: tenant, Action: "x"}},
			{&stoav1.PolicyEventsRequest{Tenant: tenant, FromMs: 1, ToMs: 1 << 50}},
			{&stoav1.PolicyVerifyRequest{Tenant: tenant}},
			{&stoav1.PolicyRowsRequest{Tenant: tenant, Collection: "policy"}},
			{&stoav1.PolicyCommandsRequest{Tenant: tenant, Collection: "ledger"}},
			{&stoav1.PolicyPoliciesForRequest{Tenant: tenant, Scope: "x.*"}},
		},
		{
			{&stoav1.RecordWatchRequest{Tenant: tenant, Collection: "intent", Id: "int-20260101-abcdef", After: 1}},
			{&stoav1.RecordHistoryRequest{Tenant: tenant, Collection: "intent", Id: "int-20260101-abcdef"}},
			{&stoav1.RecordExportRequest{Tenant: tenant, Collection: "intent"}},
			{
				&stoav1.RecordImportRequest{Message: &stoav1.RecordImportRequest_Header{Header: &stoav1.RecordImportHeader{Tenant: tenant, Collection: "intent"}}},
				&stoav1.RecordImportRequest{Message: &stoav1.RecordImportRequest_Lines{Lines: []byte(`{"intent_id":"int-20260101-abcdeg","actor":"user:a","goal":"y"}` + "\n")}},
			},
		},
		{
			{&stoav1.LockAcquireRequest{Tenant: tenant, Name: "task:a", Agent: "b", Wait: true, MaxWaitMs: 1, ClaimMs: 5, Priority: 3}},
			{&stoav1.LockWatchRequest{Tenant: tenant}},
		},
		{},
		{{&stoav1.SettingWatchRequest{Tenant: tenant, After: 1}}},
		{},
		{},
		{},
		{
			{&stoav1.EventReadRequest{Tenant: tenant, Stream: "task", After: "0-1", Limit: 3, WaitMs: 1}},
			{&stoav1.EventFollowRequest{Tenant: tenant, Stream: "task", After: "0-1"}},
			{&stoav1.EventReadGroupRequest{Tenant: tenant, Stream: "task", Group: "audit-logger", Consumer: "a", Limit: 3, WaitMs: 1}},
		},
		{{&stoav1.JobLeaseRequest{Tenant: tenant, Queue: "archive", Worker: "w", ForMs: 5, Limit: 3, WaitMs: 1}}},
		{
			{&stoav1.BucketHistoryRequest{Tenant: tenant, Bucket: "a", Key: []byte("k")}},
			{&stoav1.BucketKeysRequest{Tenant: tenant, Service: "a", Alias: "b", Filters: [][]byte{[]byte("a.*"), []byte(">")}}},
			{&stoav1.BucketWatchRequest{Tenant: tenant, Bucket: "a", Resume: true, After: 1, Typed: true}},
		},
		{
			{&stoav1.StreamFetchRequest{Tenant: tenant, Stream: "a", Consumer: "c", Limit: 3, WaitMs: 1}},
			{&stoav1.StreamDeadLettersRequest{Tenant: tenant, Stream: "a", Consumer: "c", After: 1, Limit: 3}},
		},
	}
	for service, list := range unary {
		for method, m := range list {
			b, err := proto.Marshal(m)
			require.NoError(f, err)
			f.Add(byte(service), byte(method), b)
		}
	}
	for service, list := range streams {
		for method, messages := range list {
			var all []byte
			for _, m := range messages {
				b, err := proto.Marshal(m)
				require.NoError(f, err)
				all = protowire.AppendBytes(all, b)
			}
			f.Add(byte(service), byte(len(unary[service])+method), all)
		}
	}
}

// asPeer returns ctx as that of a call by the server's own user.
func asPeer(ctx context.Context) context.Context {
	return peer.NewContext(ctx, &peer.Peer{AuthInfo: demux.Peer{UID: uint32(os.Geteuid())}})
}

// FuzzFrames sends any bytes after the greeting of frames. The daemon ends the
// connection, or waits for more; either way nothing is left when it is closed.
func FuzzFrames(f *testing.F) {
	var b engine.Batch
	b.Put(column.Generic, row("b"), []byte("2"))
	all := []proto.Message{
		101: &stoav1.GetRequest{Column: 10, Key: row("a")},
		102: &stoav1.MultiGetRequest{Lookups: wire.AppendLookups(nil, []engine.Lookup{{Column: 10, Key: row("a")}})},
		103: &stoav1.ApplyRequest{Ops: b.Bytes(), Durability: 2},
		104: &stoav1.ScanRequest{Column: 10, Prefix: row("")},
		105: &stoav1.ApproximateSizeRequest{Column: 10},
		106: &stoav1.SessionRequest{Id: 1, Request: &stoav1.SessionRequest_Snapshot{}},
	}
	for method, m := range all {
		if m == nil {
			continue
		}
		payload, err := proto.Marshal(m)
		require.NoError(f, err)
		for _, flags := range []frame.Flags{frame.End, 0} {
			h := frame.Header{Length: uint32(len(payload)), ID: 5, Method: uint16(method), Flags: flags, Deadline: 50}
			one := append(h.Append(nil), payload...)
			more := append(frame.Header{ID: 5, Length: uint32(len(payload))}.Append(one), payload...)
			f.Add(frame.Header{ID: 5, Flags: frame.Cancel}.Append(more))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		eng := mem.New()
		defer eng.Close()
		var log bytes.Buffer
		s, err := New(eng, Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), MaxInFlight: 1 << 20})
		require.NoError(t, err)
		defer s.hangUp()
		near, far := net.Pipe()
		served := make(chan struct{})
		go func() {
			defer close(served)
			s.framed.Serve(demux.NewConn(far, demux.Peer{Rights: access.Rights{Roles: access.All}}, func() {}))
		}()
		go io.Copy(io.Discard, near)
		near.SetWriteDeadline(time.Now().Add(time.Second))
		near.Write(data) // the daemon may hang up before it has all
		near.Close()
		<-served
		s.framed.End()
		s.streams.Wait()
		require.NotContains(t, log.String(), "level=ERROR")
		require.Zero(t, s.inFlight.Used())
		require.Zero(t, s.scans.Used())
		require.Zero(t, s.sessions.Used())
		require.Zero(t, s.snapshots.count())
	})
}
