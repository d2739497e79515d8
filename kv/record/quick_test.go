package record

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/document"
)

// drawValue draws a value of a schema, or, if it is to be wild, one that is near to it.
func drawValue(t *rapid.T, schema any, wild bool) any {
	node, ok := schema.(map[string]any)
	if !ok {
		return 1
	}
	odd := func() bool { return wild && rapid.IntRange(0, 15).Draw(t, "odd") == 0 }
	kinds, many := node["type"].([]any)
	if !many && node["type"] != nil {
		kinds = []any{node["type"]}
	}
	if kinds == nil || odd() {
		kinds = []any{"object", "array", "string", "number", "boolean", "null"}
	}
	if list, ok := node["enum"].([]any); ok && !odd() {
		return rapid.SampledFrom(list).Draw(t, "one of")
	}
	if value, ok := node["const"]; ok && !odd() {
		return value
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "object":
		object := map[string]any{}
		properties, _ := node["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if !odd() {
				object[name] = drawValue(t, properties[name], wild)
			}
		}
		if rapid.Bool().Draw(t, "more") {
			object[rapid.SampledFrom([]string{"more", "é", "nil"}).Draw(t, "name")] = 1
		}
		if odd() {
			object["m\"ore"] = 1
		}
		return object
	case "array":
		list := []any{}
		for range rapid.IntRange(1, 3).Draw(t, "elements") {
			list = append(list, drawValue(t, node["items"], wild))
		}
		return list
	case "string":
		texts := []string{"", "x", "é", "a\"b", "a long text", strings.Repeat("é", 128), strings.Repeat("x", 257), "user:ann", "agent:a", "a.b", "*", "a.*", "sha256:" + strings.Repeat("0", 64),
			"sha256:" + strings.Repeat("g", 64), "x y", "blackroad.system", "2026-03-01T12:00:00Z", "2026-03-01T12:00:00.25Z", "2026-03-01T12:00:00+02:00", "2026-02-30T12:00:00Z"}
		if !odd() {
			texts = slices.DeleteFunc(texts, func(text string) bool { return strings.Contains(text, `"`) })
			if texts = validTexts(t, texts, node); len(texts) == 0 {
				return "none fits"
			}
		}
		return rapid.SampledFrom(texts).Draw(t, "text")
	case "number", "integer":
		numbers := []any{0, 1, 5, 10}
		if odd() {
			numbers = []any{-1, 1.5, 1e21, 11, 100, 1e9}
		}
		return rapid.SampledFrom(numbers).Draw(t, "number")
	case "boolean":
		return rapid.Bool().Draw(t, "boolean")
	}
	return nil
}

// validTexts are those of texts that a schema takes.
func validTexts(t *rapid.T, texts []string, schema map[string]any) []string {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	require.NoError(t, compiler.AddResource("s", map[string]any{"allOf": []any{schema}}))
	s := compiler.MustCompile("s")
	return slices.DeleteFunc(texts, func(text string) bool { return s.Validate(text) != nil })
}

// What the quick way finds valid the schema does, of each declaration that there is; and
// of what is valid it finds nearly all.
func TestTheQuickWayFindsNothingValidThatIsNot(t *testing.T) {
	files, err := filepath.Glob("../policy/collections/*.json")
	require.NoError(t, err)
	own, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	sets := []string{`{"name":"odd","id":{"field":"id","kind":"given"},"schema":{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"é":{"type":"number","minimum":-1,"maximum":10},
		"list":{"type":"array","minItems":1,"maxItems":2,"items":{"enum":[1,"x",null,{"a":1}]}},"any":{},"n":{"type":"null"},"same":{"const":5},"x":{"minLength":1,"maxLength":128}}}}`}
	for _, file := range append(files, own...) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		sets = append(sets, string(text))
	}
	var without []string
	for _, declaration := range sets {
		c := parse(t, declaration)
		if c.schema.quick == nil {
			without = append(without, c.Name)
			continue
		}
		var root any
		decoder := json.NewDecoder(strings.NewReader(string(c.Schema)))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&root))
		quick, all := 0, 0
		enginetest.Check(t, 100, func(t *rapid.T) {
			text, err := json.Marshal(drawValue(t, root, rapid.Bool().Draw(t, "wild")))
			require.NoError(t, err)
			doc, err := document.Canonical(text)
			require.NoError(t, err)
			if utc, err := c.schema.inUTC(doc); err == nil {
				doc = utc
			}
			valid := c.schema.compiled.Check(doc) == nil
			if c.schema.quick.valid(doc) {
				require.True(t, valid, "%s: %s", c.Name, doc)
				quick++
			}
			if valid {
				all++
			}
		})
		if all >= 20 {
			require.GreaterOrEqual(t, 4*quick, 3*all, "%s: %d of %d", c.Name, quick, all)
		}
	}
	require.Equal(t, []string{"policy", "task", "worker"}, without, "which have if, and $ref")
}

