package server

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/policy"
	kvsession "github.com/stoadb/stoa/kv/session"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// markOf stands in a text of requestFields for what only the tenant's data has.
const markOf = "MARK"

// requestFields are what requests are made of, by the name of the field, or of its message
// and the field: the same names for every tenant, so that what differs is whose data it is.
// Each text that a request may have is there; numbers are 0 unless they are.
var requestFields = map[string]any{
	"key": "k", "name": "task:k", "agent": "k", "user": "k", "endpoint": "k", "task_id": "k", "approval_id": "k", "session_id": "k", "id": "k",
	"agent_id": "k", "delegate": "agent:k", "intent_id": "k", "scope": "k", "action": "mail.send", "collection": "delegation_policy", "index": "by_owner",
	"by": "k", "consumer": "k", "worker": markOf, "purpose": markOf, "reason": markOf, "source": markOf, "failure": markOf, "output": markOf, "output_key": markOf, "error": markOf, "result": "success",
	"stream": "task", "group": "audit-logger", "queue": "archive", "ids": "1-1", "cursor": "", "prefix": "", "prefixes": "", "after": "", "from": "", "to": "", "equal": `"k"`,
	"value": `"` + markOf + `"`, "payload": `{"note":"` + markOf + `"}`, "patch": `{"note":"` + markOf + `"}`, "preview": `{"note":"` + markOf + `"}`, "context": `{"note":"` + markOf + `"}`,
	"error_details": `{"note":"` + markOf + `"}`, "factors": `["` + markOf + `"]`,
	"document": `{"policy_id":"k","owner_id":"k","delegate_to":"` + markOf + `"}`, "TaskCreateRequest.document": `{"task_id":"k","metadata":{"author_id":"k"},"note":"` + markOf + `"}`,
	"SessionCreateRequest.document": `{"session_id":"k","user_id":"k","user_name":"` + markOf + `"}`, "docs": `{"session_id":"k2","user_id":"k","user_name":"` + markOf + `"}`,
	"approvals":          `{"approval_id":"k","reviewer_id":"k","reviewer_name":"` + markOf + `"}`,
	"TaskMoveRequest.to": "SUBMITTED", "TaskMoveRequest.by": "k", "ApprovalDelegateRequest.to": "k2", "RecordTransitionRequest.to": "x",
	"KvPutRequest.value": `"` + markOf + `"`, "SettingSetRequest.value": "60", "EventNew.name": markOf, "ApprovalQueueRequest.user": "k",
	"SettingGetRequest.name": setting.LockDefaultTTL, "SettingSetRequest.name": setting.LockDefaultTTL, "SettingDeleteRequest.name": setting.LockDefaultTTL,
	"LockLookupRequest.key": "ade:lock:task:k", "EventLookupRequest.key": "ade:events:task", "JobLookupRequest.key": "ade:job:queue:archive", "LimitLookupRequest.key": "ade:ratelimit:k:k",
	"SessionLookupRequest.key": "ade:session:k", "TaskLookupRequest.key": "ade:task:k:data", "RecordLookupRequest.key": "policy:k",
	"subject": "k", "filter": "", "StreamConsumer.name": "k", "StreamRangeRequest.from": 0, "StreamRangeRequest.to": 0, "StreamDeadLettersRequest.after": 0, "number": 1, "numbers": 1,
	"service": "", "bucket": "k", "alias": "", "filters": ">", "digest": "k", "schema": "", "BucketConfig.name": "k",
	"contract":                  `{"service":"k","schemas":{"E":{"type":"string"}},"resources":{"kv":{"a":{"purpose":"` + markOf + `","schema":{"schema":"E"}}}}}`,
	"BucketPlanRequest.service": "k", "BucketAcceptRequest.service": "k", "BucketRejectRequest.service": "k", "BucketReconcileRequest.service": "k",
	"BucketRevokeRequest.service": "k", "BucketAuthorityRequest.service": "k",
	"ApprovalAnswer.action": "approve", "limit": 100, "max": 100, "window_ms": 60_000, "max_tasks": 5, "delta": 1, "token": 1, "KvChange.op": 1, "ttl_ms": 60_000,
}

// fills are the calls that put data of each system, in order.
var fills = []string{"Kv.Put", "Record.Create", "Task.Create", "Task.Move", "Approval.Request", "Session.Create", "Lock.Register", "Lock.TryAcquire", "Limit.Check", "Setting.Set", "Event.Publish", "Job.Enqueue", "Bucket.Create", "Bucket.Put", "Bucket.Propose", "Stream.Create", "Stream.CreateConsumer", "Stream.Publish"}

