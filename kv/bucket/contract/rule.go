package contract

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// rule is what is asked about a keyword of the newer schema.
type rule struct {
	of    types // the values that the keyword is about
	holds func(c *check, o facts, n node, word string) *stop
}

// ruleOf returns the rule of a keyword. It is no table, since rules lead to rules.
func ruleOf(word string) rule {
	if b, ok := bounds[word]; ok {
		return rule{b.of, b.holds}
	}
	switch word {
	case "type":
		return rule{anything, typeHolds}
	case "enum", "const":
		return rule{anything, allowedHolds}
	case "pattern", "format":
		return rule{texts, wordHolds}
	case "multipleOf":
		return rule{numbers, multipleHolds}
	case "uniqueItems":
		return rule{arrays, uniqueHolds}
	case "items":
		return rule{arrays, itemsHold}
	case "prefixItems":
		return rule{arrays, prefixHolds}
	case "contains":
		return rule{arrays, containsHolds}
	case "required":
		return rule{objects, requiredHolds}
	case "dependentRequired":
		return rule{objects, dependentRequiredHolds}
	case "dependentSchemas":
		return rule{objects, dependentSchemasHold}
	case "properties":
		return rule{objects, propertiesHold}
	case "patternProperties":
		return rule{objects, patternsHold}
	case "additionalProperties":
		return rule{objects, additionalHolds}
	case "propertyNames":
		return rule{objects, namesHold}
	case "unevaluatedProperties":
		return rule{objects, unevaluatedHolds}
	case "unevaluatedItems":
		return rule{arrays, unevaluatedHolds}
	case "$ref":
		return rule{anything, refHolds}
	case "allOf":
		return rule{anything, allHold}
	case "anyOf":
		return rule{anything, anyHolds}
	case "oneOf":
		return rule{anything, oneHolds}
	case "not":
		return rule{anything, notHolds}
	case "if":
		return rule{anything, ifHolds}
	case "then", "else", "minContains", "maxContains": // which if and contains are asked about with
		return rule{}
	}
	return rule{anything, unknownHolds}
}

// unknownHolds looks for the same, of a word of which nothing is known: the library takes no
// notice of it. Of dependencies, which is of older drafts, it does.
func unknownHolds(_ *check, o facts, n node, word string) *stop {
	if word != "dependencies" && o.any(func(old node) bool {
		value, ok := old.words()[word]
		return ok && reflect.DeepEqual(value, n.words()[word])
	}) {
		return nil
	}
	return n.stop(word, "it is not known what it asks of values")
}

func typeHolds(_ *check, o facts, n node, word string) *stop {
	if more := o.types &^ typesIn(n.words()[word]); more != 0 {
		return n.stop(word, "values of the type %s were allowed", more)
	}
	return nil
}

// String names kinds of values as schemas do.
func (t types) String() string {
	var names []string
	for _, name := range []string{"null", "boolean", "object", "array", "string", "number", "integer"} {
		if kind := typesOf[name]; t&kind == kind && !(name == "integer" && t&fractions != 0) {
			names = append(names, name)
		}
	}
	if t&numbers == fractions {
		names = append(names, "number")
	}
	return strings.Join(names, " or ")
}

func allowedHolds(_ *check, o facts, n node, word string) *stop {
	allowed, _ := allowedHere(node{n.tree, n.at, map[string]any{word: n.words()[word]}})
	among := func(value any) bool {
		return slices.ContainsFunc(allowed, func(one any) bool { return reflect.DeepEqual(one, value) })
	}
	if o.any(func(old node) bool {
		values, ok := allowedHere(old)
		return ok && !slices.ContainsFunc(values, func(value any) bool { return !among(value) })
	}) {
		return nil
	}
	return n.stop(word, "values that are not in it were allowed")
}

// wordHolds looks for the same word with the same text.
func wordHolds(_ *check, o facts, n node, word string) *stop {
	value := n.words()[word]
	if o.any(func(old node) bool { return old.words()[word] == value }) {
		return nil
	}
	return n.stop(word, "strings that don't hold to the %s %q may have been allowed", word, value)
}

