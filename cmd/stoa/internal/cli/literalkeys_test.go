package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/rpc"
)

// What a literal key shows.
type (
	hashOf   []string // an object of these fields
	setOf    []string // a list of these members
	scoresOf []string // a sorted set: members with scores; one that is an object by its agent_id or id
	streamOf []string // entries, by the names of their events
	exactly  string   // this JSON
	like     string   // a text that matches
	nothing  struct{ err error }
)

// literalKey is a key of the source, by its own example, and what it shows over the socket;
// where that is something else in a directory, what it shows there: nobody waits in one.
type literalKey struct {
	key            string
	shows, offline any
}

const (
	task     = "550e8400-e29b-41d4-a716-446655440000"
	anInst   = `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`
	lockTask = "ade:lock:task:" + task
	database = "ade:lock:resource:database:prod-db-01"
)

var lockHash = hashOf{"holder_agent_id", "acquired_at", "expires_at", "purpose", "heartbeat_count", "queue_length"}

// coordinationKeys are the patterns of the approval system's Redis schema, in its order.
var coordinationKeys = []literalKey{
	{lockTask, lockHash, nil},
	{"ade:lock:task:{" + task + "}", lockHash, nil},
	{database, hashOf{"mode", "holders", "exclusive_holder", "acquired_at", "expires_at"}, nil},
	{"ade:lock:resource:service:api-gateway", hashOf{"mode", "holders", "acquired_at", "expires_at"}, nil}, // it is shared
	{"ade:lock:agent:agent-123:capacity", hashOf{"max_tasks", "active_tasks", "queued_tasks", "last_heartbeat", "status"}, nil},
	{lockTask + ":queue", scoresOf{"agent-789"}, scoresOf{}},
	{lockTask + ":channel", nothing{lock.ErrInvalidArgument}, nil}, // nothing is stored there: stoa lock watch is it
	{"ade:lock:index:agent:agent-123", setOf{lockTask}, nil},
	{"ade:lock:index:resource:database", setOf{database}, nil},
	{"ade:lock:registry", scoresOf{lockTask, database, "ade:lock:resource:service:api-gateway"}, nil},
	{"ade:lock:waitfor:agent-789", setOf{lockTask}, setOf{}},
	{"ade:lock:deadlock:check:agent-789", like(anInst), nothing{lock.ErrNotFound}},

	{"ade:approval:request:app-123", hashOf{"task_id", "reviewer_id", "reviewer_name", "status", "priority", "delegated_to", "delegation_chain", "created_at", "due_at",
		"responded_at", "response_action", "response_reason", "reviewed_by"}, nil},
	{"ade:approval:queue:user:user-789", scoresOf{"app-124"}, nil},
	{"ade:approval:queue:global", scoresOf{"app-124"}, nil},
	{"ade:approval:index:task:task-456", setOf{"app-123", "app-124"}, nil},
	{"ade:approval:index:task:{task-456}", setOf{"app-123", "app-124"}, nil},
	{"ade:approval:stats:user:user-790", hashOf{"pending_count", "approved_today", "rejected_today", "avg_response_time", "last_action_at"}, nil},
	{"ade:approval:stats:task:task-456", hashOf{"required_count", "approved_count", "rejected_count", "pending_count", "quorum_reached"}, nil},
	{"ade:approval:delegation:user-123:policy-456", hashOf{"owner_id", "delegate_to", "conditions", "cascade", "active", "created_at", "expires_at"}, nil},
	{"ade:approval:delegation:index:user-123", setOf{"policy-456"}, nil},

	{"ade:task:task-123:state", exactly(`"COMPLETED"`), nil},
	{"ade:{task:task-123}:state", exactly(`"COMPLETED"`), nil},
	{"ade:{task:task-123}:data", hashOf{"task_id", "state", "config", "metadata", "execution", "risk"}, nil},
	{"ade:task:task-123:config", hashOf{"type", "version", "description", "parameters", "resources", "rollback_strategy", "timeout_seconds", "priority"}, nil},
	{"ade:task:task-123:metadata", hashOf{"author_id", "author_name", "team", "ticket_ref", "tags", "created_at", "updated_at", "submitted_at", "approved_at", "applying_at",
		"completed_at"}, nil},
	{"ade:task:index:state:COMPLETED", scoresOf{"task-123"}, nil},
	{"ade:task:index:state:REVIEWING", scoresOf{"task-456"}, nil},
	{"ade:task:index:state:DRAFT", scoresOf{}, nil},
	{"ade:task:index:author:user-001", scoresOf{"task-123"}, nil},
	{"ade:task:index:resource:database:prod-db-01", scoresOf{"task-123"}, nil},
	{"ade:task:index:tag:db", scoresOf{"task-123"}, nil},
	{"ade:task:task-123:execution", hashOf{"started_at", "completed_at", "agent_id", "result", "output", "output_key", "error", "error_details", "retry_count"}, nil},
	{"ade:{task:task-123}:execution", hashOf{"started_at", "completed_at", "agent_id", "result", "output", "output_key", "error", "error_details", "retry_count"}, nil},
	{"ade:task:task-123:preview", hashOf{"changes", "warnings", "errors"}, nil},
	{"ade:task:task-123:risk", hashOf{"score", "level", "factors", "auto_approvable", "assessed_at", "assessed_by"}, nil},

	{"ade:session:s-1", hashOf{"user_id", "user_name", "roles", "permissions", "created_at", "last_active", "ip_address", "user_agent"}, nil},
	{"ade:session:index:user:user-789", setOf{"s-1", "s-2"}, nil},
	{"ade:ratelimit:tasks:create:user-123", exactly("1"), nil},
	{"ade:ratelimit:approvals:respond:user-456", exactly("2"), nil},
	{"ade:ratelimit:lock:acquire:agent-123", exactly("1"), nil},

	{"ade:events:task", streamOf{"task:state_changed"}, nil},
	{"ade:events:approval", streamOf{}, nil},
	{"ade:events:lock", streamOf{"lock:acquired", "lock:acquired", "lock:acquired", "lock:queued"}, nil},
	{"ade:events:task:consumers", like(`"name":"analytics-pipeline".*"name":"audit-logger".*"name":"notification-service".*"name":"webhook-dispatcher"`), nil},
	{"ade:job:queue:lock_cleanup", like(`^\[\{"id":"job-1","target":"ade:lock:task:123","type":"lock_cleanup"\}\]$`), nil},
	{"ade:job:queue:approval_timeout", exactly("[]"), nil},
	{"ade:job:queue:task_timeout", exactly("[]"), nil},
	{"ade:job:queue:deadlock_detect", exactly("[]"), nil},
	{"ade:job:queue:archive", exactly("[]"), nil},
	{"ade:job:scheduled", scoresOf{"job-2"}, nil},
	{"ade:job:lock:job-3", exactly(`"worker-1"`), nil},

	{"ade:config:lock:default_ttl", exactly("45"), nil},
	{"ade:config:lock:max_ttl", exactly("3600"), nil},
	{"ade:config:lock:heartbeat_interval", exactly("20"), nil},
	{"ade:config:approval:default_timeout", exactly("172800"), nil},
	{"ade:config:approval:max_timeout", exactly("2592000"), nil},
	{"ade:config:task:default_timeout", exactly("3600"), nil},
	{"ade:config:risk:thresholds", exactly(`{"critical":75,"high":50,"medium":25}`), nil},
	{"ade:config:no:such", nothing{setting.ErrValidation}, nil},
	{"ade:feature:auto_approve_low_risk", exactly(`"disabled"`), nil},
	{"ade:feature:deadlock_detection", exactly(`"enabled"`), nil},
	{"ade:feature:batch_approvals", exactly(`"enabled"`), nil},

	{"ade:nothing:here", nothing{record.ErrInvalidKey}, nil},
}

