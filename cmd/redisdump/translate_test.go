package redisdump_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/stoadb/stoa/cmd/redisdump"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/record"
)

// dumped is something of every pattern.
const dumped = `
SET ade:task:task-1:state REVIEWING
SET ade:task:task-1:data '{"extra":{"a":[1,2]},"config":{"type":"infrastructure"}}'
HSET ade:task:task-1:config type infrastructure version 2 description "migrate" parameters '{"x":1}' resources '[{"type":"database","id":"prod-db-01"},"service:api"]' rollback_strategy manual timeout_seconds 600 priority 70
HSET ade:{task:task-1}:metadata author_id ada author_name Ada tags '["db","urgent"]' created_at 2026-03-18T15:00:00Z updated_at 2026-03-18T15:20:00Z submitted_at 2026-03-18T15:10:00Z approved_at ""
HSET ade:task:task-1:risk score 35 factors '["prod"]' auto_approvable false assessed_at 2026-03-18T15:05:00Z assessed_by v3
SET ade:task:task-1:preview '{"changes":["one"]}' EX 86400
SET ade:task:task-2:state COMPLETED
HSET ade:task:task-2:metadata author_id bob tags db
HSET ade:task:task-2:execution agent_id agent-1 started_at 2026-03-18T14:00:00Z completed_at 2026-03-18T14:05:00Z result success retry_count 1 output done error ""
ZADD ade:task:index:state:REVIEWING 1710774000 task-1
HSET ade:approval:request:app-1 task_id task-1 reviewer_id user-7 reviewer_name "User Seven" status 0 priority HIGH created_at 2026-03-18T15:30:00Z due_at 2026-03-20T15:30:00Z
HSET ade:approval:request:app-2 task_id task-1 reviewer_id user-8 status APPROVED priority NORMAL created_at 2026-03-18T15:00:00Z responded_at 2026-03-18T15:10:00Z response_action approve reviewed_by user-8 response_reason ""
HSET ade:approval:request:app-3 task_id task-1 reviewer_id user-9 status 3 delegated_to user-7 delegation_chain '["user-7"]' created_at 2026-03-18T15:00:00Z
ZADD ade:approval:queue:user:user-7 850 app-1
ZADD ade:approval:queue:global 1774020600 app-1
HSET ade:approval:stats:task:task-1 required_count 2
HSET ade:approval:delegation:user-7:pol-1 owner_id user-7 delegate_to user-9 conditions '{"task_types":["infrastructure"],"risk_above":50}' cascade true active true created_at 2026-03-01T00:00:00Z expires_at ""
SADD ade:approval:delegation:index:user-7 pol-1
HSET lock:task:task-1 holder_agent_id agent-123 acquired_at 2026-03-18T15:29:50Z expires_at 2026-03-18T15:30:20Z purpose "apply it"
HSET ade:lock:task:old holder_agent_id agent-1 expires_at 2026-03-18T15:29:59Z
HSET ade:lock:resource:database:prod-db-01 mode shared holders '[{"agent_id":"a"},{"agent_id":"b"}]' acquired_at 2026-03-18T15:30:00Z
HSET ade:lock:resource:service:api mode exclusive exclusive_holder agent-4
EXPIRE ade:lock:resource:service:api 12
SET lock:task:v1 agent-9 PX 4000
ZADD ade:lock:task:task-1:queue 1710775800000 '{"agent_id":"agent-789"}'
HSET ade:lock:agent:agent-123:capacity max_tasks 10 active_tasks 3 status draining
HSET ade:lock:agent:agent-5:capacity max_tasks 1 status offline
ZADD ade:lock:registry 1710775830 ade:lock:task:task-1
SADD ade:lock:waitfor:agent-789 ade:lock:task:task-1
HSET ade:session:s-1 user_id user-7 user_name Seven roles '["admin"]' permissions '[]' created_at 2026-03-18T12:00:00Z last_active 2026-03-18T15:00:00Z
SADD ade:session:index:user:user-7 s-1
SET ade:ratelimit:tasks:create:user-7 3 EX 60
XADD ade:events:task 1710775800000-0 event task:created
RPUSH ade:job:queue:archive '{"type":"archive"}'
SET ade:config:lock:default_ttl 45
SET ade:feature:batch_approvals enabled
SET ade:something else
SET ade:config:ours 5
`

