package record

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/document"
)

func TestDeclarationsThatAreNotWellFormedAreRefused(t *testing.T) {
	for patch, field := range map[string]string{
		`{"name":"Task"}`:                       "name",
		`{"name":"a b"}`:                        "name",
		`{"name":null}`:                         "name",
		`{"unknown":1}`:                         "declaration",
		`{"ttl":"soon"}`:                        "declaration",
		`{"ttl":"-1h"}`:                         "declaration",
		`{"max_bytes":1}`:                       "max_bytes",
		`{"max_bytes":2000000}`:                 "max_bytes",
		`{"history":65}`:                        "history",
		`{"id":{"field":"a.b"}}`:                "id.field",
		`{"id":{"field":null}}`:                 "id.field",
		`{"id":{"kind":"random"}}`:              "id.kind",
		`{"id":{"prefix":"P"}}`:                 "id.prefix",
		`{"id":{"pattern":"("}}`:                "id.pattern",
		`{"id":{"kind":"daily","pattern":"x"}}`: "id.pattern",
		`{"schema":null}`:                       "schema",
		`{"schema":{"type":"array"}}`:           "schema",
		`{"schema":{"$schema":"http://json-schema.org/draft-07/schema#"}}`:                            "schema",
		`{"schema":{"additionalProperties":false}}`:                                                   "schema",
		`{"schema":{"unevaluatedProperties":{"type":"string"}}}`:                                      "schema",
		`{"schema":{"properties":{"x":{"$ref":"file:///etc/passwd"}}}}`:                               "schema",
		`{"schema":{"properties":{"x":{"$ref":"http://example.com/x.json"}}}}`:                        "schema",
		`{"schema":{"properties":{"x":{"$ref":"other.json#/a"}}}}`:                                    "schema",
		`{"schema":{"properties":{"x":{"$ref":"#/$defs/none"}}}}`:                                     "schema",
		`{"schema":{"properties":{"x":{"type":"strin"}}}}`:                                            "schema",
		`{"schema":{"properties":{"x":{"pattern":"("}}}}`:                                             "schema",
		`{"schema":{"properties":{"x":{"anyOf":[{"type":"string","format":"date-time"}]}}}}`:          "schema",
		`{"schema":{"$defs":{"step":{"properties":{"at":{"format":"date-time"}}}}}}`:                  "schema",
		`{"stamps":{"created":"title"}}`:                                                              "schema",
		`{"valid":{"until":"window"}}`:                                                                "schema",
		`{"archive":{"since":null}}`:                                                                  "archive",
		`{"archive":{"when":null}}`:                                                                   "archive",
		`{"archive":{"since":"status"}}`:                                                              "schema",
		`{"states":{"field":null}}`:                                                                   "states",
		`{"states":{"initial":null}}`:                                                                 "states",
		`{"states":{"in":{"done":{"stamp":"title"}}}}`:                                                "states.in.done",
		`{"indexes":[{"number":0,"name":"a","fields":["x"]}]}`:                                        "indexes.0",
		`{"indexes":[{"number":1,"name":"","fields":["x"]}]}`:                                         "indexes.0",
		`{"indexes":[{"number":1,"name":"a"}]}`:                                                       "indexes.0",
		`{"indexes":[{"number":1,"name":"a","each":true,"when":{"x":[1]}}]}`:                          "indexes.0",
		`{"indexes":[{"number":1,"name":"a","fields":["title"],"as":"day"}]}`:                         "indexes.0",
		`{"indexes":[{"number":1,"name":"a","fields":["due"],"as":"year"}]}`:                          "indexes.0",
		`{"indexes":[null]}`:                                                                          "indexes.0",
		`{"indexes":[{"number":1,"name":"a","fields":["x"]},{"number":1,"name":"b","fields":["x"]}]}`: "indexes.1",
		`{"indexes":[{"number":1,"name":"a","fields":["x"]},{"number":2,"name":"a","fields":["x"]}]}`: "indexes.1",
		`{"keys":[{"pattern":""}]}`:                                                                   "keys.0",
		`{"keys":[{"pattern":"{task_id}"}]}`:                                                          "keys.0",
		`{"keys":[{"pattern":"task:{owner}"}]}`:                                                       "keys.0",
		`{"keys":[{"pattern":"task"}]}`:                                                               "keys.0",
		`{"keys":[{"pattern":"task:{task_id}:x"}]}`:                                                   "keys.0",
		`{"keys":[{"pattern":"task:{task_id"}]}`:                                                      "keys.0",
		`{"keys":[{"pattern":"task:{a}:{b}:{task_id}"}]}`:                                             "keys.0",
		`{"keys":[{"pattern":"task:x","index":"none"}]}`:                                              "keys.0",
		`{"keys":[{"pattern":"task:x:{a}","index":"open"}]}`:                                          "keys.0",
		`{"keys":[{"pattern":"task:x:{day}","counter":true}]}`:                                        "keys.0",
		`{"keys":[{"pattern":"task:x","counter":true,"index":"open"}]}`:                               "keys.0",
		`{"keys":[null]}`:                          "keys.0",
		`{"keys":[{"pattern":"task::{task_id}"}]}`: "keys.0",
		`{"history":-1}`:                           "history",
		`{"operators":["create","purge"]}`:         "operators.1",
		`{"valid":{"when":{"x":[]}}}`:              "declaration",
		`{"valid":{"when":{"x":1}}}`:               "declaration",
		`{"indexes":[{"number":1,"name":"a","as":"day","when":{"x":[1]}}]}`: "indexes.0",
	} {
		canonical, err := document.Canonical([]byte(patch))
		require.NoError(t, err)
		declaration, err := document.Canonical([]byte(taskJSON))
		require.NoError(t, err)
		_, err = Parse(document.Merge(declaration, canonical))
		want := "declaration." + field
		if field == "declaration" {
			want = field
		}
		require.Error(t, err, patch)
		refused(t, err, CodeInvalidArgument, want)
	}
	for _, bad := range []string{"", "null", "[]", `{"name":"a","name":"b"}`} {
		_, err := Parse([]byte(bad))
		require.Error(t, err, bad)
	}
}

