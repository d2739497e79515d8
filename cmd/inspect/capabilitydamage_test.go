package inspect

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/session"
)

// hurt changes a row, whose key and value are its own; a nil value takes it away.
type hurt func(t *testing.T, key, value []byte) (newKey, newValue []byte)

func takenOut(_ *testing.T, key, _ []byte) ([]byte, []byte) { return key, nil }

// says replaces a text of the value.
func says(old, text string) hurt {
	return func(t *testing.T, key, value []byte) ([]byte, []byte) { return key, replaced(t, value, old, text) }
}

// ofRecord replaces a text of what a record says.
func ofRecord(old, text string) hurt {
	return func(t *testing.T, key, value []byte) ([]byte, []byte) {
		return key, append(value[:kvRecordHeader:kvRecordHeader], replaced(t, value[kvRecordHeader:], old, text)...)
	}
}

// more adds to the number of 8 bytes at a place of the value.
func more(at int, by uint64) hurt {
	return func(_ *testing.T, key, value []byte) ([]byte, []byte) {
		binary.LittleEndian.PutUint64(value[at:], binary.LittleEndian.Uint64(value[at:])+by)
		return key, value
	}
}

// flipped changes a bit of the byte that is so far from the end.
func flipped(fromEnd int) hurt {
	return func(_ *testing.T, key, value []byte) ([]byte, []byte) {
		value[len(value)-fromEnd] ^= 0x08
		return key, value
	}
}

// again puts a row of the same value under a key with another text.
func again(old, text string) hurt {
	return func(t *testing.T, key, value []byte) ([]byte, []byte) { return replaced(t, key, old, text), value }
}

// numbered puts an entry of the same value under another number.
func numbered(n byte) hurt {
	return func(_ *testing.T, key, value []byte) ([]byte, []byte) {
		key[len(key)-1] = n
		return key, value
	}
}

// Where fields of rows are (kv/README.md).
const (
	kvRecordHeader       = 2 + 4*8 // bytes of a record before its value
	agentBytesFromStatus = 1 + 4 + 8
	metaKeys             = 1 + 2*8
	streamLast           = 8
	groupDelivered       = 0
	groupPending         = 8
)