// Every key of the approval system and of the governance layer is read by its name, over the
// socket and in a directory, and shows what the source says that it has.
func TestA1A2B7EveryLiteralKeyIsRead(t *testing.T) {
	s := openLiterals(t)
	all := slices.Concat(coordinationKeys, s.fillGovernance(t).keys())
	s.fillCoordination(t)
	for _, f := range []rpc.Framing{rpc.FramingFrames, rpc.FramingGRPC} {
		c := s.dial(t, f)
		for _, k := range all {
			shows(t, c, k.key, k.shows)
		}
		_, err := c.Lookup(t.Context(), "other", lockTask)
		require.ErrorIs(t, err, lock.ErrNotFound, "it is another tenant's")
		_, err = c.Lookup(t.Context(), "acme", "ade:nothing:here")
		require.ErrorContains(t, err, "they begin with ade:task:, ade:approval:, ")
	}
	s.end(t)
	_, c, _ := readingOffline(t, s.db)
	for _, k := range all {
		if k.offline == nil {
			k.offline = k.shows
		}
		shows(t, c, k.key, k.offline)
	}
}

// shows demands that a key of the tenant acme shows something.
func shows(t *testing.T, c *rpc.Client, key string, want any) {
	t.Helper()
	found, err := c.Lookup(t.Context(), "acme", key)
	if want, ok := want.(nothing); ok {
		require.ErrorIs(t, err, want.err, key)
		return
	}
	require.NoError(t, err, key)
	switch want := want.(type) {
	case hashOf:
		require.ElementsMatch(t, want, slices.Collect(maps.Keys(decoded[map[string]json.RawMessage](t, found))), "%s: %s", key, found)
	case setOf:
		require.ElementsMatch(t, want, decoded[[]string](t, found), key)
	case scoresOf:
		members := []string{}
		for _, m := range decoded[[][2]json.RawMessage](t, found) {
			decoded[float64](t, m[1])
			members = append(members, member(t, m[0]))
		}
		require.ElementsMatch(t, want, members, key)
	case streamOf:
		names := []string{}
		for _, e := range decoded[[]map[string]json.RawMessage](t, found) {
			require.ElementsMatch(t, []string{"id", "event", "timestamp", "payload", "source"}, slices.Collect(maps.Keys(e)), key)
			names = append(names, decoded[string](t, e["event"]))
		}
		require.Equal(t, []string(want), names, key)
	case exactly:
		require.JSONEq(t, string(want), string(found), key)
	case like:
		require.Regexp(t, string(want), strings.Trim(string(found), `"`), key)
	}
}

// member is one of a sorted set: a text, or an object by what names it.
func member(t *testing.T, text json.RawMessage) string {
	t.Helper()
	if text[0] == '"' {
		return decoded[string](t, text)
	}
	of := decoded[struct {
		Agent string `json:"agent_id"`
		ID    string `json:"id"`
	}](t, text)
	return of.Agent + of.ID
}

func decoded[T any](t *testing.T, text []byte) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(text, &v), "%s", text)
	return v
}
