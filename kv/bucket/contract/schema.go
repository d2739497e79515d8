package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/jsonschema"
)

// Schema is a JSON Schema of a contract, compiled. It is for any number of goroutines at
// once.
type Schema struct {
	Name     string // in the contract
	text     json.RawMessage
	tree     *tree
	compiled *jsonschema.Schema
	// laborious schemas have it counted how much work a value is, before that is done.
	laborious bool
}

// ParseSchema reads a schema by itself, as a contract's, under a name that errors call it by.
// No file and no socket is opened, whatever it refers to.
func ParseSchema(name string, text []byte) (*Schema, error) {
	canonical, err := document.Canonical(text)
	if err != nil {
		return nil, err
	}
	return newSchema(name, canonical)
}

// newSchema makes a schema of canonical JSON.
func newSchema(name string, text json.RawMessage) (*Schema, error) {
	root := document.Decode(text)
	if n := parts(root); n > MaxParts {
		return nil, fmt.Errorf("a schema has at most %d parts, which are objects and booleans, and this has %d", MaxParts, n)
	}
	if fault := outside(root, nil); fault != nil {
		return nil, fault
	}
	compiled, err := jsonschema.Compile(name, root)
	if err != nil {
		return nil, err
	}
	s := &Schema{Name: name, text: text, tree: newTree(root), compiled: compiled}
	if bad := s.tree.unfit(); bad != nil {
		return nil, fmt.Errorf("at %q: %s", bad.at, bad.reason)
	}
	s.laborious = s.tree.laborious()
	return s, nil
}

// JSON is the schema in canonical form. It is not to be changed.
func (s *Schema) JSON() json.RawMessage { return s.text }

// Check returns ErrValidation, with the place, for a canonical value that does not hold to
// the schema.
func (s *Schema) Check(value json.RawMessage) error {
	if s.laborious && s.tree.steps(document.Decode(value)) > MaxSteps {
		return &Error{Code: CodeValidation, Reason: fmt.Sprintf("holding it to the schema takes more than %d steps: it is nested too deep for a schema whose forms lead to the same ones", MaxSteps)}
	}
	if fault := s.compiled.Check(value); fault != nil {
		return &Error{Code: CodeValidation, Field: fault.Pointer(), Reason: fault.Reason}
	}
	return nil
}

// Read returns the canonical form of a JSON text that holds to the schema, or ErrValidation.
func (s *Schema) Read(text []byte) (json.RawMessage, error) {
	value, err := document.Canonical(text)
	if err != nil {
		return nil, &Error{Code: CodeValidation, Reason: fmt.Sprintf("it is no JSON text: %s", err)}
	}
	return value, s.Check(value)
}

// parts is how many objects and booleans there are in a value.
func parts(value any) (n int) {
	switch value := value.(type) {
	case bool:
		n = 1
	case []any:
		for _, inner := range value {
			n += parts(inner)
		}
	case map[string]any:
		n = 1
		for _, inner := range value {
			n += parts(inner)
		}
	}
	return n
}

// references are the keywords whose text leads to a schema.
var references = []string{"$ref", "$dynamicRef", "$recursiveRef"}

// outside returns where a schema refers to anything outside of itself, or is of another
// draft, wherever the words stand: a schema may be referred to at any place.
func outside(value any, path []string) *jsonschema.Fault {
	switch value := value.(type) {
	case []any:
		for i, inner := range value {
			if fault := outside(inner, append(path, fmt.Sprint(i))); fault != nil {
				return fault
			}
		}
	case map[string]any:
		for _, word := range slices.Sorted(maps.Keys(value)) {
			at := append(path, word)
			text, isText := value[word].(string)
			if isText && slices.Contains(references, word) && (text == "" || text[0] != '#') {
				return &jsonschema.Fault{Path: slices.Clone(at), Reason: "a schema refers to nothing outside of itself: put it below $defs, and refer to #/$defs/NAME"}
			}
			if isText && word == "$schema" && text != jsonschema.Draft {
				return &jsonschema.Fault{Path: slices.Clone(at), Reason: "schemas are of the draft " + jsonschema.Draft}
			}
			if fault := outside(value[word], at); fault != nil {
				return fault
			}
		}
	}
	return nil
}