// Whatever is damaged of what agents coordinate by, a full verification finds it, by its
// code, its row and its place; and all is well again where the damage is undone.
func TestVerifyFindsDamageOfEveryCapability(t *testing.T) {
	const (
		locks, settings, limits, events, jobs, buckets, streams = kv.SystemLock, kv.SystemSetting, kv.SystemLimit, kv.SystemEvent, kv.SystemJob, kv.SystemBucket, kv.SystemStream
		record, index, due, meta                                = kv.ShapeRecord, kv.ShapeIndex, kv.ShapeDue, kv.ShapeMeta
		entry, head, group, pending                             = kv.ShapeEntry, kv.ShapeHead, kv.ShapeGroup, kv.ShapePending
	)
	whole := capabilityStore(t)
	require.Empty(t, findingsOf(t, whole))
	for name, tc := range map[string]struct {
		in     any // a system, or a collection
		shape  kv.Shape
		key    string // is in the row's key
		damage hurt
		code   string
		says   []string
	}{
		"lock: a holder is there twice":        {locks, record, "database", says("reader-1", "reader-2"), "lock-row", []string{`locks of tenant "acme", "resource:database:main"`, "twice"}},
		"lock: an agent of no known status":    {locks, record, "agent:deployer", flipped(agentBytesFromStatus), "lock-row", []string{`"agent:deployer"`, "no known status"}},
		"lock: a name of no lock":              {locks, record, "task:1", again("task:1", "tosk:1"), "lock-row", []string{`"tosk:1"`, "a lock is task:ID"}},
		"lock: a byte":                         {locks, record, "task:1", ofRecord("\x01", "\x02"), "lock-row", []string{`"task:1"`}},
		"lock: its record":                     {locks, record, "task:1", takenOut, "kv-index", []string{`locks of tenant "acme"`}},
		"lock: its holder's index":             {locks, index, "reader-1", takenOut, "kv-index", []string{`locks of tenant "acme"`}},
		"lock: an index of no holder":          {locks, index, "reader-1", again("reader-1", "reader-9"), "kv-index", []string{`locks of tenant "acme"`}},
		"lock: the counter":                    {locks, meta, "", more(metaKeys, 1), "kv-counters", []string{`locks of tenant "acme"`, "keys"}},
		"lock: when it is due":                 {locks, due, "task:1", takenOut, "kv-due", []string{`locks of tenant "acme", record "task:1"`}},
		"task: a state that is none":           {approval.Tasks, record, "t-1", says(`"REVIEWING"`, `"REVIEWINK"`), "record-document", []string{`collection task of tenant "acme"`, `"t-1"`, "field state"}},
		"task: another state":                  {approval.Tasks, record, "t-1", says(`"REVIEWING"`, `"SUBMITTED"`), "kv-index", []string{"index by_state", `"t-1"`}},
		"task: the index of its state":         {approval.Tasks, index, "DRAFT", takenOut, "kv-index", []string{`"t-2"`}},
		"task: in two states":                  {approval.Tasks, index, "DRAFT", again("t-2", "t-1"), "kv-index", []string{"index by_state", `"t-1"`}},
		"task: its record":                     {approval.Tasks, record, "t-2", takenOut, "kv-counters", []string{"collection task"}},
		"approval: its score":                  {approval.Approvals, record, "a-1", says(`"rank":-450`, `"rank":-950`), "record-document", []string{`"a-1"`, "not as a write would have left it"}},
		"approval: its answer":                 {approval.Approvals, record, "a-2", says(`"APPROVED"`, `"REJECTED"`), "kv-index", []string{"index by_status", `"a-2"`}},
		"approval: who is asked":               {approval.Approvals, record, "a-1", says(`"user":"bob"`, `"user":"eve"`), "record-document", []string{`"a-1"`}},
		"approval: the queue of its user":      {approval.Approvals, index, "bob", takenOut, "kv-index", []string{"its row of index by_user is missing", `"a-1"`}},
		"approval: in two queues":              {approval.Approvals, index, "bob", again("bob", "eve"), "kv-index", []string{"index by_user", `"a-1"`}},
		"approval: the counter":                {approval.Approvals, meta, "", more(metaKeys, ^uint64(0)), "kv-counters", []string{"collection approval_request"}},
		"policy: a byte":                       {approval.Delegations, record, "policy-1", says(`"owner_id"`, `"owner_ie"`), "record-document", []string{`"policy-1"`, "owner_id"}},
		"session: whose it is":                 {session.Sessions, record, "@", says(`"user_id":"ann"`, `"user_id":"eve"`), "kv-index", []string{"collection session", "@"}},
		"session: its secret":                  {session.Sessions, record, "@", says(sessionSecret, "sess-opens-nothing-at"), "record-document", []string{"collection session", "@"}},
		"session: when it ends":                {session.Sessions, due, "@", takenOut, "kv-due", []string{"collection session"}},
		"limit: bytes of no version":           {limits, record, "tasks:create", ofRecord("\x01", "\x02"), "limit-row", []string{`limits of tenant "acme"`, "version 1"}},
		"limit: more than it lets pass":        {limits, record, "tasks:create", flipped(1), "limit-row", []string{"tasks:create"}},
		"limit: its record":                    {limits, record, "tasks:create", takenOut, "kv-counters", []string{`limits of tenant "acme"`}},
		"event: an entry that does not parse":  {events, entry, "task", says(`{"task_id"`, `["task_id"`), "event-row", []string{`events of tenant "acme", "task": entry 1`, "no JSON"}},
		"event: an entry of no version":        {events, entry, "task", flipped(len(`{"task_id":"t-1"}`) + 2 + len("stoa") + 2 + len("task:created") + 1), "event-row", []string{"entry 1", "version 1"}},
		"event: an entry is taken out":         {events, entry, "task", takenOut, "kv-stream", []string{`events of tenant "acme"`}},
		"event: one more":                      {events, entry, "task", numbered(9), "kv-stream", []string{`events of tenant "acme"`}},
		"event: of a stream that is none":      {events, entry, "task", again("task", "tusk"), "event-row", []string{`"tusk"`, "task, approval, lock"}},
		"event: the head counts one more":      {events, head, "task", more(streamLast, 1), "kv-stream", []string{"entries 1 to 4"}},
		"event: the head":                      {events, head, "task", takenOut, "kv-stream", []string{"head"}},
		"event: a stream of another name":      {events, head, "task", again("task", "tusk"), "event-row", []string{`"tusk"`}},
		"group: beyond its stream":             {events, group, "webhook-dispatcher", more(groupDelivered, 9), "kv-group", []string{"it is at 9 of"}},
		"group: one pending too many":          {events, group, "task\x00\x01audit-logger", more(groupPending, 1), "kv-group", []string{"counts 3 pending entries"}},
		"group: a pending entry":               {events, pending, "audit-logger", takenOut, "kv-group", []string{"counts 2 pending entries"}},
		"group: with what is pending":          {events, group, "task\x00\x01audit-logger", takenOut, "kv-group", []string{"its group row is missing"}},
		"group: one that every stream has":     {events, group, "webhook-dispatcher", takenOut, "event-row", []string{`events of tenant "acme"`, "webhook-dispatcher of approval"}},
		"group: of a name that no group has":   {events, group, "webhook-dispatcher", again("webhook-dispatcher", "webhook\ndispatcher"), "event-row", []string{"no group of a stream is called so"}},
		"job: bytes of no version":             {jobs, record, "x-1", ofRecord("\x01", "\x02"), "job-row", []string{`jobs of tenant "acme", "x-1"`}},
		"job: a token that was not given yet":  {jobs, record, "x-2", more(kvRecordHeader+3+4*8, 1<<40), "job-row", []string{`"x-2"`, "token"}},
		"job: another queue":                   {jobs, record, "x-1", more(kvRecordHeader+2, 1), "job-row", []string{`"x-1"`}},
		"job: in two queues":                   {jobs, index, "x-1", again("\x05\x02", "\x01\x02"), "kv-index", []string{`jobs of tenant "acme"`}},
		"job: in no queue":                     {jobs, index, "x-3", takenOut, "kv-index", []string{`jobs of tenant "acme"`}},
		"job: the counter":                     {jobs, meta, "", more(metaKeys, 1), "kv-counters", []string{`jobs of tenant "acme"`}},
		"bucket: a key that none is":           {buckets, record, "logs-out", again("logs-out", "logs+out"), "bucket-row", []string{`buckets of tenant "acme"`, "a key has no"}},
		"bucket: a bucket that is not JSON":    {buckets, record, "bucket:", says(`"space"`, `"spa"e"`), "bucket-row", []string{"the registry's record"}},
		"bucket: a contract that is none":      {buckets, record, "contract:", says(`"purpose"`, `"burpose"`), "bucket-row", []string{"the registry's record"}},
		"stream: an entry of no version":       {streams, entry, "orders", flipped(len("one") + 8 + 2), "stream-row", []string{`streams of tenant "acme"`}},
		"stream: a dead letter":                {streams, record, "dead/", takenOut, "stream-row", []string{`streams of tenant "acme"`, "dead letters"}},
		"stream: a consumer":                   {streams, record, "consumer/", ofRecord("\x01", "\x02"), "stream-row", []string{`streams of tenant "acme"`}},
		"stream: its head":                     {streams, head, "orders", takenOut, "kv-stream", []string{`streams of tenant "acme"`}},
		"setting: a value of another type":     {settings, record, "deadlock", says("disabled", "disable!"), "setting-row", []string{`settings of tenant "acme", "feature:deadlock_detection"`, "a feature is"}},
		"setting: a name that no setting has":  {settings, record, "deadlock", again("deadlock", "headlock"), "setting-row", []string{"there is no setting of this name"}},
		"setting: the change that has left it": {settings, kv.ShapeLog, "", takenOut, "kv-log", []string{`settings of tenant "acme"`}},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := copyOf(t, whole)
			key, value := rowOf(t, s, tc.in, tc.shape, tc.key)
			newKey, newValue := tc.damage(t, bytes.Clone(key), bytes.Clone(value))
			apply(t, e, func(b *engine.Batch) {
				if newValue == nil {
					b.Delete(column.Generic, newKey)
				} else {
					b.Put(column.Generic, newKey, newValue)
				}
			})
			var of []string
			for _, f := range findingsOf(t, s) {
				require.NotContains(t, f.Reason, sessionSecret)
				require.NotEmpty(t, f.Key, "%s", f)
				if f.Code == tc.code {
					of = append(of, f.Reason)
				}
			}
			require.NotEmpty(t, of, "there is no %s", tc.code)
			for _, text := range tc.says {
				require.Contains(t, of[0], text)
			}
			require.Empty(t, findings(t, e, false), "only a full verification reads what rows say")
			apply(t, e, func(b *engine.Batch) {
				b.Delete(column.Generic, newKey)
				b.Put(column.Generic, key, value)
			})
			require.Empty(t, findingsOf(t, s))
		})
	}
}
