package contract

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/document"
)

// audit is the contract of the tests: that of the source, with its schema.
const audit = `{"service":"activity","schemas":{"AuditEntry":{"type":"object","properties":{"who":{"type":"string"}},"required":["who"]}},
	"resources":{"kv":{"activity":{"purpose":"Store normalized activity entries","schema":{"schema":"AuditEntry"}}}}}`

func parse(t require.TestingT, text string) *Contract {
	c, err := Parse([]byte(text))
	require.NoError(t, err, text)
	return c
}

// patched is the contract of the tests with a merge patch.
func patched(t require.TestingT, patch string) string {
	canonical, err := document.Canonical([]byte(audit))
	require.NoError(t, err)
	p, err := document.Canonical([]byte(patch))
	require.NoError(t, err, patch)
	return string(document.Merge(canonical, p))
}

// entry is the contract of the tests with a merge patch of its alias.
func entry(t require.TestingT, patch string) string {
	return patched(t, `{"resources":{"kv":{"activity":`+patch+`}}}`)
}

// refusal is what is wrong with a contract, which is refused.
func refusal(t require.TestingT, text string) *Error {
	_, err := Parse([]byte(text))
	require.ErrorIs(t, err, ErrContract, text)
	require.NotErrorIs(t, err, ErrValidation)
	var refused *Error
	require.ErrorAs(t, err, &refused)
	require.NotEmpty(t, refused.Faults)
	require.Equal(t, Fault{refused.Field, refused.Reason}, refused.Faults[0])
	return refused
}

// The contract of the README is the one of the source.
func TestT1TheContractOfTheReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	m := regexp.MustCompile("(?s)<!-- contract -->\n```json\n(.*?)```").FindSubmatch(readme)
	require.NotNil(t, m)
	c := parse(t, string(m[1]))
	require.Equal(t, "activity", c.Service)
	require.Len(t, c.Aliases, 1)
	a := c.Alias("activity")
	require.Equal(t, Alias{Name: "activity", Purpose: "Store normalized activity entries", Schema: a.Schema, Required: true, History: 1}, *a)
	require.Equal(t, "AuditEntry", a.Schema.Name)
	require.Nil(t, c.Alias("other"))
	canonical, err := document.Canonical(m[1])
	require.NoError(t, err)
	require.Equal(t, string(canonical), string(c.JSON()))
	plan, err := Compare(nil, c)
	require.NoError(t, err)
	require.Len(t, plan.Changes, 1)
}

func TestT2ASchemaIsRequired(t *testing.T) {
	for patch, field := range map[string]string{
		`{"schema":null}`:                             "/resources/kv/activity/schema",
		`{"schema":"AuditEntry"}`:                     "/resources/kv/activity/schema",
		`{"schema":{"schema":"None"}}`:                "/resources/kv/activity/schema/schema",
		`{"schema":{"schema":1}}`:                     "/resources/kv/activity/schema",
		`{"schema":{"schema":"AuditEntry","of":"x"}}`: "/resources/kv/activity/schema",
	} {
		require.Equal(t, field, refusal(t, entry(t, patch)).Field, patch)
	}
	require.Equal(t, "/resources/kv/activity/schema/schema", refusal(t, patched(t, `{"schemas":null}`)).Field)
}

func TestT3APurposeIsRequired(t *testing.T) {
	for _, patch := range []string{`{"purpose":null}`, `{"purpose":""}`, `{"purpose":" \n"}`, `{"purpose":1}`, `{"purpose":"` + strings.Repeat("x", MaxPurpose+1) + `"}`} {
		require.Equal(t, "/resources/kv/activity/purpose", refusal(t, entry(t, patch)).Field, patch)
	}
	parse(t, entry(t, `{"purpose":"`+strings.Repeat("x", MaxPurpose)+`"}`))
}

func TestT4Defaults(t *testing.T) {
	a := parse(t, audit).Alias("activity")
	require.True(t, a.Required)
	require.Equal(t, 1, a.History)
	require.Zero(t, a.TTLMs)
	require.Zero(t, a.MaxValueBytes)
	b := parse(t, entry(t, `{"required":false,"history":5,"ttlMs":600000,"maxValueBytes":1024}`)).Alias("activity")
	require.Equal(t, Alias{Name: "activity", Purpose: a.Purpose, Schema: b.Schema, History: 5, TTLMs: 600_000, MaxValueBytes: 1024}, *b)
}