func TestACollectionIsDeclaredOnce(t *testing.T) {
	h := newHost(t)
	_, err := New(h.kv, Options{}, parse(t, workerJSON), parse(t, workerJSON))
	refused(t, err, CodeInvalidArgument, "name")
	require.Equal(t, []string{"task", "task.archive", "entry", "worker"}, h.Collections())
	c, err := h.Collection("task")
	require.NoError(t, err)
	require.True(t, json.Valid(c.Schema), "it is served to clients")
	_, err = h.Collection("nothing")
	refused(t, err, CodeUnknownCollection, "collection")
	require.ErrorContains(t, err, "the collections are task, entry, worker", "archives are of others")
}

func TestDeclarationsMaySayLittle(t *testing.T) {
	c := parse(t, `{"name":"a","id":{"field":"id","kind":"given"},"schema":{"type":"object","additionalProperties":true,"properties":{"from":{"format":"date-time"}}},"valid":{"from":"from"},"max_bytes":2,"history":64}`)
	require.False(t, c.InForce(json.RawMessage(`{"from":"2026-01-01T00:00:01Z"}`), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	require.True(t, c.InForce(json.RawMessage(`{"from":"2026-01-01T00:00:00Z","":"2020-01-01T00:00:00Z"}`), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	require.Len(t, c.Types(), 1)
	require.Len(t, parse(t, taskJSON).Types(), 2)
	for _, keys := range []string{`[{"pattern":"entry:counter","counter":true}]`, `[{"pattern":"entry:{a}:{b}","counter":true}]`} {
		declaration, err := document.Canonical([]byte(entryJSON))
		require.NoError(t, err)
		_, err = Parse(document.Merge(declaration, json.RawMessage(`{"keys":`+keys+`}`)))
		refused(t, err, CodeInvalidArgument, "declaration.keys.0")
	}
	id := ID{Kind: idDaily, Prefix: "ent"}
	require.Equal(t, "x", id.of([]byte("x")), "no daily key")
	_, err := Parse([]byte(`{"name":"a"}`))
	require.EqualError(t, err, "record: INVALID_ARGUMENT: a: declaration.schema: a schema is an object")
	require.EqualError(t, &Error{Code: CodeConflict}, "record: CONFLICT")
}

// Bytes that would make some letters likelier than others are passed over.
func TestLettersOfIDsAreAllAsLikely(t *testing.T) {
	id, err := (&ID{Prefix: "x"}).dated(time.Unix(0, 0).UTC(), bytes.NewReader([]byte{252, 0, 255, 35, 36, 1, 251, 37}))
	require.NoError(t, err)
	require.Equal(t, "x-19700101-a9ab9b", id)
	_, err = (&ID{Prefix: "x"}).dated(time.Unix(0, 0).UTC(), bytes.NewReader([]byte{1}))
	require.ErrorContains(t, err, "no randomness")
}
