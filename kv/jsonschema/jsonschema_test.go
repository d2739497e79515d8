package jsonschema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/kv/document"
)

func compile(t *testing.T, text string) *Schema {
	canonical, err := document.Canonical([]byte(text))
	require.NoError(t, err)
	s, err := Compile("test", document.Decode(canonical))
	require.NoError(t, err, text)
	return s
}

// A fault is at the value that stands first, or at the property that is missing or is one
// too many, and shows nothing of the value.
func TestAFaultSaysWhereAndShowsNothing(t *testing.T) {
	const secret = "hunter2"
	for _, c := range []struct{ schema, value, pointer, reason string }{
		{`true`, `1`, "", ""},
		{`false`, `1`, "", "no such field"},
		{`{"type":"string"}`, `1`, "", "of the type string, and is number"},
		{`{"required":["a/b","c"]}`, `{}`, "/a~1b", "required"},
		{`{"properties":{"a~":{"items":{"maximum":3}}}}`, `{"a~":[1,2,30]}`, "/a~0/2", "at most 3"},
		{`{"properties":{"a":{"enum":["x"]},"b":{"const":1}}}`, `{"b":"hunter2","a":"hunter2"}`, "/a", `one of ["x"]`},
		{`{"additionalProperties":{"type":"integer"}}`, `{"h":"","g":"","f":"","e":"","d":"","c":"","b":"","a":"hunter2"}`, "/a", "integer"},
		{`{"properties":{"a":{"pattern":"^a"}}}`, `{"a":"hunter2"}`, "/a", "match ^a"},
		{`{"properties":{"a":{"format":"uuid"}}}`, `{"a":"hunter2"}`, "/a", "a uuid"},
		{`{"additionalProperties":false}`, `{"z":1,"y":"hunter2"}`, "/y", "no such field"},
		{`{"properties":{"a":{"propertyNames":{"maxLength":1}}}}`, `{"a":{"long":"hunter2"}}`, "/a/long", "no field of such a name"},
		{`{"anyOf":[{"type":"null"},{"maxLength":1}]}`, `"hunter2"`, "", "none of the forms"},
		{`{"properties":{"a":{"not":{"type":"string"}}}}`, `{"a":"hunter2"}`, "/a", "not to have"},
		{`{"$defs":{"a":{"type":"integer"}},"items":{"$ref":"#/$defs/a"}}`, `[1,"hunter2"]`, "/1", "integer"},
		{`{"minProperties":2}`, `{"a":"hunter2"}`, "", `"minProperties"`},
		{`{"contentEncoding":"base64"}`, `"!"`, "", ""},
	} {
		value, err := document.Canonical([]byte(c.value))
		require.NoError(t, err)
		fault := compile(t, c.schema).Check(value)
		if c.reason == "" {
			require.Nil(t, fault, c.schema)
			continue
		}
		require.NotNil(t, fault, c.schema)
		require.Equal(t, c.pointer, fault.Pointer(), c.schema)
		require.Contains(t, fault.Reason, c.reason)
		require.NotContains(t, fault.Reason, secret)
	}
}

func TestASchemaRefersToNothingOutside(t *testing.T) {
	for _, text := range []string{
		`{"$ref":"file:///etc/hostname"}`, `{"$ref":"https://example.org/x"}`, `{"items":{"$ref":"other"}}`, `{"items":{"$ref":"?x"}}`, `{"$dynamicRef":"http://127.0.0.1:1/x"}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"$schema":"https://example.org/meta"}`, `{"type":"text"}`, `{"pattern":"("}`, `{"$ref":"#/$defs/none"}`, `[]`, `1`,
	} {
		canonical, err := document.Canonical([]byte(text))
		require.NoError(t, err)
		_, err = Compile("test", document.Decode(canonical))
		require.Error(t, err, text)
	}
	for text, pointer := range map[string]string{`{"properties":{"a/b":{"type":"strin"}}}`: "/properties/a~1b/type", `{"properties":{"a/b":{"pattern":"("}}}`: "/properties/a~1b/pattern"} {
		_, err := Compile("test", document.Decode(json.RawMessage(text)))
		var fault *Fault
		require.ErrorAs(t, err, &fault)
		require.Equal(t, pointer, fault.Pointer())
		require.ErrorContains(t, err, pointer)
	}
	compile(t, `{"$schema":"`+Draft+`","type":["object","null"]}`)
}

func TestPointersAreThoseOfTheirPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.StringMatching("[~/01a]{0,4}"))).Draw(t, "path")
		got, ok := ParsePointer(Pointer(path...))
		require.True(t, ok)
		require.Equal(t, append([]string{}, path...), append([]string{}, got...))
	})
	for _, none := range []string{"a", "a/b", " /"} {
		_, ok := ParsePointer(none)
		require.False(t, ok)
	}
}

func TestAFaultSaysWhere(t *testing.T) {
	require.Equal(t, "is no number", (&Fault{Reason: "is no number"}).Error())
	require.Equal(t, "at /a~1b/0: is no number", (&Fault{Path: []string{"a/b", "0"}, Reason: "is no number"}).Error())
}
