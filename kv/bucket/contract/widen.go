package contract

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Verdict is whether values that hold to one schema hold to another.
type Verdict struct {
	// Compatible says that they do for sure, but for those of Unchecked.
	Compatible bool
	// Same says that no value is judged otherwise, nor means anything else.
	Same bool
	// Path is where the comparison stopped, as a JSON pointer into the newer schema, and
	// Reason is why, for people; "" if they are compatible.
	Path, Reason string
	// Unchecked are optional properties that the newer schema gives to objects which were
	// open, as JSON pointers into it: a value that has one already, undeclared, may be
	// refused. At most 32 are named.
	Unchecked []string
}

// Widens decides whether every value that holds to old holds to s too, and means what it
// did. What it can't decide counts as not compatible.
func (s *Schema) Widens(old *Schema) Verdict {
	if reflect.DeepEqual(old.tree.root, s.tree.root) {
		return Verdict{Compatible: true, Same: true}
	}
	if old.tree.moves || s.tree.moves {
		return Verdict{Reason: "one of the two has $id, $anchor or $dynamicRef, so that it is not known what its parts mean"}
	}
	if same(old.tree.node(), s.tree.node(), map[[2]place]bool{}) {
		return Verdict{Compatible: true, Same: true}
	}
	c := &check{lenient: true, open: map[string]bool{}}
	if stop := c.value([]node{old.tree.node()}, s.tree.node()); stop != nil {
		return Verdict{Path: stop.at, Reason: stop.reason}
	}
	slices.Sort(c.unchecked)
	unchecked := slices.Compact(c.unchecked)
	return Verdict{Compatible: true, Unchecked: unchecked[:min(len(unchecked), maxReported)]}
}

// stop is where it is not known that values are valid.
type stop struct{ at, reason string }

// stop says that it is at a keyword of the node; "" is the node itself.
func (n node) stop(word, format string, args ...any) *stop {
	at := n.at
	if word != "" {
		at = n.child(word).at
	}
	return &stop{at, fmt.Sprintf(format, args...)}
}

// check compares two schemas. What it finds holds of values of any depth by induction: a
// comparison that comes to itself is about what is within the value by then, since no schema
// leads to itself in place (see tree.unfit), and takes for granted what it is asked about.
type check struct {
	// lenient has optional properties that are new on open objects count as compatible. It is
	// off where the comparison goes from new to old.
	lenient   bool
	unchecked []string
	open      map[string]bool // comparisons under way
	steps     int
}

// value returns nil if every value that holds to all of some schemas holds to n too, and
// means the same by it.
func (c *check) value(olds []node, n node) *stop {
	o := known(olds)
	if o.none {
		return nil
	}
	for _, word := range meaningful {
		says := func(n node) bool { return n.tree.meant[word] }
		if (says(n) || slices.ContainsFunc(olds, says)) && !slices.Equal(said(olds, word), said([]node{n}, word)) {
			return n.stop("", "%q is not what it was, which may change what stored values mean", word)
		}
	}
	return c.included(o, n)
}

// equal reports whether two schemas allow the same values for sure.
func (c *check) equal(a, b node) bool { return c.strictly(a, b) && c.strictly(b, a) }

// strictly reports whether every value that holds to a holds to b, where nothing is taken
// for compatible that may not be.
func (c *check) strictly(a, b node) bool {
	lenient := c.lenient
	c.lenient = false
	defer func() { c.lenient = lenient }()
	return c.included(known([]node{a}), b) == nil
}

// included returns nil if every value that the facts are known of holds to n.
func (c *check) included(o facts, n node) *stop {
	if c.steps++; c.steps > maxCompared {
		return n.stop("", "the two differ in too many ways to be compared")
	}
	if o.none {
		return nil
	}
	if n.never() {
		return n.stop("", "values were allowed here, and none is now")
	}
	for _, old := range o.all {
		seen := map[[2]place]bool{}
		if same(old, n, seen) {
			return nil
		}
		c.steps += len(seen) / 10 // which is less work than a comparison
	}
	key := c.key(o, n)
	if c.open[key] {
		return nil
	}
	c.open[key] = true
	defer delete(c.open, key)
	marked := len(c.unchecked)
	found := c.holds(o, n)
	if found == nil {
		return nil
	}
	c.unchecked = c.unchecked[:marked]
	if c.split(o, n) {
		return nil
	}
	return found
}

// key names a comparison.
func (c *check) key(o facts, n node) string {
	var text strings.Builder
	for _, old := range o.all {
		fmt.Fprintf(&text, "%p%s\x00", old.tree, old.at)
	}
	fmt.Fprintf(&text, "%q %v %p%s", o.chosen, c.lenient, n.tree, n.at)
	return text.String()
}

// holds looks at each keyword of n.
func (c *check) holds(o facts, n node) *stop {
	for _, word := range slices.Sorted(maps.Keys(n.words())) {
		if forms[word] == silent || forms[word] == meaning {
			continue
		}
		r := ruleOf(word)
		if o.types&r.of == 0 {
			continue // it is about values that there are none of
		}
		if found := r.holds(c, o, n, word); found != nil {
			return found
		}
	}
	return nil
}

// split tells apart the forms that one of the old schemas allows: if each is included, so
// are all.
func (c *check) split(o facts, n node) bool {
	for _, old := range o.all {
		for _, word := range []string{"anyOf", "oneOf"} {
			choice := fmt.Sprintf("%p%s/%s", old.tree, old.at, word)
			if old.words()[word] == nil || slices.Contains(o.chosen, choice) {
				continue
			}
			included := true
			for _, form := range old.under(word) {
				one := o.with(form)
				one.chosen = append(slices.Clone(o.chosen), choice)
				if included = c.included(one, n) == nil; !included {
					break
				}
			}
			if included {
				return true
			}
		}
	}
	return false
}