func TestT5Ranges(t *testing.T) {
	for patch, ok := range map[string]bool{
		`{"history":0}`: false, `{"history":65}`: false, `{"history":1.5}`: false, `{"history":"1"}`: false, `{"history":-1}`: false, `{"history":1}`: true, `{"history":64}`: true, `{"history":6.4e1}`: true,
		`{"ttlMs":-1}`: false, `{"ttlMs":0.5}`: false, `{"ttlMs":0}`: true, `{"ttlMs":3153600000000}`: true, `{"ttlMs":3153600000001}`: false, `{"ttlMs":1e300}`: false,
		`{"maxValueBytes":0}`: false, `{"maxValueBytes":-5}`: false, `{"maxValueBytes":1}`: true, `{"maxValueBytes":15728640}`: true, `{"maxValueBytes":15728641}`: false, `{"maxValueBytes":true}`: false,
		`{"required":1}`: false, `{"required":"yes"}`: false,
	} {
		if ok {
			parse(t, entry(t, patch))
			continue
		}
		name := patch[2:strings.Index(patch, `":`)]
		require.Equal(t, "/resources/kv/activity/"+name, refusal(t, entry(t, patch)).Field, patch)
	}
	// A field that is null is not one that is absent.
	require.Equal(t, "/resources/kv/activity/history", refusal(t, strings.Replace(audit, `"schema":{"schema"`, `"history":null,"schema":{"schema"`, 1)).Field)
}

