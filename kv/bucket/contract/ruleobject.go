package contract

import "slices"

func requiredHolds(_ *check, o facts, n node, word string) *stop {
	for _, name := range textsIn(n.words()[word]) {
		if !o.requires(name) {
			return n.stop(word, "objects without %s were allowed", show(name))
		}
	}
	return nil
}

func dependentRequiredHolds(_ *check, o facts, n node, word string) *stop {
	all, _ := n.words()[word].(map[string]any)
	for name, needs := range all {
		for _, need := range textsIn(needs) {
			if !o.requires(need) && !o.any(func(old node) bool {
				before, _ := old.words()[word].(map[string]any)
				return slices.Contains(textsIn(before[name]), need)
			}) {
				return n.child(word).stop(name, "objects with %s and without %s were allowed", show(name), show(need))
			}
		}
	}
	return nil
}

func dependentSchemasHold(c *check, o facts, n node, word string) *stop {
	for name, follows := range n.under(word) {
		there := o
		for _, old := range o.all {
			there = there.with(old.maybe(word, name)...)
		}
		if found := c.included(there, follows); found != nil {
			return found
		}
	}
	return nil
}

func propertiesHold(c *check, o facts, n node, word string) *stop {
	for name, property := range n.under(word) {
		if c.lenient && o.added(name) {
			c.unchecked = append(c.unchecked, property.at)
			continue
		}
		if found := c.value(o.property(name), property); found != nil {
			return found
		}
	}
	return nil
}

// added reports whether a property of that name is one that objects, which may have any
// others, were not said to have.
func (o facts) added(name string) bool {
	if o.types != objects && !o.any(func(n node) bool { _, ok := n.words()["properties"]; return ok }) {
		return false
	}
	if slices.ContainsFunc(o.property(name), func(n node) bool { return n.never() || len(n.words()) > 0 }) {
		return false
	}
	return !slices.ContainsFunc(about(o.all), func(n node) bool {
		return len(n.declared(name)) > 0 || slices.Contains(textsIn(n.words()["required"]), name)
	})
}

func patternsHold(c *check, o facts, n node, word string) *stop {
	for pattern, property := range n.under(word) {
		var known []node
		for _, old := range o.all {
			known = append(known, old.maybe(word, pattern)...)
		}
		if found := c.value(known, property); found != nil {
			return n.child(word).stop(pattern, "properties that match it were not held to all that it says: %s", found.reason)
		}
	}
	return nil
}

// additionalHolds asks about every property that n neither names nor has a pattern for: those
// that were named, those that had a pattern, and the others.
func additionalHolds(c *check, o facts, n node, word string) *stop {
	rest := n.child(word)
	for _, old := range o.all {
		for name := range old.under("properties") {
			if len(n.declared(name)) > 0 {
				continue
			}
			if c.value(o.property(name), rest) != nil {
				return n.stop(word, "objects with the property %s were allowed, which is not declared any more", show(name))
			}
		}
		for pattern := range old.under("patternProperties") {
			if _, ok := n.within("patternProperties", pattern); ok {
				continue
			}
			if c.value([]node{old.child("patternProperties", pattern)}, rest) != nil {
				return n.stop(word, "objects with properties that match %s were allowed", show(pattern))
			}
		}
	}
	if found := c.value(o.having(word), rest); found != nil {
		return n.stop(word, "objects with other properties were allowed")
	}
	return nil
}

// nameIsText is what is known of every name of a property.
var nameIsText = (&tree{root: map[string]any{"type": "string"}}).node()

func namesHold(c *check, o facts, n node, word string) *stop {
	if c.value(append(o.having(word), nameIsText), n.child(word)) != nil {
		return n.stop(word, "objects with other names of properties were allowed")
	}
	return nil
}