// everyCapability serves all systems of key-values of a store that is at rest unless it is asked.
func everyCapability(t *testing.T) (*testDaemon, engine.Engine) {
	db, log := mem.New(), slog.New(slog.DiscardHandler)
	store, err := kv.Open(db, kv.Options{Clock: kvtest.New(), Log: log})
	require.NoError(t, err)
	opened := func(err error) { require.NoError(t, err) }
	storage, err := kvstorage.New(store, kvstorage.Options{})
	opened(err)
	policies, err := policy.New(store, policy.Options{})
	opened(err)
	events, err := event.New(store, event.Options{})
	opened(err)
	settings, err := setting.New(store, setting.Options{Log: log})
	opened(err)
	limits, err := limit.New(store, limit.Options{})
	opened(err)
	locks, err := lock.New(store, lock.Options{Log: log, NoSweep: true})
	opened(err)
	jobs, err := job.New(store, job.Options{Log: log})
	opened(err)
	sessions, err := kvsession.New(policies.Records(), kvsession.Options{})
	opened(err)
	approvals, err := approval.New(policies.Records(), approval.Options{Locks: locks, Settings: func(string) approval.Settings { return approval.Settings{BatchApprovals: true} }})
	opened(err)
	buckets, err := bucket.New(store, bucket.Options{Log: log})
	opened(err)
	streams, err := stream.New(store, stream.Options{Log: log})
	opened(err)
	d := start(t, db, Options{Streams: streams, Buckets: buckets, KV: storage, Records: policies.Records(), Policies: policies, Locks: locks, Limits: limits, Settings: settings, Events: events, Jobs: jobs, Sessions: sessions, Approvals: approvals})
	t.Cleanup(func() {
		d.stop()
		jobs.Close()
		locks.Close()
		require.NoError(t, store.Close())
	})
	return d, db
}

// tenantMethods are the operations that are about a tenant.
func tenantMethods(t *testing.T) (all []protoreflect.MethodDescriptor) {
	for _, m := range op.Methods() {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("stoa.v1." + m.Name))
		require.NoError(t, err)
		if method := d.(protoreflect.MethodDescriptor); method.Input().Fields().ByName("tenant") != nil {
			all = append(all, method)
		}
	}
	require.Greater(t, len(all), 100)
	return all
}

// fill sets all fields of a request, and of what is in it, as a tenant asks.
func fill(t *testing.T, m protoreflect.Message, tenant, mark string) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.ContainingOneof() != nil && !f.HasOptionalKeyword() && f.ContainingOneof().Fields().Get(0) != f {
			continue // one is enough
		}
		set := func(v protoreflect.Value) {
			if f.IsList() {
				m.Mutable(f).List().Append(v)
			} else {
				m.Set(f, v)
			}
		}
		given, known := requestFields[string(m.Descriptor().Name())+"."+string(f.Name())]
		if !known {
			given, known = requestFields[string(f.Name())]
		}
		switch f.Kind() {
		case protoreflect.StringKind, protoreflect.BytesKind:
			text, _ := given.(string)
			if f.Name() == "tenant" {
				text, known = tenant, true
			}
			require.True(t, known, "%s.%s is new: requestFields is to say what it is", m.Descriptor().Name(), f.Name())
			if text = strings.ReplaceAll(text, markOf, mark); text == "" {
				continue
			}
			if f.Kind() == protoreflect.BytesKind {
				set(protoreflect.ValueOfBytes([]byte(text)))
			} else {
				set(protoreflect.ValueOfString(text))
			}
		case protoreflect.MessageKind:
			if f.Message().Name() == "LockGuard" || f.IsMap() {
				continue // guards would refuse all that is not asked by a holder
			}
			if f.IsList() {
				fill(t, m.Mutable(f).List().AppendMutable().Message(), tenant, mark)
			} else if f.Message().ParentFile().Package() == "stoa.v1" {
				fill(t, m.Mutable(f).Message(), tenant, mark)
			}
		default:
			if n, ok := given.(int); ok {
				set(numberOf(f.Kind(), n))
			}
		}
	}
}

// numberOf is a number as a field of a kind has it.
func numberOf(k protoreflect.Kind, n int) protoreflect.Value {
	switch k {
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(n))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(uint64(n))
	}
	panic(fmt.Sprintf("no number: %s", k))
}

// asker makes calls as a tenant, whose data alone has its mark.
type asker struct {
	t            *testing.T
	conn         *grpc.ClientConn
	tenant, mark string
}

func (a asker) messages(m protoreflect.MethodDescriptor) (path string, in, out proto.Message) {
	made := func(d protoreflect.MessageDescriptor) proto.Message {
		typ, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
		require.NoError(a.t, err)
		return typ.New().Interface()
	}
	in, out = made(m.Input()), made(m.Output())
	fill(a.t, in.ProtoReflect(), a.tenant, a.mark)
	return fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name()), in, out
}

// text is all that an answer or an error says.
func text(out proto.Message, err error) string {
	if err != nil {
		return prototext.Format(status.Convert(err).Proto())
	}
	return prototext.Format(out)
}