func translated(t *testing.T, text string) *Translation {
	d, err := Read(strings.NewReader(text), now)
	require.NoError(t, err)
	tr, err := Translate(d, now)
	require.NoError(t, err)
	return tr
}

// What is translated is what the collections take; and their literal keys say what the keys
// of the dump have said.
func TestWhatIsTranslatedIsWhatTheCollectionsTake(t *testing.T) {
	tr := translated(t, dumped)
	clock := kvtest.New()
	db := mem.New()
	store, err := kv.Open(db, kv.Options{Clock: clock})
	require.NoError(t, err)
	defer func() {
		require.NoError(t, store.Close())
		require.NoError(t, db.Close())
	}()
	records, err := record.New(store, record.Options{})
	require.NoError(t, err)
	approvals, err := approval.New(records, approval.Options{})
	require.NoError(t, err)
	for range 2 { // twice is as once
		for _, of := range tr.Documents() {
			var lines bytes.Buffer
			for _, d := range of.List {
				lines.Write(append(d.JSON, '\n'))
			}
			n, err := records.Import(t.Context(), "acme", of.Collection, &lines)
			require.NoError(t, err, of.Collection)
			require.Equal(t, len(of.List), n)
		}
	}
	for key, want := range map[string]string{
		"ade:task:task-1:state":  `"REVIEWING"`,
		"ade:task:task-1:config": `{"type":"infrastructure","version":"2","description":"migrate","parameters":{"x":1},"resources":["database:prod-db-01","service:api"],"rollback_strategy":"manual","timeout_seconds":600,"priority":70}`,
		"ade:task:task-1:metadata": `{"author_id":"ada","author_name":"Ada","tags":["db","urgent"],"created_at":"2026-03-18T15:00:00Z","updated_at":"2026-03-18T15:20:00Z",
			"submitted_at":"2026-03-18T15:10:00Z"}`,
		"ade:task:task-1:risk":                        `{"score":35,"level":"MEDIUM","factors":["prod"],"auto_approvable":false,"assessed_at":"2026-03-18T15:05:00Z","assessed_by":"v3"}`,
		"ade:task:task-1:preview":                     `{"changes":["one"]}`,
		"ade:task:task-2:execution":                   `{"agent_id":"agent-1","started_at":"2026-03-18T14:00:00Z","completed_at":"2026-03-18T14:05:00Z","result":"success","retry_count":1,"output":"done"}`,
		"ade:task:index:tag:db":                       `[["task-1",1773846000],["task-2",1773847800]]`,
		"ade:task:index:resource:database:prod-db-01": `[["task-1",1773846000]]`,
		"ade:approval:request:app-1":                  `{"task_id":"task-1","reviewer_id":"user-7","reviewer_name":"User Seven","status":"PENDING","priority":"HIGH","created_at":"2026-03-18T15:30:00Z","due_at":"2026-03-20T15:30:00Z"}`,
		"ade:approval:queue:user:user-7":              `[["app-1",850],["app-3",100]]`,
		"ade:approval:index:task:task-1":              `["app-1","app-2","app-3"]`,
		"ade:approval:stats:task:task-1":              `{"required_count":2,"approved_count":1,"rejected_count":0,"pending_count":2,"quorum_reached":false}`,
		"ade:approval:delegation:user-7:pol-1":        `{"owner_id":"user-7","delegate_to":"user-9","conditions":{"task_types":["infrastructure"],"risk_above":50},"cascade":true,"active":true,"created_at":"2026-03-01T00:00:00Z"}`,
	} {
		got, err := approvals.Lookup(t.Context(), "acme", key)
		require.NoError(t, err, key)
		require.JSONEq(t, want, string(got), key)
	}
	data, err := approvals.Lookup(t.Context(), "acme", "ade:task:task-1:data")
	require.NoError(t, err)
	require.Contains(t, string(data), `"extra":{"a":[1,2]}`, "what is not known is kept")
}

