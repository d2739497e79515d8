package contract

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/document"
)

type object = map[string]any

// drawn draws schemas of few words, so that they meet.
type drawn struct{ *rapid.T }

func (t drawn) among(label string, of ...string) string {
	return rapid.SampledFrom(of).Draw(t.T, label)
}

func (t drawn) upTo(n int, label string) int { return rapid.IntRange(0, n).Draw(t.T, label) }

// scalars are values by which schemas and values are made.
var scalars = []any{nil, true, false, 0, 1, 2, 3, -1, 0.5, 1.5, "", "a", "ab", "b", "abc", "10.0.0.1"}

var (
	propertyNames = []string{"a", "b", "ab", "c"}
	patterns      = []string{"^a", "b", "."}
	typeNames     = []string{"null", "boolean", "object", "array", "string", "number", "integer"}
)

// schemaWords are the keywords that are drawn; some are there more than once, to be drawn more
// often.
var schemaWords = []string{"type", "type", "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format",
	"minItems", "maxItems", "uniqueItems", "items", "items", "prefixItems", "contains", "minContains", "maxContains", "unevaluatedItems",
	"minProperties", "maxProperties", "required", "required", "properties", "properties", "properties", "patternProperties", "additionalProperties", "additionalProperties", "propertyNames",
	"dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties", "allOf", "anyOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "$ref", "default", "title", "x-unknown"}

func (t drawn) schema(depth int) any {
	if depth <= 0 || t.upTo(12, "boolean") == 0 {
		switch t.upTo(3, "leaf") {
		case 0:
			return t.upTo(3, "true") > 0
		case 1:
			return object{"type": t.among("type", typeNames...)}
		}
		return object{}
	}
	s := object{}
	for range 1 + t.upTo(3, "words") {
		word := t.among("word", schemaWords...)
		s[word] = t.argument(word, depth-1)
	}
	return s
}

func (t drawn) scalar() any { return rapid.SampledFrom(scalars).Draw(t.T, "scalar") }

func (t drawn) names() []any {
	var names []any
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(propertyNames), 1, 2, rapid.ID).Draw(t.T, "names") {
		names = append(names, name)
	}
	return names
}

func (t drawn) schemas(depth int) []any {
	list := []any{t.schema(depth)}
	for range t.upTo(2, "more") {
		list = append(list, t.schema(depth))
	}
	return list
}

func (t drawn) schemasBy(names []string, depth int) object {
	all := object{}
	for range 1 + t.upTo(1, "named") {
		all[t.among("name", names...)] = t.schema(depth)
	}
	return all
}

func (t drawn) argument(word string, depth int) any {
	switch word {
	case "type":
		if t.upTo(1, "one type") == 0 {
			return t.among("type", typeNames...)
		}
		var list []any
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(typeNames), 1, 4, rapid.ID).Draw(t.T, "types") {
			list = append(list, name)
		}
		return list
	case "enum":
		return t.values()
	case "const", "default":
		return t.scalar()
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return rapid.SampledFrom([]any{-1, 0, 0.5, 1, 2, 3}).Draw(t.T, "bound")
	case "multipleOf":
		return rapid.SampledFrom([]any{0.5, 1, 2, 3}).Draw(t.T, "multiple")
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return t.upTo(3, "count")
	case "pattern":
		return t.among("pattern", patterns...)
	case "format":
		return t.among("format", "ipv4", "date")
	case "uniqueItems":
		return t.upTo(3, "unique") > 0
	case "required":
		return t.names()
	case "properties", "dependentSchemas":
		return t.schemasBy(propertyNames, depth)
	case "dependencies":
		if t.upTo(1, "names") == 0 {
			return object{t.among("name", propertyNames...): t.names()}
		}
		return t.schemasBy(propertyNames, depth)
	case "patternProperties":
		return t.schemasBy(patterns, depth)
	case "dependentRequired":
		return object{t.among("name", propertyNames...): t.names()}
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return t.schemas(depth)
	case "$ref":
		return "#/$defs/" + t.among("ref", "p", "q")
	case "title", "x-unknown":
		return t.among("text", "one", "two")
	}
	return t.schema(depth)
}

func (t drawn) values() []any {
	var list []any
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(scalars)-1), 1, 4, rapid.ID).Draw(t.T, "values") {
		list = append(list, scalars[i])
	}
	return list
}

// root is a schema with two that it may refer to.
func (t drawn) root() object {
	s, ok := t.schema(3).(object)
	if !ok {
		s = object{}
	}
	s["$defs"] = object{"p": t.schema(2), "q": t.schema(1)}
	return s
}