// A schema that can't be compiled is refused with the place in it, whether an alias refers to
// it or not. What it refers to outside of itself is neither opened nor waited for.
func TestT6SchemasThatAreNone(t *testing.T) {
	for schema, field := range map[string]string{
		`{"type":"text"}`: "/type", `{"properties":{"a/b":{"minimum":"1"}}}`: "/properties/a~1b/minimum", `{"pattern":"("}`: "/pattern", `{"items":{"$ref":"#/$defs/none"}}`: "", `[]`: "", `1`: "",
		`{"$ref":"file:///etc/hostname"}`: "/$ref", `{"items":{"$ref":"https://127.0.0.1:1/x"}}`: "/items/$ref", `{"$ref":"other.json"}`: "/$ref", `{"allOf":[{},{"$ref":"other.json"}]}`: "/allOf/1/$ref", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`: "/$ref",
		`{"x":{"$dynamicRef":"http://127.0.0.1:1/x"}}`: "/x/$dynamicRef", `{"$ref":""}`: "/$ref", `{"$schema":"http://json-schema.org/draft-07/schema#"}`: "/$schema",
		`{"$defs":{"a":{"$id":"b","$schema":"http://json-schema.org/draft-04/schema"}}}`: "/$defs/a/$schema",
		`{"$ref":"#"}`: "", `{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}},"items":{"$ref":"#/$defs/a"}}`: "",
	} {
		require.Equal(t, "/schemas/Bad"+field, refusal(t, patched(t, `{"schemas":{"Bad":`+schema+`}}`)).Field, schema)
	}
	for _, schema := range []string{`true`, `{"properties":{"$ref":{"type":"string"},"$schema":true,"$dynamicRef":{}}}`, `{"const":{"patternProperties":{"(":1}}}`, `{"properties":{"child":{"$ref":"#"}}}`, `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`,
		`{"$defs":{"list":{"type":"array","items":{"$ref":"#/$defs/list"}}},"$ref":"#/$defs/list"}`, `{"$defs":{"a":{"$anchor":"x"}},"$ref":"#x"}`} {
		parse(t, patched(t, `{"schemas":{"Good":`+schema+`}}`))
	}
}

func TestT7UnknownFields(t *testing.T) {
	parse(t, patched(t, `{"id":"trellis.activity@v1","rpc":{"List":1},"resources":{"jobs":{"a":1}}}`))
	refused := refusal(t, entry(t, `{"ttl":5}`))
	require.Equal(t, "/resources/kv/activity/ttl", refused.Field)
	require.Contains(t, refused.Reason, "ttlMs")
}

func TestASchemaOfTooManyPartsIsRefused(t *testing.T) {
	of := func(n int) string {
		return patched(t, `{"schemas":{"Great":{"examples":[{}`+strings.Repeat(",true", n-2)+`]}}}`)
	}
	parse(t, of(MaxParts))
	require.Equal(t, "/schemas/Great", refusal(t, of(MaxParts+1)).Field)
}

// A schema that refers twice to one that refers twice to a third would take as long as it has
// ways to the last.
func TestASchemaOfTooManyWaysIsRefused(t *testing.T) {
	of := func(n int) string {
		defs := map[string]any{fmt.Sprint(n): true}
		for i := range n {
			next := map[string]any{"$ref": fmt.Sprint("#/$defs/", i+1)}
			defs[fmt.Sprint(i)] = map[string]any{"allOf": []any{next, next}}
		}
		text, err := json.Marshal(map[string]any{"schemas": map[string]any{"Deep": map[string]any{"$defs": defs, "items": map[string]any{"$ref": "#/$defs/0"}}}})
		require.NoError(t, err)
		return patched(t, string(text))
	}
	parse(t, of(10))
	exact := func(more int) string {
		times := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
		return patched(t, `{"schemas":{"Exact":{"$defs":{"a":{"allOf":[`+times(999, `true`)+`]}},"allOf":[`+times(9, `{"$ref":"#/$defs/a"}`)+`,`+times(990+more, `true`)+`]}}}`)
	}
	parse(t, exact(0)) // 1 + 9 * (1 + 1 + 999) + 990
	require.Equal(t, "/schemas/Exact", refusal(t, exact(1)).Field)
	refused := refusal(t, of(40))
	require.Equal(t, "/schemas/Deep", refused.Field)
	require.Contains(t, refused.Reason, "more than 10000 schemas")
}

// Forms that lead to the same for what is within a value are as many ways as two to the power
// of its depth: a value is refused before they are gone. Lists and trees are not.
func TestAValueOfTooManyWaysIsRefused(t *testing.T) {
	deep := func(n int) json.RawMessage {
		return json.RawMessage(strings.Repeat(`[`, n) + "1" + strings.Repeat(`]`, n))
	}
	forms := schemaOf(t, `{"anyOf":[{"items":{"$ref":"#"},"maxItems":0},{"items":{"$ref":"#"},"type":"array","maxItems":0}],"type":["array"]}`)
	require.ErrorContains(t, forms.Check(deep(3)), "none of the forms")
	require.ErrorContains(t, forms.Check(deep(100)), "more than 1000000 steps")
	chain := map[string]any{"30": map[string]any{"type": "string"}}
	for i := range 30 {
		next := map[string]any{"items": map[string]any{"$ref": fmt.Sprint("#/$defs/", i+1)}}
		chain[fmt.Sprint(i)] = map[string]any{"anyOf": []any{next, map[string]any{"allOf": []any{next}}}}
	}
	text, err := json.Marshal(map[string]any{"$defs": chain, "$ref": "#/$defs/0"})
	require.NoError(t, err)
	require.ErrorContains(t, schemaOf(t, string(text)).Check(deep(31)), "more than 1000000 steps")

	require.NoError(t, schemaOf(t, `{"items":{"$ref":"#"}}`).Check(deep(100)))
	tree := schemaOf(t, `{"type":"object","properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}},"propertyNames":{"enum":["left","right"]}}`)
	both := `{}`
	for range 10 {
		both = `{"left":` + both + `,"right":` + both + `}`
	}
	require.NoError(t, tree.Check(json.RawMessage(both)))
	require.False(t, schemaOf(t, `{"type":"object"}`).laborious)
}

// What is counted is no less than what is done, whichever words lead into the value.
func TestAllWaysIntoAValueAreCounted(t *testing.T) {
	for schema, value := range map[string]string{
		`{"properties":{"a":{"$ref":"#"}}}`: `{"a":{"a":1}}`, `{"patternProperties":{"a":{"$ref":"#"}}}`: `{"a":{"a":1}}`, `{"additionalProperties":{"$ref":"#"}}`: `{"a":{"a":1}}`, `{"unevaluatedProperties":{"$ref":"#"}}`: `{"a":{"a":1}}`,
		`{"items":{"$ref":"#"}}`: `[[1]]`, `{"prefixItems":[{"$ref":"#"}]}`: `[[1]]`, `{"contains":{"$ref":"#"}}`: `[[1]]`, `{"unevaluatedItems":{"$ref":"#"}}`: `[[1]]`,
		`{"allOf":[true,true],"not":true,"dependentSchemas":{"a":true}}`: `1`, `{"not":true,"propertyNames":{"allOf":[true]},"dependencies":{"a":true,"b":["c"]}}`: `{"a":1}`,
	} {
		s := schemaOf(t, schema)
		require.Equal(t, 5, s.tree.steps(document.Decode(json.RawMessage(value))), schema)
	}
}