func TestLocksAgentsSessionsAndSettingsAreTranslated(t *testing.T) {
	tr := translated(t, dumped)
	at := func(seconds int) any { return now.Unix() + int64(seconds) }
	var locks [][]any
	for _, l := range tr.Locks {
		locks = append(locks, []any{l.Name, l.Agent, l.Shared, l.Purpose, l.Until.Unix()})
	}
	require.ElementsMatch(t, [][]any{
		{"task:task-1", "agent-123", false, "apply it", at(20)},
		{"resource:database:prod-db-01", "a", true, "", at(30)},
		{"resource:database:prod-db-01", "b", true, "", at(30)},
		{"resource:service:api", "agent-4", false, "", at(12)},
		{"task:v1", "agent-9", false, "", at(4)},
	}, locks)
	require.Equal(t, []Agent{{Origin{"ade:lock:agent:agent-123:capacity", 27}, "agent-123", 10, true}}, tr.Agents)
	require.Equal(t, []Setting{{Origin{"ade:config:lock:default_ttl", 36}, "ade:config:lock:default_ttl", []byte("45")},
		{Origin{"ade:feature:batch_approvals", 37}, "ade:feature:batch_approvals", []byte(`"enabled"`)}}, tr.Settings)
	require.Len(t, tr.Sessions, 1)
	require.JSONEq(t, `{"session_id":"s-1","user_id":"user-7","user_name":"Seven","roles":["admin"],"permissions":[],"created_at":"2026-03-18T12:00:00Z","last_active":"2026-03-18T15:00:00Z"}`, string(tr.Sessions[0].JSON))
}

// The id of a session is a secret: nothing that is said of a dump shows it.
func TestIDsOfSessionsAreNotShown(t *testing.T) {
	const id = "sess-secret"
	for _, text := range []string{
		"HSET session:" + id + " roles [}",
		"HSET ade:{session:" + id + "} user_id u created_at now",
		"HSET ade:session:" + id + ":x user_id u",
		"SET ade:session:" + id + " x EX " + id,
		"HSET ade:session:" + id + " " + id,
		"ZADD ade:session:index:user:u " + id + " 1",
		"SET ade:session:" + id + " x\nHSET ade:session:" + id + " a b",
		"ade:session:" + id,
		"HSET ade:session:" + id + " user_id u created_at 2020-01-01T00:00:00Z",
		"HSET ade:session:" + id + " user_id u\nSADD ade:session:index:user:u " + id,
	} {
		d, err := Read(strings.NewReader(text), now)
		var tr *Translation
		if err == nil {
			tr, err = Translate(d, now)
		}
		if err != nil {
			require.NotContains(t, err.Error(), id, text)
			continue
		}
		for _, l := range tr.Left {
			require.NotContains(t, l.Key+l.Why, id, text)
		}
		for _, s := range tr.Sessions {
			require.NotContains(t, s.Key+s.ID, id, text)
		}
	}
}

// Every key is translated, or left with the reason.
func TestNoKeyIsLeftWithoutAWord(t *testing.T) {
	why, kinds := map[string]string{}, map[string]string{}
	for _, l := range translated(t, dumped).Left {
		why[l.Key] = l.Why
		kinds[l.Key] = l.Kind
	}
	require.Equal(t, map[string]string{
		"ade:task:index:state:REVIEWING": Derived, "ade:approval:queue:user:user-7": Derived, "ade:approval:queue:global": Derived, "ade:approval:stats:task:task-1": Derived,
		"ade:approval:delegation:index:user-7": Derived, "ade:lock:task:old": Over, "ade:lock:task:task-1:queue": "who waits asks again", "ade:lock:agent:agent-5:capacity": "the agent is offline",
		"ade:lock:registry": Derived, "ade:lock:waitfor:agent-789": Derived, "ade:session:index:user:user-7": Derived, "ade:ratelimit:tasks:create:user-7": Passing, "ade:events:task": Told,
		"ade:job:queue:archive": Own, "ade:something": Strange, "ade:config:ours": Unset,
	}, why)
	for key, kind := range map[string]string{"ade:lock:task:old": "lock", "ade:task:index:state:REVIEWING": "task", "ade:something": "other", "ade:config:ours": "setting", "ade:events:task": "event"} {
		require.Equal(t, kind, kinds[key], key)
	}
}

