package contract

import (
	"iter"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stoadb/stoa/kv/jsonschema"
)

// tree is a schema with all that is in it, as document.Decode returns it.
type tree struct {
	root any
	// moves reports that it has movable words, so that a part can't be understood by itself.
	moves    bool
	meant    map[string]bool           // the words there that say what values mean
	patterns map[string]*regexp.Regexp // of patternProperties; nil of what is none, in a constant
}

func newTree(root any) *tree {
	t := &tree{root: root, meant: map[string]bool{}, patterns: map[string]*regexp.Regexp{}}
	t.look(root, true)
	return t
}

// look sees whether there are movable words, of which $id at the top is none, and which words
// with a meaning and which patterns there are.
func (t *tree) look(value any, top bool) {
	switch value := value.(type) {
	case []any:
		for _, inner := range value {
			t.look(inner, false)
		}
	case map[string]any:
		for word, inner := range value {
			_, isName := inner.(map[string]any) // of a property
			t.moves = t.moves || movable[word] && !isName && !(top && word == "$id")
			t.meant[word] = t.meant[word] || forms[word] == meaning
			if named, ok := inner.(map[string]any); ok && word == "patternProperties" {
				for pattern := range named {
					t.patterns[pattern], _ = regexp.Compile(pattern)
				}
			}
			t.look(inner, false)
		}
	}
}

// matches reports whether a name matches a pattern of patternProperties.
func (t *tree) matches(pattern, name string) bool {
	re := t.patterns[pattern]
	return re != nil && re.MatchString(name)
}

// node is a schema in a tree: a boolean or an object.
type node struct {
	tree  *tree
	at    string // a JSON pointer
	value any
}

// place is where a schema is.
type place struct {
	tree *tree
	at   string
}

func (n node) place() place { return place{n.tree, n.at} }

func (t *tree) node() node { return node{tree: t, value: t.root} }

// words are the keywords of a node; a boolean has none.
func (n node) words() map[string]any {
	words, _ := n.value.(map[string]any)
	return words
}

// never reports that the schema is false.
func (n node) never() bool { return n.value == false }

// within returns what is in a node, by the names and numbers that lead there; false if there
// is nothing.
func (n node) within(path ...string) (node, bool) {
	for _, name := range path {
		var ok bool
		switch inner := n.value.(type) {
		case map[string]any:
			n.value, ok = inner[name]
		case []any:
			i, err := strconv.ParseUint(name, 10, 32)
			if ok = err == nil && i < uint64(len(inner)); ok {
				n.value = inner[i]
			}
		}
		if !ok {
			return node{}, false
		}
		n.at += jsonschema.Pointer(name)
	}
	return n, true
}

// child returns what is in a node at a place that is there.
func (n node) child(path ...string) node {
	inner, _ := n.within(path...)
	return inner
}

// maybe returns what is in a node, if anything.
func (n node) maybe(path ...string) []node {
	if inner, ok := n.within(path...); ok {
		return []node{inner}
	}
	return nil
}

// under yields the schemas in a keyword of a node, each by its name, or its number; "" is
// the name of the only one.
func (n node) under(word string) iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		value, ok := n.words()[word]
		if !ok {
			return
		}
		switch forms[word] {
		case one:
			yield("", n.child(word))
		case list:
			all, _ := value.([]any)
			for i := range all {
				if name := strconv.Itoa(i); !yield(name, n.child(word, name)) {
					return
				}
			}
		case named:
			all, _ := value.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(all)) {
				if _, names := all[name].([]any); !names && !yield(name, n.child(word, name)) { // dependencies may be names
					return
				}
			}
		}
	}
}

// listed are the schemas in a keyword of a node.
func (n node) listed(word string) (schemas []node) {
	for _, inner := range n.under(word) {
		schemas = append(schemas, inner)
	}
	return schemas
}