// Who mends a contract hears of all that is wrong with it at once.
func TestAllFaultsAreNamed(t *testing.T) {
	refused := refusal(t, `{"service":"a b","schemas":{"X":{"type":"x"}},"resources":{"kv":{"1":{"purpose":"","schema":{"schema":"Y"},"history":0},"b":[],"c":{"purpose":"p","schema":{"schema":"X"}}}}}`)
	var at []string
	for _, f := range refused.Faults {
		at = append(at, f.Field)
		require.ErrorContains(t, refused, f.Field+": "+f.Reason)
	}
	require.Equal(t, []string{"/service", "/schemas/X/type", "/resources/kv/1", "/resources/kv/1/purpose", "/resources/kv/1/schema/schema", "/resources/kv/1/history",
		"/resources/kv/b", "/resources/kv/b/purpose", "/resources/kv/b/schema"}, at)
}

func TestWhatIsNoContractIsRefused(t *testing.T) {
	for text, reason := range map[string]string{
		``: "no JSON text", `{"a":1,"a":2}`: "a name twice", `[]`: "an array", `{}`: "the service", `{"service":"activity","resources":[]}`: "an object", `{"service":"a","schemas":7}`: "a number",
		`{"service":"` + strings.Repeat("a", MaxName+1) + `"}`: "1 to 64", `{"service":"_a"}`: "letter", `{"service":"é"}`: "letter",
		strings.Repeat(" ", MaxBytes+1): "262144 bytes", `{"service":"a","x":[1` + strings.Repeat(",1e20", MaxBytes/10) + `]}`: "262144 bytes", strings.Repeat("[", 1000) + strings.Repeat("]", 1000): "nested deeper",
	} {
		require.Contains(t, refusal(t, text).Reason, reason)
	}
	none := refusal(t, `[]`)
	require.EqualError(t, none, "contract: CONTRACT_INVALID: a contract is a JSON object, and this is an array")
	require.NotErrorIs(t, none, &Error{Code: CodeContract, Reason: "another"})
	require.Empty(t, parse(t, `{"service":"`+strings.Repeat("a", MaxName)+`"}`).Aliases)
	require.Empty(t, parse(t, `{"service":"a"}`+strings.Repeat(" ", MaxBytes-15)).Aliases)
	require.Len(t, parse(t, `{"service":"a","x":"`+strings.Repeat("x", MaxBytes-22)+`"}`).JSON(), MaxBytes)

	many := map[string]any{}
	for i := range MaxAliases + 1 {
		many[fmt.Sprint("a", i)] = map[string]any{"purpose": "p", "schema": map[string]any{"schema": "S"}}
	}
	of := func() string {
		text, err := json.Marshal(map[string]any{"service": "a", "schemas": map[string]any{"S": true}, "resources": map[string]any{"kv": many}})
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, "/resources/kv", refusal(t, of()).Field)
	delete(many, "a7")
	require.Len(t, parse(t, of()).Aliases, MaxAliases)
	for name := range many {
		many[name] = 1
	}
	require.Len(t, refusal(t, of()).Faults, MaxFaults)
}

