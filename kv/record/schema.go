package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/jsonschema"
)

// schema is the schema of a collection, compiled.
type schema struct {
	compiled *jsonschema.Schema
	quick    *quick          // finds most valid documents valid; nil: there is none
	instants []document.Path // where documents have strings of the format date-time; * is each element
	withheld []document.Path // where they have what is "writeOnly", in order; likewise
	defaults json.RawMessage // the object of what fields at the top are if a new document has none
}

func compileSchema(name string, text json.RawMessage) (*schema, error) {
	if document.Kind(text) != '{' {
		return nil, errors.New("a schema is an object")
	}
	root := document.Decode(text).(map[string]any)
	for _, word := range []string{"additionalProperties", "unevaluatedProperties"} {
		if open, ok := root[word]; ok && open != true {
			return nil, fmt.Errorf("%s: a document may have more fields than its schema knows, which are kept", word)
		}
	}
	if root["type"] != "object" {
		return nil, errors.New("the type of a document is object")
	}
	compiled, err := jsonschema.Compile(name, root)
	if err != nil {
		return nil, err
	}
	s := &schema{compiled: compiled, defaults: json.RawMessage("{}")}
	properties := document.Field(text, document.Path{"properties"})
	for name := range document.Names(properties) {
		if value := document.Field(properties, document.Path{name, "default"}); value != nil {
			s.defaults = document.With(s.defaults, document.Path{name}, value)
		}
	}
	walk := walkFields(root, func(node map[string]any) bool { return node["format"] == "date-time" })
	s.instants, s.quick = walk.paths, newQuick(root)
	if all := bytes.Count(text, []byte(`"format":"date-time"`)); len(walk.found) < all || walk.endless() {
		return nil, errors.New("a date-time stands where it can't be brought into one form: its field is declared by properties, items and $ref to $defs, not below anyOf and its like, nor in what refers to itself")
	}
	s.withheld, err = withheldFields(root, text)
	return s, err
}

// fieldWalk finds where documents have what a schema says something of.
type fieldWalk struct {
	root  map[string]any
	is    func(node map[string]any) bool // the schema says it
	paths []document.Path
	found map[string][]string // schemas that say so, and those around them
	// circular are schemas that lead to themselves, for which documents have no last path.
	circular map[string]bool
	required map[string][]string        // names that an object is to have, by its path
	refs     map[string]map[string]bool // schemas that refer to one of $defs, by its name
}

func walkFields(root map[string]any, is func(node map[string]any) bool) *fieldWalk {
	w := &fieldWalk{root: root, is: is, found: map[string][]string{}, circular: map[string]bool{}, required: map[string][]string{}, refs: map[string]map[string]bool{}}
	w.visit(root, nil, nil)
	return w
}

// endless reports whether what was found is in a schema that leads to itself.
func (w *fieldWalk) endless() bool {
	for _, within := range w.found {
		if slices.ContainsFunc(within, func(place string) bool { return w.circular[place] }) {
			return true
		}
	}
	return false
}

// visit looks at a schema that stands for what a path of a document leads to. within are
// the places of the schemas around it, so that one that refers to itself is seen.
func (w *fieldWalk) visit(schema any, path document.Path, within []string) {
	node, ok := schema.(map[string]any)
	if !ok {
		return
	}
	place := fmt.Sprintf("%p", node)
	if slices.Contains(within, place) {
		w.circular[place] = true
		return
	}
	within = append(slices.Clone(within), place)
	if w.is(node) {
		w.found[place] = within
		w.paths = append(w.paths, slices.Clone(path))
	}
	names, _ := node["required"].([]any)
	for _, name := range names {
		if text, ok := name.(string); ok {
			w.required[path.String()] = append(w.required[path.String()], text)
		}
	}
	ref, _ := node["$ref"].(string)
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		if w.refs[name] == nil {
			w.refs[name] = map[string]bool{}
		}
		w.refs[name][place] = true
		defs, _ := w.root["$defs"].(map[string]any)
		w.visit(defs[name], path, within)
	}
	properties, _ := node["properties"].(map[string]any)
	for name, inner := range properties {
		w.visit(inner, append(slices.Clone(path), name), within)
	}
	w.visit(node["items"], append(slices.Clone(path), "*"), within)
}

func (s *schema) isInstant(p document.Path) bool {
	return slices.ContainsFunc(s.instants, func(i document.Path) bool { return slices.Equal(i, p) })
}

// inUTC returns a document with its instants in the form in which they are kept.
func (s *schema) inUTC(doc json.RawMessage) (json.RawMessage, error) {
	var err error
	for _, p := range s.instants {
		doc, err = document.Each(doc, p, func(value json.RawMessage) (json.RawMessage, error) {
			text, ok := document.Text(value)
			if !ok {
				return value, nil // the schema says whether it may be something else
			}
			at, err := document.ParseInstant(text)
			if err != nil {
				return nil, malformed(p.String(), "%s", err)
			}
			return document.FromText(document.FormatInstant(at)), nil
		})
		if err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// check returns ErrValidation for a document that the schema refuses, with the field.
func (s *schema) check(doc json.RawMessage) error {
	if s.quick != nil && s.quick.valid(doc) {
		return nil
	}
	if fault := s.compiled.Check(doc); fault != nil {
		return malformed(document.Path(fault.Path).String(), "%s", fault.Reason)
	}
	return nil
}