// target returns the schema that $ref leads to, if it is a place in the tree.
func (n node) target() (to node, is, found bool) {
	ref, is := n.words()["$ref"].(string)
	if !is {
		return node{}, false, false
	}
	pointer, ok := strings.CutPrefix(ref, "#")
	path, isPointer := jsonschema.ParsePointer(pointer)
	if !ok || !isPointer || strings.Contains(pointer, "%") {
		return node{}, true, false
	}
	to, found = n.tree.node().within(path...)
	return to, true, found
}

// here yields the schemas that are about the same value as the node.
func (n node) here() iter.Seq[node] {
	return func(yield func(node) bool) {
		if to, _, ok := n.target(); ok && !yield(to) {
			return
		}
		for _, word := range slices.Sorted(maps.Keys(n.words())) {
			for _, inner := range n.under(word) {
				if inPlace[word] && !yield(inner) {
					return
				}
			}
		}
	}
}

// unfit returns where a schema leads to itself without going into the value, or holds one
// value to too many schemas; nil if it does not.
func (t *tree) unfit() *stop {
	w := weighing{weights: map[string]int{}, rest: []node{t.node()}}
	for len(w.rest) > 0 {
		n := w.rest[len(w.rest)-1]
		w.rest = w.rest[:len(w.rest)-1]
		if _, bad := w.weigh(n); bad != nil {
			return bad
		}
	}
	return nil
}

// weighing counts to how many schemas a value is held by each place of a tree.
type weighing struct {
	weights map[string]int
	rest    []node // what is to be looked at besides: the schemas of what is in values
}

// begun is the weight of a place that is being weighed.
const begun = -1

func (w *weighing) weigh(n node) (int, *stop) {
	switch weight, seen := w.weights[n.at]; {
	case weight == begun:
		return 0, n.stop("", "it leads to itself without going into the value: refer to what is around a schema from below properties, items or their like")
	case seen:
		return weight, nil
	}
	w.weights[n.at] = begun
	sum := 1
	for inner := range n.here() {
		weight, bad := w.weigh(inner)
		if bad != nil {
			return 0, bad
		}
		if sum += weight; sum > MaxWays {
			return 0, n.stop("", "it holds one value to more than %d schemas, by references to the same from many places", MaxWays)
		}
	}
	w.weights[n.at] = sum
	for word := range n.words() {
		for _, inner := range n.under(word) {
			w.rest = append(w.rest, inner)
		}
	}
	return sum, nil
}

// same reports whether two schemas say the same in the same words, but for those that say
// nothing of values. seen are pairs that are being looked at.
func same(a, b node, seen map[[2]place]bool) bool {
	x, isX := a.value.(map[string]any)
	y, isY := b.value.(map[string]any)
	if !isX || !isY {
		return reflect.DeepEqual(a.value, b.value)
	}
	pair := [2]place{a.place(), b.place()}
	if seen[pair] {
		return true
	}
	seen[pair] = true
	for word := range x {
		if _, ok := y[word]; !ok && forms[word] != silent {
			return false
		}
	}
	for word := range y {
		if forms[word] == silent {
			continue
		}
		if _, ok := x[word]; !ok || !sameUnder(a, b, word, seen) {
			return false
		}
	}
	return true
}

func sameUnder(a, b node, word string, seen map[[2]place]bool) bool {
	x, y := a.words()[word], b.words()[word]
	if word == "$ref" {
		to, _, ok := a.target()
		other, _, found := b.target()
		return ok && found && same(to, other, seen)
	}
	switch forms[word] {
	case one:
		return same(a.child(word), b.child(word), seen)
	case list, named:
		if !slices.Equal(namesUnder(a, word), namesUnder(b, word)) {
			return false
		}
	default:
		return reflect.DeepEqual(x, y)
	}
	for name, inner := range a.under(word) {
		if !same(inner, b.child(word, name), seen) {
			return false
		}
	}
	return word != "dependencies" || reflect.DeepEqual(x, y) // some of which are no schemas
}

func namesUnder(n node, word string) (names []string) {
	for name := range n.under(word) {
		names = append(names, name)
	}
	return names
}
