package contract

import (
	"encoding/json"
	"math/big"
	"slices"
)

// types is a set of kinds of values.
type types uint8

// Kinds of values. A number is an integer or a fraction.
const (
	nulls types = 1 << iota
	booleans
	objects
	arrays
	texts
	integers
	fractions

	numbers  = integers | fractions
	anything = nulls | booleans | objects | arrays | texts | numbers
)

var typesOf = map[string]types{"null": nulls, "boolean": booleans, "object": objects, "array": arrays, "string": texts, "integer": integers, "number": numbers}

// typeOf is the kind of a value.
func typeOf(value any) types {
	switch value := value.(type) {
	case nil:
		return nulls
	case bool:
		return booleans
	case map[string]any:
		return objects
	case []any:
		return arrays
	case string:
		return texts
	case json.Number:
		if n, ok := new(big.Rat).SetString(value.String()); ok && n.IsInt() {
			return integers
		}
		return fractions
	}
	return anything
}

// typesIn are the kinds that the keyword type names.
func typesIn(value any) (set types) {
	if name, ok := value.(string); ok {
		return typesOf[name]
	}
	for _, name := range textsIn(value) {
		set |= typesOf[name]
	}
	return set
}

// textsIn are the strings of an array.
func textsIn(value any) (list []string) {
	values, _ := value.([]any)
	for _, one := range values {
		if text, ok := one.(string); ok {
			list = append(list, text)
		}
	}
	return list
}

// facts are schemas that a value holds to, all of them, with those that they are made of by
// $ref and allOf.
type facts struct {
	all    []node   // each once
	types  types    // which values are of at most
	none   bool     // no value holds to them
	chosen []string // which anyOf and oneOf of them are being told apart
}

// known returns what is known of a value that holds to some schemas.
func known(olds []node) facts {
	o := facts{types: anything}
	seen := map[place]bool{}
	var add func(n node)
	add = func(n node) {
		o.none = o.none || n.never()
		if seen[n.place()] {
			return
		}
		seen[n.place()] = true
		o.all = append(o.all, n)
		o.types &= typesHere(n)
		if to, _, ok := n.target(); ok {
			add(to)
		}
		for _, inner := range n.under("allOf") {
			add(inner)
		}
	}
	for _, n := range olds {
		add(n)
	}
	o.none = o.none || o.types == 0
	return o
}

// with returns the facts of a value that holds to one more.
func (o facts) with(more ...node) facts {
	wider := known(append(slices.Clone(o.all), more...))
	wider.chosen = o.chosen
	return wider
}

// typesHere are the kinds that a schema says by itself that values are of.
func typesHere(n node) types {
	set := anything
	if value, ok := n.words()["type"]; ok {
		set = typesIn(value)
	}
	if values, ok := allowedHere(n); ok {
		var among types
		for _, value := range values {
			among |= typeOf(value)
		}
		set &= among
	}
	return set
}

// allowedHere are the values that a schema lists, if it does.
func allowedHere(n node) (values []any, ok bool) {
	if value, ok := n.words()["const"]; ok {
		return []any{value}, true
	}
	values, ok = n.words()["enum"].([]any)
	return values, ok
}

// any reports whether one of the schemas has a property.
func (o facts) any(has func(n node) bool) bool { return slices.ContainsFunc(o.all, has) }

// having returns what the schemas say by a word that has a schema.
func (o facts) having(word string) (inner []node) {
	for _, n := range o.all {
		inner = append(inner, n.maybe(word)...)
	}
	return inner
}

// requires reports whether a property is required.
func (o facts) requires(name string) bool {
	return o.any(func(n node) bool { return slices.Contains(textsIn(n.words()["required"]), name) })
}

// property returns what is known of the value of a property, if an object has it.
func (o facts) property(name string) (inner []node) {
	for _, n := range o.all {
		here := n.declared(name)
		if len(here) == 0 {
			here = n.maybe("additionalProperties")
		}
		inner = append(inner, here...)
	}
	return inner
}

// declared are the schemas that one names a property's value by, itself or by a pattern.
func (n node) declared(name string) (inner []node) {
	inner = n.maybe("properties", name)
	for pattern, one := range n.under("patternProperties") {
		if n.tree.matches(pattern, name) {
			inner = append(inner, one)
		}
	}
	return inner
}

// element returns what is known of the element of a number, if an array has it.
func (o facts) element(i int) (inner []node) {
	for _, n := range o.all {
		if first := n.listed("prefixItems"); i < len(first) {
			inner = append(inner, first[i])
		} else {
			inner = append(inner, n.maybe("items")...)
		}
	}
	return inner
}

// said are the values that a word has in some schemas and all that are about the same value,
// as JSON, each once and in order.
func said(nodes []node, word string) (values []string) {
	for _, n := range about(nodes) {
		if value, ok := n.words()[word]; ok {
			text, _ := json.Marshal(value)
			values = append(values, string(text))
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// about returns some schemas and all that are about the same value, each once.
func about(nodes []node) (all []node) {
	seen := map[place]bool{}
	var look func(n node)
	look = func(n node) {
		if seen[n.place()] {
			return
		}
		seen[n.place()] = true
		all = append(all, n)
		for inner := range n.here() {
			look(inner)
		}
	}
	for _, n := range nodes {
		look(n)
	}
	return all
}