// What matters changes the digest, and nothing else does.
func TestT8TheDigestIsOfWhatMatters(t *testing.T) {
	c := parse(t, audit)
	require.Len(t, c.Digest(), 43) // 32 bytes without padding
	require.NotContains(t, c.Digest(), "=")
	for _, of := range []*Contract{c, parse(t, patched(t, `{"resources":{"kv":{"more":{"purpose":"p","schema":{"schema":"AuditEntry"}}}}}`))} {
		canonical, err := document.Canonical(of.Matter())
		require.NoError(t, err)
		require.Equal(t, string(canonical), string(of.Matter()))
	}
	require.Equal(t, "fNgppp", c.Digest()[:6], "the digest of a contract is kept by stores")

	for _, text := range []string{
		`{"resources":{"kv":{"activity":{"schema":{"schema":"AuditEntry"},"purpose":"Store normalized activity entries"}}},"schemas":{"AuditEntry":{"required":["who"],"type":"object","properties":{"who":{"type":"string"}}}},"service":"activity"}`,
		patched(t, `{"docs":{"a":1},"displayName":"Activity","description":"x","unknown":[1],"schemas":{"Unused":{"type":"string"}}}`),
		entry(t, `{"required":true,"history":1,"ttlMs":0}`),
		strings.ReplaceAll(audit, "AuditEntry", "Entry"),
	} {
		require.Equal(t, c.Digest(), parse(t, text).Digest(), text)
	}
	seen := map[string]bool{c.Digest(): true}
	for _, text := range []string{
		entry(t, `{"history":2}`), entry(t, `{"required":false}`), entry(t, `{"ttlMs":1}`), entry(t, `{"maxValueBytes":1}`), entry(t, `{"purpose":"other"}`), patched(t, `{"service":"other"}`),
		patched(t, `{"schemas":{"AuditEntry":{"required":null}}}`), patched(t, `{"schemas":{"AuditEntry":{"title":"x"}}}`), patched(t, `{"resources":null}`),
		patched(t, `{"resources":{"kv":{"more":{"purpose":"p","schema":{"schema":"AuditEntry"}}}}}`), strings.Replace(audit, `"activity":{`, `"renamed":{`, 1),
	} {
		digest := parse(t, text).Digest()
		require.False(t, seen[digest], text)
		seen[digest] = true
	}
}

// Two contracts have the same digest if and only if there is no change between them.
func TestT8TheDigestIsThatOfNoChange(t *testing.T) {
	draw := func(rt *rapid.T, label string) *Contract {
		patch := func(of ...string) string { return rapid.SampledFrom(append(of, `{}`)).Draw(rt, label) }
		text := patched(rt, patch(`{"displayName":"x"}`, `{"schemas":{"AuditEntry":{"title":"x"}}}`, `{"schemas":{"AuditEntry":{"required":null}}}`, `{"schemas":{"Other":true}}`,
			`{"resources":{"kv":{"more":{"purpose":"p","schema":{"schema":"AuditEntry"}}}}}`))
		return parse(rt, string(document.Merge(json.RawMessage(text), json.RawMessage(`{"resources":{"kv":{"activity":`+patch(`{"history":1}`, `{"history":2}`, `{"required":true}`, `{"required":false}`, `{"ttlMs":0}`, `{"ttlMs":9}`, `{"maxValueBytes":9}`, `{"purpose":"q"}`)+`}}}`))))
	}
	enginetest.Check(t, 500, func(rt *rapid.T) {
		a, b := draw(rt, "a"), draw(rt, "b")
		plan, err := Compare(a, b)
		require.NoError(rt, err)
		require.Equal(rt, a.Digest() == b.Digest(), plan.Class == ClassUnchanged)
		require.Equal(rt, plan.Class == ClassUnchanged, len(plan.Changes) == 0)
	})
}

// A value is held to the schema; what is wrong is named by a JSON pointer, and not shown.
func TestT32AValueThatDoesNotHold(t *testing.T) {
	s := parse(t, audit).Alias("activity").Schema
	value, err := s.Read([]byte(` {"who":"ann", "at":1.0}`))
	require.NoError(t, err)
	require.Equal(t, `{"at":1,"who":"ann"}`, string(value))
	for text, field := range map[string]string{`{"who":["hunter2"]}`: "/who", `{"at":"hunter2"}`: "/who", `"hunter2"`: "", `{"who":"hunter2"`: ""} {
		_, err := s.Read([]byte(text))
		require.ErrorIs(t, err, ErrValidation, text)
		var refused *Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, field, refused.Field)
		require.NotEmpty(t, refused.Reason)
		require.NotContains(t, err.Error(), "hunter2")
		shown, err := json.Marshal(refused)
		require.NoError(t, err)
		require.NotContains(t, string(shown), "hunter2")
	}
}

// What parses does so in canonical form too, with the same digest.
func FuzzContract(f *testing.F) {
	f.Add([]byte(audit))
	f.Add([]byte(`{"service":"a","schemas":{"S":{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#"}}}}},"resources":{"kv":{"b":{"purpose":"p","schema":{"schema":"S"},"history":64,"ttlMs":1,"maxValueBytes":5,"required":false}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if err != nil {
			require.ErrorIs(t, err, ErrContract)
			return
		}
		again, err := Parse(c.JSON())
		require.NoError(t, err)
		require.Equal(t, c.Digest(), again.Digest())
		plan, err := Compare(c, again)
		require.NoError(t, err)
		require.Equal(t, ClassUnchanged, plan.Class)
	})
}