// A dump comes to the same whenever it is imported, but for what is over by then.
func TestADumpComesToTheSameWheneverItIsImported(t *testing.T) {
	at := func(later time.Duration) *Translation {
		d, err := Read(strings.NewReader("HSET ade:task:t:metadata author_id a\nSET ade:task:t:preview {} EX 3600\nHSET lock:task:t holder_agent_id a\nPEXPIRE lock:task:t 20000\nSET lock:task:v1 a\n"+
			"HSET ade:session:s-1 user_id u\nPEXPIRE ade:session:s-1 20000\n"+
			"HSET ade:approval:request:a task_id t reviewer_id r status 0\nHSET ade:approval:delegation:u:p delegate_to x cascade false active true"), now)
		require.NoError(t, err)
		tr, err := Translate(d, now.Add(later))
		require.NoError(t, err)
		return tr
	}
	first := at(0)
	require.Equal(t, now.Add(20*time.Second), first.Locks[0].Until)
	require.Equal(t, now.Add(30*time.Second), first.Locks[1].Until, "as long as the source's holders have, since it does not say")
	require.Equal(t, first, at(19*time.Second))
	late := at(time.Hour)
	require.Equal(t, first.Documents()[1], late.Documents()[1])
	require.Equal(t, []Left{{"ade:session:@6a840baf5d8c3ff241688aeb14546e65", "session", Over}, {"ade:task:t:preview", "task", Over}, {"lock:task:t", "lock", Over}, {"lock:task:v1", "lock", Over}}, late.Left)
	require.Empty(t, late.Previews)
}

func TestWhatCannotBeTranslatedIsNamedByItsKeyAndLine(t *testing.T) {
	for text, says := range map[string]string{
		"\nSET ade:approval:request:a x":                                                     "line 2: the key ade:approval:request:a: it holds a string, where the pattern has a hash",
		"HSET ade:approval:request:a reviewer_id r status 0":                                 "it has no field task_id",
		"HSET ade:approval:request:a task_id t reviewer_id r status APPROVED":                "it has been answered, but has no field responded_at",
		"HSET ade:approval:request:a task_id t reviewer_id r status 0 created_at x":          `the field created_at: "x" is no time`,
		"HSET ade:approval:delegation:u:p cascade perhaps":                                   `the field cascade: "perhaps" is neither true nor false`,
		"HSET ade:approval:delegation:u active true":                                         "the pattern has a user and a policy",
		"SET ade:task:t:state DRAFT":                                                         "the key ade:task:t:state: the task has no author_id",
		"SET ade:task:t:data '[1]'":                                                          "it is no JSON object",
		"HSET ade:task:t:metadata author_id a\nHSET ade:task:t:risk score high":              `line 2: the key ade:task:t:risk: the field score: "high" is no integer`,
		"HSET ade:task:t:metadata author_id a\nHSET ade:task:t:config resources 5":           "the resources of a task are a list",
		"HSET ade:task:t:metadata author_id a\nHSET ade:task:t:config resources [5]":         "a resource of a task is TYPE:ID",
		"HSET ade:task:t:config parameters {":                                                `the field parameters: "{" is no JSON`,
		"HSET ade:task:t:metadata author_id a\nSET ade:task:t:preview {":                     "the key ade:task:t:preview: it is no JSON",
		"HSET ade:lock:task:t purpose x":                                                     "it says nobody who holds it",
		"HSET ade:lock:task:t holder_agent_id a expires_at soon":                             `the field expires_at: "soon" is no time`,
		"HSET ade:lock:resource:a:b mode shared holders x":                                   "the field holders of a shared lock is a list",
		"HSET ade:lock:agent:a:capacity max_tasks many":                                      `the field max_tasks: "many" is no integer`,
		"HSET ade:config:lock:default_ttl a 1":                                               "it holds a hash, where the pattern has a string",
		"\nHSET ade:task:t:metadata author_id a\nHSET ade:task:t:config type x priority 500": "line 3: the key ade:task:t:config: the field config.priority of the task: ",
		"SET ade:config:lock:default_ttl soon":                                               "line 1: the key ade:config:lock:default_ttl: setting: VALIDATION_ERROR",
		"SET ade:session:s-1 x":                                                              "the key ade:session:@6a840baf5d8c3ff241688aeb14546e65: it holds a string, where the pattern has a hash",
		"HSET ade:session:s user_name x":                                                     "the field user_id of the session: ",
		"HSET ade:session:s user_id x ttl_seconds long":                                      `the field ttl_seconds: "long" is no integer`,
	} {
		d, err := Read(strings.NewReader(text), now)
		require.NoError(t, err, text)
		_, err = Translate(d, now)
		require.ErrorContains(t, err, says, text)
		var e *Error
		require.ErrorAs(t, err, &e, text)
	}
}