func TestEventsAreFoundValidTheQuickWay(t *testing.T) {
	text, err := os.ReadFile("../policy/collections/ledger.json")
	require.NoError(t, err)
	c := parse(t, string(text))
	hash := "sha256:" + strings.Repeat("0a", 32)
	event := object{"event_id": "evt-20260301-000001", "intent_id": "i", "timestamp": "2026-03-01T12:00:00Z", "agent_id": "a", "tool": "t", "action": "x",
		"inputs_hash": hash, "outputs_hash": hash, "policy_decision": object{"result": "allowed"}, "previous_hash": hash, "hash": hash}
	require.True(t, c.schema.quick.valid(event.json()))
	require.False(t, c.schema.quick.valid(event.with(object{"hash": hash[1:]}).json()))
}

// A matcher by bytes answers as the regular expression does.
func TestMatchersAgreeWithExpressions(t *testing.T) {
	fast := 0
	for _, pattern := range []string{
		`^sha256:[0-9a-f]{4}$`, `^pol-\d{2}-[a-z0-9]{2,3}$`, `^[A-Za-z0-9_][A-Za-z0-9_.-]*$`, `^a[bc]+$`, `^[bc]?$`, `^ab[bc]?$`, `^a+$`, `^a[bc]*a$`, `^a[bc]{1,2}[bc]$`, `^a(b|c)$`, `^(?i)ab$`, `^a[^b]$`,
		`a[bc]$`, `^a[bc]`, `^a.$`, `^aé$`, `^(?m)a[bc]$`, `^tenant$`, `^$`, `^([bc])a$`, `^a[bc]{2}`, `^\x60[a-b]{0}c$`, `^(a|b)[bc]{2,}$`, `^a[bc]{2,}$`, `^[ac]{0,1}$`,
	} {
		_, ok := newRun(pattern)
		if ok {
			fast++
		}
		expression := regexp.MustCompile(pattern)
		m, err := newMatcher(pattern)
		require.NoError(t, err)
		require.Equal(t, ok, m.expression == nil, "%s: it is compiled where it is asked", pattern)
		enginetest.Check(t, 200, func(t *rapid.T) {
			text := rapid.StringOfN(rapid.RuneFrom([]rune("abcé\n0`")), 0, 5, -1).Draw(t, "text")
			if rapid.Bool().Draw(t, "near") {
				text = rapid.StringMatching(pattern).Draw(t, "match") + rapid.SampledFrom([]string{"", "", "\n", "a", "\xff"}).Draw(t, "more")
			}
			require.Equal(t, expression.MatchString(text), m.matches(text), "%s: %q", pattern, text)
			require.Equal(t, expression.MatchString(text), m.matchesBytes([]byte(text)), "%s: %q", pattern, text)
		})
	}
	require.Equal(t, 13, fast)
	_, err := newMatcher(`[`)
	require.Error(t, err)
}

// A daily id is told by its bytes, and is what its pattern matches.
func TestDailyIDsAreThoseOfTheirPattern(t *testing.T) {
	id := ID{Field: "id", Kind: idDaily, Prefix: "evt"}
	require.Nil(t, id.compile())
	expression := regexp.MustCompile(id.pattern)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(id.pattern), rapid.StringMatching(`(evt|ev)-?[0-9a]{7,9}-?[0-9x]{5,20}`), rapid.String(),
		).Draw(t, "text")
		require.Equal(t, expression.MatchString(text), id.matches(text), "%q", text)
	})
}

