package contract

import (
	"reflect"
	"slices"
)

// work counts to how many schemas a value and what is in it are held, each as often as there
// are ways to it, since the library goes every way: where forms of a schema lead to the same
// for what is within the value, they are twice as many with each level.
type work map[held]int

// held is an object or an array that is held to the schema at a place.
type held struct {
	schema string
	value  uintptr // where it is in memory; arrays of no elements are all alike
}

// steps returns how much work it is to hold a value to the schema. It counts no further than
// MaxSteps, and returns more than that then.
func (t *tree) steps(value any) int { return work{}.count(t.node(), value) }

func (w work) count(n node, value any) int {
	key := held{schema: n.at}
	switch value.(type) {
	case map[string]any, []any:
		key.value = reflect.ValueOf(value).Pointer()
		if sum, ok := w[key]; ok {
			return sum
		}
	}
	sum := 1
	add := func(inner node, value any) {
		if sum <= MaxSteps {
			sum += w.count(inner, value)
		}
	}
	for inner := range n.here() {
		add(inner, value)
	}
	alone := facts{all: []node{n}}
	switch value := value.(type) {
	case map[string]any:
		for name, one := range value {
			for _, inner := range append(alone.property(name), alone.having("unevaluatedProperties")...) {
				add(inner, one)
			}
			for _, inner := range alone.having("propertyNames") {
				add(inner, name)
			}
		}
	case []any:
		for i, one := range value {
			for _, inner := range slices.Concat(alone.element(i), alone.having("contains"), alone.having("unevaluatedItems")) {
				add(inner, one)
			}
		}
	}
	if key.value != 0 {
		w[key] = sum
	}
	return sum
}

// laborious reports whether holding a value to the schema may be much more work than the value
// has parts: it leads to itself, or to the same from many places.
func (t *tree) laborious() bool {
	weights := map[string]int{}
	var weigh func(n node) (sum int)
	weigh = func(n node) int {
		if weight, seen := weights[n.at]; seen {
			return weight
		}
		weights[n.at] = MaxWays + 1 // as long as it is not weighed: whoever leads here leads to itself
		sum := 1
		for inner := range n.here() {
			sum += weigh(inner)
		}
		for word := range n.words() {
			for _, inner := range n.under(word) {
				if !inPlace[word] {
					sum += weigh(inner)
				}
			}
		}
		weights[n.at] = min(sum, MaxWays+1)
		return weights[n.at]
	}
	return weigh(t.node()) > MaxWays
}