func uniqueHolds(_ *check, o facts, n node, word string) *stop {
	if n.words()[word] != true || o.any(func(old node) bool { return old.words()[word] == true }) {
		return nil
	}
	return n.stop(word, "arrays with the same element twice were allowed")
}

func unevaluatedHolds(_ *check, _ facts, n node, word string) *stop {
	if n.words()[word] == true {
		return nil
	}
	return n.stop(word, "what it refuses follows from all of the schema, of which something is not what it was")
}

func refHolds(c *check, o facts, n node, word string) *stop {
	to, _, ok := n.target()
	if !ok {
		return n.stop(word, "it is not known where it leads")
	}
	return c.included(o, to)
}

func allHold(c *check, o facts, n node, word string) *stop { return c.all(o, n.listed(word)) }

// all returns nil if every value that the facts are known of holds to each of some schemas.
func (c *check) all(o facts, schemas []node) *stop {
	for _, n := range schemas {
		if found := c.included(o, n); found != nil {
			return found
		}
	}
	return nil
}

func anyHolds(c *check, o facts, n node, word string) *stop {
	for _, form := range n.under(word) {
		if c.included(o, form) == nil {
			return nil
		}
	}
	return n.stop(word, "none of its forms is known to have all that was allowed")
}

// oneHolds looks for the same forms, or has forms that exclude each other hold as those of
// anyOf.
func oneHolds(c *check, o facts, n node, word string) *stop {
	ours := n.listed(word)
	if o.any(func(old node) bool { return slices.EqualFunc(old.listed(word), ours, c.equal) }) {
		return nil
	}
	for i, form := range ours {
		if slices.ContainsFunc(ours[:i], func(other node) bool { return !apart(form, other) }) {
			return n.stop(word, "a value may hold to more than one of its forms")
		}
	}
	return anyHolds(c, o, n, word)
}

// apart reports whether no value holds to both of two schemas, for sure: they are of other
// types, or of other constants, or have a property that is required and so.
func apart(a, b node) bool {
	x, y := known([]node{a}), known([]node{b})
	if x.none || y.none || x.types&y.types == 0 || x.otherConstants(y) {
		return true
	}
	if (x.types|y.types)&^objects != 0 {
		return false
	}
	for _, n := range x.all {
		for _, name := range textsIn(n.words()["required"]) {
			if y.requires(name) && known(x.property(name)).otherConstants(known(y.property(name))) {
				return true
			}
		}
	}
	return false
}

// otherConstants reports whether both have a list of values, of which none is in both.
func (o facts) otherConstants(p facts) bool {
	for _, a := range o.all {
		for _, b := range p.all {
			x, isX := allowedHere(a)
			y, isY := allowedHere(b)
			shared := slices.ContainsFunc(x, func(one any) bool {
				return slices.ContainsFunc(y, func(other any) bool { return reflect.DeepEqual(one, other) })
			})
			if isX && isY && !shared {
				return true
			}
		}
	}
	return false
}

func notHolds(c *check, o facts, n node, word string) *stop {
	refused := n.child(word)
	if what := known([]node{refused}); what.none || what.types&o.types == 0 {
		return nil
	}
	for _, old := range o.having(word) {
		if c.strictly(refused, old) {
			return nil
		}
	}
	return n.stop(word, "values that it refuses may have been allowed")
}

// ifHolds looks for the same condition, so that what followed from it may be taken for
// granted.
func ifHolds(c *check, o facts, n node, word string) *stop {
	condition := n.child(word)
	then, otherwise := o.with(condition), o
	for _, old := range o.all {
		if before, ok := old.within(word); ok && c.equal(before, condition) {
			then, otherwise = then.with(old.maybe("then")...), otherwise.with(old.maybe("else")...)
		}
	}
	if found := c.all(then, n.maybe("then")); found != nil {
		return found
	}
	return c.all(otherwise, n.maybe("else"))
}

// show is a value of a schema, for people, cut where it is long.
func show(value any) string {
	const most = 60
	out, _ := json.Marshal(value)
	if len(out) > most {
		return fmt.Sprintf("%.*s…", most, out)
	}
	return string(out)
}