// Each keyword finds what holds to it, and nothing else.
func TestKeywordsOfTheQuickWay(t *testing.T) {
	hold := func(schema string, valid, not []string) {
		var parsed any
		decoder := json.NewDecoder(strings.NewReader(schema))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&parsed))
		q := newQuick(parsed)
		require.NotNil(t, q, schema)
		for _, value := range valid {
			require.True(t, q.valid(json.RawMessage(value)), "%s: %s", schema, value)
		}
		for _, value := range not {
			require.False(t, q.valid(json.RawMessage(value)), "%s: %s", schema, value)
		}
	}
	hold(`{"type":"integer"}`, []string{"0", "-7"}, []string{"1.5", "1e+21", `"1"`, "null"})
	hold(`{"type":["integer","null"]}`, []string{"0", "null"}, []string{"1.5", `"1"`})
	hold(`{"type":"number","minimum":-1,"maximum":2}`, []string{"-1", "2", "1.5"}, []string{"-2", "2.5", "3"})
	hold(`{"minLength":1,"maxLength":2}`, []string{`"a"`, `"éé"`, "7"}, []string{`""`, `"abc"`, `"\\n"`})
	hold(`{"type":"array","minItems":1,"maxItems":2,"items":{"type":"boolean"}}`, []string{"[true]", "[true,false]"}, []string{"[]", "[true,true,true]", "[1]", "[true,1]"})
	hold(`{"format":"date-time"}`, []string{`"2026-03-01T12:00:00Z"`, "1"}, []string{`"2026-03-01T12:00:00+02:00"`, `"2026-02-30T12:00:00Z"`, `"x"`})
	hold(`{"enum":["a",1,null]}`, []string{`"a"`, "1", "null"}, []string{`"b"`, "2", "true"})
	hold(`{"const":{"a":1}}`, []string{`{"a":1}`}, []string{`{"a":2}`, "1"})
	hold(`{"pattern":"^a[bc]$"}`, []string{`"ab"`, "1"}, []string{`"a"`, `"abc"`})
	hold(`{"type":"object","required":["a","b"],"properties":{"a":{"type":"null"}}}`, []string{`{"a":null,"b":1}`, `{"a":null,"b":1,"c":2}`}, []string{`{"a":null}`, `{"a":1,"b":1}`, `{"a":null,"b":1,"c\\n":1}`, "[]"})
	hold(`{"required":["a"]}`, []string{`{"a":1}`, "1"}, []string{`{}`, `{"b":1}`})
	for _, schema := range []string{
		`true`, `{"$ref":"#"}`, `{"type":"other"}`, `{"type":[]}`, `{"type":["integer","number"]}`, `{"enum":[]}`, `{"minimum":1.5}`, `{"minimum":9007199254740993}`, `{"maxLength":"1"}`, `{"pattern":"["}`,
		`{"format":"email"}`, `{"items":true}`, `{"properties":{"a":{"not":{}}}}`, `{"required":[1]}`,
	} {
		var parsed any
		decoder := json.NewDecoder(strings.NewReader(schema))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&parsed))
		require.Nil(t, newQuick(parsed), schema)
	}
}

func TestNumbersHaveALeastAndAMost(t *testing.T) {
	for schema, is := range map[string][3]bool{ // of 1, 5 and 9
		`{"type":"number"}`:                         {true, true, true},
		`{"type":"number","minimum":5}`:             {false, true, true},
		`{"type":"number","maximum":5}`:             {true, true, false},
		`{"type":"number","minimum":2,"maximum":8}`: {false, true, false},
	} {
		var parsed any
		decoder := json.NewDecoder(strings.NewReader(schema))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&parsed))
		q := newQuick(parsed)
		require.NotNil(t, q, schema)
		for i, n := range []string{"1", "5", "9"} {
			require.Equal(t, is[i], q.validNumber(json.RawMessage(n)), "%s of %s", schema, n)
		}
	}
}

func TestIDsOfADayHaveDigits(t *testing.T) {
	d := ID{Prefix: "int"}
	for id, is := range map[string]bool{
		"int-20260301-000001": true, "int-20260301-1000000": true, "int-20260301-123456789012345678": true,
		"int-2026030x-000001": false, "int-20260301-00000x": false, "int-20260301-/00001": false, "int-20260301-0000001": false,
		"int-20260301-00001": false, "int-20260301-1234567890123456789": false, "int-20260301_000001": false, "in-20260301-000001": false,
	} {
		require.Equal(t, is, d.isDaily(id), id)
	}
}
