package policytest

import (
	"embed"
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// Object is a document in the making.
type Object map[string]any

// JSON returns the document.
func (o Object) JSON() []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return text
}

// With returns a copy with some fields changed; nil removes one.
func (o Object) With(more Object) Object {
	out := maps.Clone(o)
	for name, value := range more {
		if out[name] = value; value == nil {
			delete(out, name)
		}
	}
	return out
}

func objectOf(t testing.TB, text []byte) (o Object) {
	t.Helper()
	require.NoError(t, json.Unmarshal(text, &o))
	return o
}

// fieldText is a text that a record has in a field.
func fieldText(d record.Doc, field string) string {
	s, _ := document.Text(document.Field(d.JSON, document.Path{field}))
	return s
}

//go:embed examples/*.json
var examples embed.FS

// Example returns the source's own record of a collection.
func Example(t testing.TB, collection string) Object {
	t.Helper()
	text, err := examples.ReadFile("examples/" + collection + ".json")
	require.NoError(t, err)
	return objectOf(t, text)
}

// SomePolicy returns a policy of one rule.
func SomePolicy(scope, condition, action string, priority int) Object {
	rule := Object{"rule_id": "r1", "condition": condition, "action": action, "priority": priority, "reason": "because of " + scope}
	if action == "transform" {
		rule["transform_fn"] = "redact"
	}
	return Object{"scope": scope, "name": scope, "created_by": "user:alexa", "rules": []Object{rule}}
}

// SomeAgent returns an active agent.
func SomeAgent(id string) Object {
	return Object{"agent_id": id, "name": id, "description": "d", "class": "worker", "owner": "user:a", "status": "active"}
}

// SomeDelegation returns a delegation of patterns without constraints.
func SomeDelegation(delegate string, scope ...string) Object {
	return Object{"delegator": "user:alexa", "delegate": delegate, "scope": scope}
}

// SomeIntent returns an intent.
func SomeIntent() Object { return Object{"actor": "user:alexa", "goal": "to be done"} }

// SomeEvent returns an event of an intent.
func SomeEvent(intent string) Object {
	return Object{"intent_id": intent, "agent_id": "cece.governor.v1", "tool": "gmail", "action": "send", "policy_decision": Object{"result": "allowed"}}
}

// refused requires an error to be a refusal with a code about a field.
func refused(t testing.TB, err error, code record.Code, field string) {
	t.Helper()
	var e *record.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, [2]string{string(code), field}, [2]string{string(e.Code), e.Field}, e.Error())
	require.NotEmpty(t, e.Reason)
}