// changed returns a copy of a schema that differs at some place, more often so that it is
// wider than narrower.
func (t drawn) changed(value any) any {
	s, ok := value.(object)
	if !ok {
		return t.schema(1)
	}
	s = maps.Clone(s)
	words := slices.Sorted(maps.Keys(s))
	if len(words) > 0 && t.upTo(4, "deeper") > 0 {
		word := t.among("at", words...)
		switch inner := s[word].(type) {
		case object:
			if forms[word] != named && word != "$defs" {
				s[word] = t.changed(inner)
				return s
			}
			all := maps.Clone(inner)
			if t.upTo(3, "one more") == 0 && word != "$defs" {
				all[t.among("name", append(propertyNames, patterns...)...)] = t.schema(1)
			} else if name := t.among("name", slices.Sorted(maps.Keys(all))...); all[name] != nil {
				if _, isList := all[name].([]any); !isList {
					all[name] = t.changed(all[name])
				}
			}
			s[word] = all
			return s
		case []any:
			all := slices.Clone(inner)
			switch at := t.upTo(len(all)-1, "element"); {
			case forms[word] == list && t.upTo(2, "one more") == 0:
				s[word] = append(all, t.schema(1))
			case forms[word] == list:
				all[at] = t.changed(all[at])
				s[word] = all
			case word == "type":
				s[word] = typeNames
			case word == "enum":
				s[word] = append(all, "more")
			case len(all) > 1:
				s[word] = slices.Delete(all, at, at+1)
			}
			return s
		case int:
			s[word] = max(0, inner+t.upTo(2, "by")-1)
			return s
		}
	}
	switch t.upTo(5, "change") {
	case 0, 1:
		if len(words) > 0 && words[0] != "$defs" {
			delete(s, words[0])
		}
	case 2:
		if _, isRoot := s["$defs"]; !isRoot {
			return object{"anyOf": []any{s, t.schema(1)}}
		}
		fallthrough
	case 3:
		word := t.among("word", schemaWords...)
		s[word] = t.argument(word, 1)
	case 4:
		all, _ := s["properties"].(object)
		all = maps.Clone(all)
		if all == nil {
			all = object{}
		}
		all[t.among("name", propertyNames...)] = t.schema(1)
		s["properties"] = all
	case 5:
		if len(words) > 0 {
			word := t.among("word", words...)
			if word != "$defs" {
				delete(s, word)
			}
		}
	}
	return s
}

// pool are values that every pair of schemas is tried with: scalars, arrays and objects of
// some, and of those.
var pool = func() (all []json.RawMessage) {
	few := []any{nil, 1, 1.5, 3, "a", "ab", true}
	values := slices.Clone(scalars)
	add := func(value any) { values = append(values, value) }
	add([]any{})
	add(object{})
	for _, one := range few {
		add([]any{one})
		for _, name := range propertyNames {
			add(object{name: one})
			add(object{name: object{"a": one}})
			add(object{name: []any{one}})
		}
		for _, other := range few {
			add([]any{one, other})
			add([]any{object{"a": one}, other})
			add(object{"a": one, "b": other})
			add(object{"a": one, "c": other})
			add(object{"ab": one, "b": other})
			add(object{"a": object{"a": one}, "b": other})
			add(object{"a": object{"a": object{"a": one}, "b": other}})
		}
		add([]any{one, one, 2, one})
		add(object{"a": one, "b": one, "ab": 2, "c": one})
	}
	for _, value := range values {
		text, _ := json.Marshal(value)
		canonical, _ := document.Canonical(text)
		all = append(all, canonical)
	}
	return all
}()

// has reports whether a value has a property of one of the names, at any depth.
func has(value any, names []string) bool {
	switch value := value.(type) {
	case []any:
		return slices.ContainsFunc(value, func(one any) bool { return has(one, names) })
	case object:
		for name, inner := range value {
			if slices.Contains(names, name) || has(inner, names) {
				return true
			}
		}
	}
	return false
}

func compiled(value any) (*Schema, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	if text, err = document.Canonical(text); err != nil {
		return nil, err
	}
	return newSchema("Drawn", text)
}

// Whatever is said to be compatible refuses no value that was valid, but for those that have
// a property already which is new and named as unchecked.
func TestT28WhatIsCompatibleRefusesNothing(t *testing.T) {
	pairs, compatible, tried, exempt := 0, 0, 0, 0
	enginetest.Check(t, 1500, func(rt *rapid.T) {
		d := drawn{rt}
		root := d.root()
		next := any(root)
		for range 1 + d.upTo(2, "changes") {
			next = d.changed(next)
		}
		old, err := compiled(root)
		if err != nil {
			return // it leads to itself
		}
		newer, err := compiled(next)
		if err != nil {
			return
		}
		pairs++
		verdict := newer.Widens(old)
		if !verdict.Compatible {
			require.NotEmpty(rt, verdict.Reason)
			return
		}
		compatible++
		var names []string
		for _, at := range verdict.Unchecked {
			names = append(names, at[strings.LastIndexByte(at, '/')+1:])
		}
		for _, value := range pool {
			if old.Check(value) != nil {
				continue
			}
			if has(document.Decode(value), names) {
				exempt++
				continue
			}
			tried++
			if err := newer.Check(value); err != nil {
				require.Fail(rt, "a value is refused", "%s: %v\n%s\n%s\nunchecked %v", value, err, old.text, newer.text, verdict.Unchecked)
			}
		}
		if verdict.Same {
			for _, value := range pool {
				require.Equal(rt, old.Check(value) == nil, newer.Check(value) == nil, "%s", value)
			}
		}
	})
	t.Logf("%d pairs, %d compatible, %d values valid in both, %d with a property that is new", pairs, compatible, tried, exempt)
	require.Greater(t, compatible*10, pairs, "so few are compatible that little is tried")
}
