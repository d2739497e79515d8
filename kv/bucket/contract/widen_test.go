package contract

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func schemaOf(t *testing.T, text string) *Schema {
	s, err := compiled(json.RawMessage(text))
	require.NoError(t, err, text)
	return s
}

// Whether the second schema of each allows what the first does: "" is yes, "same" that they
// differ in nothing, "+" and a place that it does but for a property that is new, and anything
// else is where it is not known, after which comes a part of the reason.
func TestT28WhichSchemasAreCompatible(t *testing.T) {
	for _, c := range []struct{ old, newer, verdict string }{
		// What says nothing of values.
		{`{"type":"string"}`, `{"type":"string"}`, "same"},
		{`{"type":"string","title":"a"}`, `{"type":"string","description":"b","examples":["x"],"deprecated":true,"$comment":"c","$schema":"https://json-schema.org/draft/2020-12/schema"}`, "same"},
		{`{"properties":{"title":{"type":"string"}}}`, `{"properties":{"title":{"type":"integer"}}}`, "/properties/title/type string"},
		{`{"$defs":{"a":{"type":"string"}},"items":{"$ref":"#/$defs/a"}}`, `{"$defs":{"b":{"type":"string","title":"t"}},"items":{"$ref":"#/$defs/b"}}`, "same"},
		{`{"properties":{"a":{"title":"x"}},"anyOf":[{"title":"x"}]}`, `{"properties":{"a":{}},"anyOf":[{}]}`, "same"},
		{`{"properties":{"a":true}}`, `{"properties":{"a":false}}`, "/properties/a none is now"},
		// What says what they mean.
		{`{"default":1}`, `{"default":2}`, ` "default"`},
		{`{"default":1,"maximum":1}`, `{"maximum":1}`, ` "default"`},
		{`{"maximum":1}`, `{"default":1,"maximum":1}`, ` "default"`},
		{`{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"type":"string","contentEncoding":"base64"}}}`, `/properties/a "contentEncoding"`},
		{`{"properties":{"a":{"anyOf":[{"default":1},{}]}}}`, `{"properties":{"a":{"anyOf":[{"default":2},{}]}}}`, `/properties/a "default"`},
		{`{"$defs":{"a":{"default":1}},"items":{"$ref":"#/$defs/a"}}`, `{"items":{"default":1},"title":"x"}`, ""},
		// Types.
		{`{"type":"string"}`, `{"type":["string","null"]}`, ""},
		{`{"type":"integer"}`, `{"type":"number"}`, ""},
		{`{"type":"number"}`, `{"type":"integer"}`, "/type of the type number"},
		{`{"type":["string","null"]}`, `{"type":"string"}`, "/type null"},
		{`{}`, `{"type":["null","boolean","object","array","string","number"]}`, ""},
		{`true`, `{"type":"string"}`, "/type null or boolean or object or array or number"},
		{`false`, `{"type":"string"}`, ""},
		{`{"type":"string"}`, `false`, " none is now"},
		{`{"type":"string"}`, `true`, ""},
		{`{"const":1}`, `{"type":"integer"}`, ""},
		{`{"enum":["a",1]}`, `{"type":"string"}`, "/type integer"},
		{`{"enum":["a",1],"type":["string","null"]}`, `{"type":"string"}`, ""},
		{`{"allOf":[{"type":"string"},{"type":"integer"}]}`, `{"const":5}`, ""},
		{`{"type":"string"}`, `{"type":["string","integer"],"minimum":5,"minItems":3,"required":["a"]}`, ""},
		// Values.
		{`{"enum":["a","b"]}`, `{"enum":["c","b","a"]}`, ""},
		{`{"enum":["a","b"]}`, `{"enum":["a"]}`, "/enum not in it"},
		{`{"const":1.0}`, `{"enum":[1,2]}`, ""},
		{`{"enum":[{"a":1}]}`, `{"const":{"a":1}}`, ""},
		{`{"type":"string"}`, `{"type":"string","enum":["a"]}`, "/enum not in it"},
		{`{"const":1,"type":"integer"}`, `{"const":2,"type":"integer"}`, "/const not in it"},
		{`{"enum":[1.5,2]}`, `{"type":"integer"}`, "/type number"},
		{`{"allOf":[{"type":"string"},{"type":"integer"}]}`, `false`, ""},
		{`{"allOf":[false,true]}`, `{"type":"string"}`, ""},
		// Bounds.
		{`{"maximum":1e300}`, `{"maximum":1e301}`, ""},
		{`{"minimum":5,"maximum":9}`, `{"minimum":4,"maximum":10}`, ""},
		{`{"minimum":5}`, `{"minimum":6}`, "/minimum smaller numbers were allowed than 6"},
		{`{"maximum":5}`, `{"maximum":4.5}`, "/maximum greater"},
		{`{"exclusiveMinimum":5}`, `{"minimum":5}`, ""},
		{`{"minimum":5}`, `{"exclusiveMinimum":5}`, "/exclusiveMinimum smaller"},
		{`{"minimum":5}`, `{"exclusiveMinimum":4}`, ""},
		{`{"exclusiveMaximum":5}`, `{"exclusiveMaximum":5,"maximum":5}`, ""},
		{`{"multipleOf":6}`, `{"multipleOf":1.5}`, ""},
		{`{}`, `{"multipleOf":3}`, "/multipleOf no multiple of 3"},
		{`{"multipleOf":3}`, `{"multipleOf":6}`, "/multipleOf no multiple of 6"},
		{`{"minLength":2,"maxLength":4}`, `{"minLength":1,"maxLength":5}`, ""},
		{`{"type":"string"}`, `{"type":"string","minLength":0}`, ""},
		{`{"maxLength":4}`, `{"maxLength":3}`, "/maxLength longer strings were allowed than 3"},
		{`{}`, `{"minItems":1}`, "/minItems fewer"},
		{`{}`, `{"maxProperties":1}`, "/maxProperties more"},
		{`{"maxLength":1e300}`, `{"maxLength":1e300,"minLength":0}`, "/maxLength too great"},
		// Words that are equal or not known.
		{`{"pattern":"^a"}`, `{"pattern":"^a","maxLength":null}`, "invalid"},
		{`{"pattern":"^a","maxLength":3}`, `{"pattern":"^a"}`, ""},
		{`{"pattern":"^ab"}`, `{"pattern":"^a"}`, `/pattern "^a"`},
		{`{"format":"date","maxLength":10}`, `{"format":"date"}`, ""},
		{`{"type":"string"}`, `{"type":"string","format":"uuid"}`, "/format uuid"},
		{`{"type":"integer"}`, `{"type":"integer","format":"uuid"}`, ""},
		{`{"x-order":1,"maximum":1}`, `{"x-order":1}`, ""},
		{`{}`, `{"x-order":null}`, "/x-order not known"},
		{`{"x-order":1}`, `{"x-order":2}`, "/x-order not known"},
		{`{"dependencies":{"a":["b"]},"maximum":1}`, `{"dependencies":{"a":["b"]}}`, "/dependencies not known"},
		{`{"dependencies":{"a":["b"]},"maximum":1}`, `{}`, ""},
		{`{"dependencies":{"a":["b"]}}`, `{"dependencies":{"a":["c"]}}`, "/dependencies not known"},
		{`{"uniqueItems":true}`, `{"uniqueItems":false}`, ""},
		{`{"uniqueItems":true,"maxItems":3}`, `{"uniqueItems":true}`, ""},
		{`{}`, `{"uniqueItems":false}`, ""},
		{`{"uniqueItems":false}`, `{"uniqueItems":true}`, "/uniqueItems twice"},
		// Properties.
		{`{"type":"object"}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, "+/properties/a"},
		{`{"type":"object","required":["a"]}`, `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`, "/properties/a/type "},
		{`{"type":"object","properties":{"a":true}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, "/properties/a/type "},
		{`{"type":"object","patternProperties":{"^a":true}}`, `{"type":"object","patternProperties":{"^a":true},"properties":{"a":{"type":"string"}}}`, "/properties/a/type "},
		{`{"type":"object","anyOf":[{"properties":{"a":true}},{}]}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, "/properties/a/type "},
		{`{}`, `{"properties":{"a":{"type":"string"}}}`, "/properties/a/type "},
		{`{"type":"object","additionalProperties":false}`, `{"type":"object","properties":{"a":{"type":"string","default":"x"}},"additionalProperties":false}`, ""},
		{`{"type":"object","additionalProperties":{"type":"string","maxLength":3}}`, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}}`, ""},
		{`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","properties":{"a":{"type":"integer"}}}`, "/properties/a/type string"},
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"type":"object"}`, ""},
		{`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, `{"type":"object","additionalProperties":false}`, `/additionalProperties property "a"`},
		{`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, `{"type":"object","additionalProperties":{"type":["string","null"]}}`, ""},
		{`{"type":"object"}`, `{"type":"object","additionalProperties":false}`, "/additionalProperties other properties"},
		{`{"type":"object","patternProperties":{"^a":{"type":"string"}},"additionalProperties":false}`, `{"type":"object","additionalProperties":{"type":"string"}}`, ""},
		{`{"type":"object","patternProperties":{"^a":{}},"additionalProperties":false}`, `{"type":"object","additionalProperties":{"type":"string"}}`, "/additionalProperties match"},
		{`{"patternProperties":{"^a":{"type":"string"}}}`, `{"patternProperties":{"^a":{"type":["string","null"]}}}`, ""},
		{`{"patternProperties":{"^a":true},"additionalProperties":false}`, `{"patternProperties":{"^a":true},"additionalProperties":{"type":"string"}}`, ""},
		{`{"patternProperties":{"^a":{"type":"string"}}}`, `{"patternProperties":{"^ab":{"type":"string"}}}`, "/patternProperties/^ab "},
		{`{"required":["a","b"]}`, `{"required":["a"]}`, ""},
		{`{"allOf":[{"required":["a"]},{"required":["b"]}]}`, `{"required":["a","b"]}`, ""},
		{`{"required":["a"]}`, `{"required":["a","b"]}`, `/required without "b"`},
		{`{"propertyNames":{"maxLength":3}}`, `{"propertyNames":{"maxLength":4,"type":"string"}}`, ""},
		{`{}`, `{"propertyNames":{"maxLength":4}}`, "/propertyNames other names"},
		{`{"dependentRequired":{"a":["b","c"]}}`, `{"dependentRequired":{"a":["b"]}}`, ""},
		{`{}`, `{"dependentRequired":{"a":["b"]}}`, `/dependentRequired/a without "b"`},
		{`{"dependentSchemas":{"a":{"maxProperties":2}}}`, `{"dependentSchemas":{"a":{"maxProperties":3}}}`, ""},
		{`{"dependentSchemas":{"b":{"maxProperties":2}}}`, `{"dependentSchemas":{"a":{"maxProperties":3}}}`, "/dependentSchemas/a/maxProperties more"},
		{`{"unevaluatedProperties":false,"title":"a"}`, `{"unevaluatedProperties":false,"properties":{"a":true}}`, "/unevaluatedProperties all of the schema"},
		{`{}`, `{"unevaluatedProperties":true,"unevaluatedItems":true,"additionalProperties":true}`, ""},
		{`{"maximum":3,"allOf":[{"unevaluatedProperties":false,"properties":{"a":true}}]}`, `{"allOf":[{"unevaluatedProperties":false,"properties":{"a":true}}]}`, ""},
		// Elements.
		{`{"items":{"maximum":3}}`, `{"items":{"maximum":4}}`, ""},
		{`{"items":{"maximum":3}}`, `{"items":{"maximum":2}}`, "/items/maximum greater"},
		{`{"prefixItems":[{"maximum":3}],"items":{"type":"string"}}`, `{"items":{"type":["number","string"]}}`, "/items/type null"},
		{`{"prefixItems":[{"const":3}],"items":{"type":"string"}}`, `{"items":{"type":["number","string"]}}`, ""},
		{`{"items":{"type":"string"}}`, `{"prefixItems":[{"type":"string"},{}],"items":{"type":["string","null"]}}`, ""},
		{`{"items":{"type":"string"}}`, `{"prefixItems":[{"type":"integer"}]}`, "/prefixItems/0/type string"},
		{`{"prefixItems":[{"type":"string"}]}`, `{"items":{"type":"string"}}`, "/items/type null"},
		{`{"contains":{"maximum":3},"minContains":2}`, `{"contains":{"maximum":4}}`, ""},
		{`{"contains":{"maximum":3}}`, `{"contains":{"maximum":3},"minContains":2}`, "/contains fewer"},
		{`{}`, `{"contains":{"maximum":3},"minContains":0}`, ""},
		{`{"contains":{"maximum":3},"maxContains":2}`, `{"contains":{"maximum":3},"maxContains":3}`, ""},
		{`{"contains":{"maximum":3}}`, `{"contains":{"maximum":3},"maxContains":2}`, "/maxContains more"},
		{`{"contains":{"maximum":3},"maxContains":3}`, `{"contains":{"maximum":3},"maxContains":2}`, "/maxContains more"},
		{`{"contains":{"maximum":3},"maxContains":2}`, `{"contains":{"maximum":4},"maxContains":2}`, "/maxContains more"},
		{`{"contains":{"maximum":3},"maxContains":2,"minContains":0}`, `{"contains":{"maximum":2},"maxContains":2,"minContains":0}`, ""},
		{`{}`, `{"contains":true,"minContains":1e300}`, "/contains too great"},
		{`{}`, `{"contains":true,"minContains":0,"maxContains":1e300}`, "/contains too great"},
		{`{"contains":{"maximum":3},"minContains":1e300}`, `{"contains":{"maximum":3}}`, "/contains fewer"},
		{`{"contains":{"maximum":4},"minContains":2}`, `{"contains":{"maximum":3},"minContains":2}`, "/contains fewer"},
		// Forms.
		{`{"type":"string"}`, `{"anyOf":[{"type":"null"},{"type":"string"}]}`, ""},
		{`{"anyOf":[{"type":"null"},{"type":"string"}]}`, `{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}`, ""},
		{`{"anyOf":[{"type":"null"},{"type":"string"}]}`, `{"type":["null","string"]}`, ""},
		{`{"anyOf":[{"type":"null"},{"type":"string"}]}`, `{"anyOf":[{"type":"string"}]}`, "/anyOf none of its forms"},
		{`{"oneOf":[{"type":"null"},{"type":"string"}]}`, `{"oneOf":[{"type":"null"},{"type":"string"},{"type":"object"}]}`, ""},
		{`{"oneOf":[{"minimum":3},{"maximum":5}]}`, `{"oneOf":[{"minimum":3,"title":"x"},{"maximum":5}],"title":"y","minLength":0}`, ""},
		{`{"oneOf":[{"type":"object","required":["k"],"properties":{"k":{"const":"a"}}}]}`,
			`{"oneOf":[{"type":"object","required":["k"],"properties":{"k":{"const":"a"}}},{"type":"object","required":["k"],"properties":{"k":{"const":"b"}}}]}`, ""},
		{`{"oneOf":[{"type":"object","required":["k"],"properties":{"k":{"const":"a"}}}]}`,
			`{"oneOf":[{"type":"object","required":["k"],"properties":{"k":{"const":"a"}}},{"type":"object","properties":{"k":{"const":"b"}}}]}`, "/oneOf more than one"},
		{`{"oneOf":[{"type":"integer"}]}`, `{"oneOf":[{"type":"integer"},false]}`, ""},
		{`{"oneOf":[{"type":"integer"}]}`, `{"oneOf":[false,{"type":"integer"}]}`, ""},
		{`{"oneOf":[{"required":["k"],"properties":{"k":{"const":"a"}}}]}`,
			`{"oneOf":[{"required":["k"],"properties":{"k":{"const":"a"}}},{"required":["k"],"properties":{"k":{"const":"b"}}}]}`, "/oneOf more than one"},
		{`{"oneOf":[{"const":1}]}`, `{"oneOf":[{"const":1},{"minimum":0}]}`, "/oneOf more than one"},
		{`{"anyOf":[false,{"type":"string"}]}`, `{"type":"string"}`, ""},
		{`{"oneOf":[{"minimum":3},{"maximum":1}]}`, `{"oneOf":[{"minimum":0},{"maximum":1}]}`, "/oneOf more than one"},
		{`{"oneOf":[{"type":"integer"}]}`, `{"oneOf":[{"type":"integer"},{"type":"number"}]}`, "/oneOf more than one"},
		{`{"minimum":3}`, `{"allOf":[{"minimum":3},{"minimum":2}]}`, ""},
		{`{"allOf":[{"minimum":3},{"maximum":5}]}`, `{"minimum":2,"maximum":6}`, ""},
		{`{"minimum":3}`, `{"allOf":[{"minimum":3},{"maximum":2}]}`, "/allOf/1/maximum greater"},
		{`{"not":{"minimum":3}}`, `{"not":{"minimum":4}}`, ""},
		{`{"not":{"minimum":3}}`, `{"not":{"minimum":2}}`, "/not refuses"},
		{`{"type":"string"}`, `{"not":{"type":"integer"}}`, ""},
		{`{}`, `{"not":false}`, ""},
		{`{"not":{"type":"object","properties":{"a":{"type":"string"}}}}`, `{"not":{"type":"object"}}`, "/not refuses"},
		{`{"not":{"type":"object"}}`, `{"not":{"type":"object","properties":{"a":{"type":"string"}}}}`, ""},
		{`{"if":{"type":"string"},"then":{"minLength":3},"else":{"type":"integer"}}`, `{"if":{"type":"string"},"then":{"minLength":2},"else":{"type":"number"}}`, ""},
		{`{"if":{"type":"string"},"then":{"minLength":3}}`, `{"if":{"type":"string"},"then":{"minLength":4}}`, "/then/minLength shorter"},
		{`{"if":{"minLength":2},"then":{"minLength":3}}`, `{"if":{"minLength":1},"then":{"minLength":3}}`, "/then/minLength shorter"},
		{`{"minLength":3}`, `{"if":{"minLength":1},"then":{"minLength":3}}`, ""},
		{`{"then":{"maximum":3}}`, `{"if":true,"then":{"maximum":3}}`, "/then/maximum greater"},
		// References.
		{`{"$defs":{"a":{"maximum":3}},"items":{"$ref":"#/$defs/a"}}`, `{"$defs":{"a":{"maximum":4}},"items":{"$ref":"#/$defs/a"}}`, ""},
		{`{"$defs":{"a":{"maximum":3}},"items":{"$ref":"#/$defs/a"}}`, `{"$defs":{"a":{"maximum":2}},"items":{"$ref":"#/$defs/a"}}`, "/$defs/a/maximum greater"},
		{`{"$defs":{"a":{"maximum":3}},"$ref":"#/$defs/a","not":{"const":1}}`, `{"maximum":3}`, ""},
		{`{"$defs":{"a":{"maximum":3}},"not":{"$ref":"#/$defs/a"}}`, `{"$defs":{"a":{"maximum":4}},"not":{"$ref":"#/$defs/a"}}`, "/not refuses"},
		{`{"type":"object","properties":{"v":{"maximum":3},"next":{"$ref":"#"}}}`, `{"type":"object","properties":{"v":{"maximum":4},"next":{"$ref":"#"}}}`, ""},
		{`{"type":"object","properties":{"v":{"maximum":3},"next":{"$ref":"#"}}}`, `{"type":"object","properties":{"v":{"maximum":2},"next":{"$ref":"#"}}}`, "/properties/v/maximum greater"},
		{`{"$defs":{"a b":{"maximum":3}},"$ref":"#/$defs/a%20b","title":"x"}`, `{"$defs":{"a b":{"maximum":3}},"$ref":"#/$defs/a%20b","minLength":0}`, "/$ref where it leads"},
		{`{"$id":"x","maximum":3}`, `{"$id":"y","maximum":4}`, ""},
		{`{"$defs":{"a":{"$anchor":"x"}},"$ref":"#x","maximum":3}`, `{"$defs":{"a":{"$anchor":"x"}},"$ref":"#x"}`, " $anchor"},
		{`{"$defs":{"a":{"$anchor":"x"}},"$ref":"#x"}`, `{"$defs":{"a":{"$anchor":"x"}},"$ref":"#x"}`, "same"},
		{`{"$anchor":"x","maximum":3,"items":{"$ref":"#x"}}`, `{"$anchor":"x","items":{"$ref":"#x"}}`, " $anchor"},
		{`{"properties":{"$id":{"type":"string"}}}`, `{"properties":{"$id":{"type":["string","null"]}}}`, ""},
	} {
		about := c.old + " to " + c.newer
		if c.verdict == "invalid" {
			_, err := compiled(json.RawMessage(c.newer))
			require.Error(t, err, about)
			continue
		}
		verdict := schemaOf(t, c.newer).Widens(schemaOf(t, c.old))
		at, isNew := strings.CutPrefix(c.verdict, "+")
		switch {
		case c.verdict == "" || c.verdict == "same":
			require.Equal(t, Verdict{Compatible: true, Same: c.verdict == "same"}, verdict, about)
		case isNew:
			require.Equal(t, Verdict{Compatible: true, Unchecked: []string{at}}, verdict, about)
		default:
			path, reason, _ := strings.Cut(c.verdict, " ")
			require.False(t, verdict.Compatible, about)
			require.Equal(t, path, verdict.Path, about)
			require.Contains(t, verdict.Reason, reason, about)
		}
	}
}

// What is new in too many places is all declared, and named only in part.
func TestManyNewPropertiesAreNamedInPart(t *testing.T) {
	properties := map[string]any{}
	for i := range maxReported + 5 {
		properties[fmt.Sprintf("p%02d", i)] = true
	}
	text, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
	require.NoError(t, err)
	verdict := schemaOf(t, string(text)).Widens(schemaOf(t, `{"type":"object"}`))
	require.True(t, verdict.Compatible)
	require.Len(t, verdict.Unchecked, maxReported)
}

func TestLongValuesOfSchemasAreCut(t *testing.T) {
	require.Equal(t, `"`+strings.Repeat("x", 58)+`"`, show(strings.Repeat("x", 58)))
	require.Equal(t, `"`+strings.Repeat("x", 59)+`…`, show(strings.Repeat("x", 59)))
}

// Schemas that could be compared for ever are not.
func TestAComparisonEnds(t *testing.T) {
	of := func(least int) string {
		defs := map[string]any{}
		for i := range 16 {
			next := map[string]any{"$ref": fmt.Sprint("#/$defs/", i+1)}
			defs[fmt.Sprint(i)] = map[string]any{"anyOf": []any{next, map[string]any{"items": next}, map[string]any{"properties": map[string]any{"a": next}}}}
		}
		defs["16"] = map[string]any{"minLength": least}
		text, err := json.Marshal(map[string]any{"$defs": defs, "$ref": "#/$defs/0"})
		require.NoError(t, err)
		return string(text)
	}
	old := schemaOf(t, of(1))
	require.False(t, schemaOf(t, of(2)).Widens(old).Compatible)
}

// A reference that is written with percents is none that this package follows, whatever is
// named so.
func TestAReferenceWithPercentsIsNotFollowed(t *testing.T) {
	at := func(ref string) (is, found bool) {
		_, is, found = newTree(map[string]any{"$ref": ref, "$defs": map[string]any{"a%25": true, "a": true}}).node().target()
		return is, found
	}
	is, found := at("#/$defs/a")
	require.True(t, is)
	require.True(t, found)
	is, found = at("#/$defs/a%25")
	require.True(t, is)
	require.False(t, found)
}