// ask makes a call that has one answer, and returns all that it says.
func (a asker) ask(m protoreflect.MethodDescriptor) (string, error) {
	path, in, out := a.messages(m)
	err := a.conn.Invoke(a.t.Context(), path, in, out)
	return text(out, err), err
}

// listen begins a stream, and returns what it has said when it ends, by itself or by stop;
// heard is whether it has said something, or has ended.
func (a asker) listen(m protoreflect.MethodDescriptor) (heard func() bool, stop func() string) {
	ctx, cancel := context.WithCancel(a.t.Context())
	path, in, _ := a.messages(m)
	s, err := a.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: m.IsStreamingClient()}, path)
	require.NoError(a.t, err)
	require.NoError(a.t, s.SendMsg(in))
	require.NoError(a.t, s.CloseSend())
	said, some := make(chan string, 1), atomic.Bool{}
	go func() {
		var all strings.Builder
		for {
			_, _, out := a.messages(m)
			err := s.RecvMsg(out)
			some.Store(true)
			if all.WriteString(text(out, err)); err != nil {
				said <- all.String()
				return
			}
		}
	}()
	return some.Load, func() string { cancel(); return <-said }
}

// Whatever a tenant asks, by whichever operation there is, and by the very names that another
// uses: nothing that it hears is the other's, and nothing of the other's changes.
func TestX03NoOperationLeadsToAnotherTenant(t *testing.T) {
	d, db := everyCapability(t)
	conn := d.bare(t)
	methods, byName := tenantMethods(t), map[string]protoreflect.MethodDescriptor{}
	for _, m := range methods {
		byName[string(m.Parent().Name())+"."+string(m.Name())] = m
	}
	theirs, mine := asker{t, conn, "theirs", "leaked"}, asker{t, conn, "mine", "visible"}
	for _, name := range fills {
		_, err := theirs.ask(byName[name])
		require.NoError(t, err, name)
	}
	shown := 0
	for _, m := range methods {
		if m.IsStreamingServer() || m.IsStreamingClient() || !strings.HasPrefix(string(m.Name()), "Get") && !strings.HasPrefix(string(m.Name()), "List") && m.Name() != "Range" && m.Name() != "Queue" && m.Name() != "Lookup" {
			continue
		}
		if said, _ := theirs.ask(m); strings.Contains(said, theirs.mark) {
			shown++
		}
	}
	require.Greater(t, shown, 15, "the requests lead to what there is")

	for _, m := range methods {
		if !m.IsStreamingServer() && !m.IsStreamingClient() {
			continue
		}
		heard, stop := mine.listen(m)
		for _, who := range []asker{theirs, mine} { // what happens meanwhile
			for _, name := range []string{"Kv.Put", "Event.Publish", "Setting.Set", "Record.Update"} {
				_, _ = who.ask(byName[name])
			}
		}
		if slices.Contains([]string{"Kv.Watch", "Event.Follow", "Setting.Watch", "Record.Watch"}, string(m.Parent().Name())+"."+string(m.Name())) {
			require.Eventually(t, heard, patience, time.Millisecond, m.FullName())
		}
		require.NotContains(t, stop(), theirs.mark, m.FullName())
	}

	before := rowsOfTenant(t, db, theirs.tenant)
	require.NotEmpty(t, before)
	worked := map[protoreflect.FullName]bool{}
	ask := func(m protoreflect.MethodDescriptor) {
		if m.IsStreamingServer() || m.IsStreamingClient() {
			return
		}
		said, err := mine.ask(m)
		require.NotContains(t, said, theirs.mark, m.FullName())
		worked[m.FullName()] = worked[m.FullName()] || err == nil
	}
	for _, m := range methods {
		ask(m)
	}
	random := rand.New(rand.NewPCG(3, 1))
	for range enginetest.Scale(1000) {
		ask(methods[random.IntN(len(methods))])
	}
	require.Equal(t, before, rowsOfTenant(t, db, theirs.tenant))
	n := 0
	for _, ok := range worked {
		if ok {
			n++
		}
	}
	require.Greater(t, n, 50, "operations do something here")
}

// rowsOfTenant are the rows of a tenant, but for what is shared.
func rowsOfTenant(t *testing.T, db engine.Engine, tenant string) (all []string) {
	of, err := kv.RowsOf(db, tenant)
	require.NoError(t, err)
	it, err := db.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	for it.Next() {
		row, err := kv.ParseRow(it.Key())
		require.NoError(t, err)
		shared := slices.Contains([]kv.Shape{kv.ShapeStore, kv.ShapeSpace, kv.ShapeSpaceName}, row.Shape)
		if of.Has(row) && !shared {
			all = append(all, hex.EncodeToString(it.Key())+" "+string(bytes.Clone(it.Value())))
		}
	}
	require.NoError(t, it.Err())
	return all
}
