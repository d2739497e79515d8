package record

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/document"
)

// What is writeOnly is shown by its length and digest, and left out of what goes
// elsewhere; the rest of the document stays, and holds to the schema.
func TestWhatIsWriteOnlyIsNotShown(t *testing.T) {
	h := newHost(t)
	c, err := h.Collection("worker")
	require.NoError(t, err)
	require.Equal(t, []string{"keys.*.secret", "login.token"}, c.Withheld())
	d := h.create("worker", object{"worker_id": "w", "login": object{"name": "ann", "token": "s3cr3t"},
		"keys": []any{object{"for": "a", "secret": []any{"one", "two"}}, object{"for": "b"}, 7}})
	got, err := h.Get(ctx, "a", "worker", "w")
	require.NoError(t, err)
	require.Contains(t, string(got.JSON), "s3cr3t", "who may read it reads it")
	require.JSONEq(t, `{"worker_id":"w","login":{"name":"ann","token":"redacted:5b9929d2 (8 bytes)"},
		"keys":[{"for":"a","secret":"redacted:33688af4 (13 bytes)"},{"for":"b"},7]}`, string(c.Redacted(d.JSON)))
	require.JSONEq(t, `{"worker_id":"w","login":{"name":"ann"},"keys":[{"for":"a"},{"for":"b"},7]}`, string(c.Without(d.JSON)))
	d.JSON = c.Without(d.JSON)
	require.NoError(t, c.Verify(d))
	for _, doc := range []string{`{"worker_id":"w"}`, `{"keys":7,"login":7,"worker_id":"w"}`, `{"keys":[],"login":{},"worker_id":"w"}`} {
		require.Equal(t, doc, string(c.Redacted(json.RawMessage(doc))))
		require.Equal(t, doc, string(c.Without(json.RawMessage(doc))))
	}
	require.JSONEq(t, `{"login":{}}`, string(c.Without(json.RawMessage(`{"login":{"token":null}}`))))
	require.Equal(t, `"redacted:ba84ecfe (11 bytes)"`, string(c.Redacted(json.RawMessage(`{"login":7`+"\n"))), "nobody knows where it is")
	task, err := h.Collection("task")
	require.NoError(t, err)
	require.Empty(t, task.Withheld())
}

// A declaration by which what is writeOnly would be shown elsewhere, or be overlooked, is
// refused.
func TestWhatIsWriteOnlyIsNowhereElse(t *testing.T) {
	declaration, err := document.Canonical([]byte(workerJSON))
	require.NoError(t, err)
	for patch, field := range map[string]string{
		`{"append_only":true}`: "append_only",
		`{"indexes":[{"number":1,"name":"by_boss","fields":["boss"]},{"number":3,"name":"a","fields":["login.token"]}]}`:      "schema",
		`{"indexes":[{"number":1,"name":"by_boss","fields":["boss"]},{"number":3,"name":"a","fields":["keys"],"each":true}]}`: "schema",
		`{"indexes":[{"number":1,"name":"by_boss","fields":["boss"],"when":{"login.token":["x"]}}]}`:                          "schema",
		`{"indexes":[{"number":1,"name":"by_boss","fields":["boss"],"when":{"login":["x"]}}]}`:                                "schema",
		`{"keys":[{"pattern":"worker:{login.token}:{worker_id}"}]}`:                                                           "schema",
		`{"reserved":{"login.token":["x"]}}`:       "schema",
		`{"valid":{"when":{"login.token":["x"]}}}`: "schema",
		`{"schema":{"properties":{"login":{"properties":{"token":{"format":"date-time"}}}}},"valid":{"until":"login.token"}}`:                         "schema",
		`{"schema":{"properties":{"login":{"properties":{"token":{"format":"date-time"}}}}},"stamps":{"created":"login.token"}}`:                      "schema",
		`{"schema":{"properties":{"login":{"properties":{"token":{"format":"date-time"}}}}},"archive":{"when":{"boss":["x"]},"since":"login.token"}}`: "schema",
		`{"schema":{"properties":{"at":{"format":"date-time","type":"string"}}},"archive":{"when":{"login.token":["x"]},"since":"at"}}`:               "schema",
		`{"states":{"field":"login.token","initial":"x"}}`:                                                                                                               "schema",
		`{"states":{"field":"boss","initial":"x","in":{"x":{"requires":["login.token"]}}}}`:                                                                              "schema",
		`{"states":{"field":"boss","initial":"x","in":{"x":{"clears":["login.token"]}}}}`:                                                                                "schema",
		`{"schema":{"properties":{"login":{"properties":{"token":{"format":"date-time"}}}}},"states":{"field":"boss","initial":"x","in":{"x":{"stamp":"login.token"}}}}`: "schema",
		`{"schema":{"properties":{"worker_id":{"writeOnly":true}},"required":null}}`:                                                                                     "schema",
		`{"schema":{"writeOnly":true}}`: "schema",
		`{"schema":{"properties":{"boss":{"writeOnly":true}},"required":["worker_id","boss"]}}`:         "schema",
		`{"schema":{"properties":{"login":{"required":["token"]}}}}`:                                    "schema",
		`{"schema":{"properties":{"x":{"items":{"writeOnly":true}}}}}`:                                  "schema",
		`{"schema":{"properties":{"x":{"anyOf":[{"properties":{"y":{"writeOnly":true}}}]}}}}`:           "schema",
		`{"schema":{"properties":{"x":{"$ref":"#/$defs/key"},"y":{"anyOf":[{"$ref":"#/$defs/key"}]}}}}`: "schema",
		`{"schema":{"properties":{"x":{"additionalProperties":{"$ref":"#/$defs/key"}}}}}`:               "schema",
		`{"schema":{"properties":{"x":{"$ref":"#"}}}}`:                                                  "schema",
		`{"schema":{"properties":{"x":{"$ref":"#/properties/login"}}}}`:                                 "schema",
		`{"schema":{"properties":{"x":{"$ref":"#/$defs/key/properties/secret"}}}}`:                      "schema",
		`{"schema":{"properties":{"x":{"$ref":"#a"},"y":{"$anchor":"a"}}}}`:                             "schema",
		`{"schema":{"properties":{"x":{"$dynamicRef":"#a"},"y":{"$dynamicAnchor":"a"}}}}`:               "schema",
		`{"schema":{"$defs":{"key":{"properties":{"inner":{"$ref":"#/$defs/key"}}}}}}`:                  "schema",
	} {
		canonical, err := document.Canonical([]byte(patch))
		require.NoError(t, err)
		_, err = Parse(document.Merge(declaration, canonical))
		refused(t, err, CodeInvalidArgument, "declaration."+field)
	}
	for _, patch := range []string{`{"schema":{"properties":{"boss":{"writeOnly":false}}}}`, `{"schema":{"properties":{"x":{"$ref":"#/$defs/key"}}}}`, `{"immutable":["login"]}`} {
		_, err = Parse(document.Merge(declaration, json.RawMessage(patch)))
		require.NoError(t, err, patch)
	}
}
