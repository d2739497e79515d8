package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/stoadb/stoa/kv/document"
)

// draft is the only one that schemas are written in.
const draft = "https://json-schema.org/draft/2020-12/schema"

// schema is the schema of a collection, compiled.
type schema struct {
	compiled *jsonschema.Schema
	quick    *quick          // finds most valid documents valid; nil: there is none
	instants []document.Path // where documents have strings of the format date-time; * is each element
	withheld []document.Path // where they have what is "writeOnly", in order; likewise
	defaults json.RawMessage // the object of what fields at the top are if a new document has none
}

// closed is a loader that opens nothing.
type closed struct{}

// Load refuses.
func (closed) Load(string) (any, error) {
	return nil, errors.New("a schema refers to nothing outside of itself: put it below $defs")
}

func compileSchema(name string, text json.RawMessage) (*schema, error) {
	if document.Kind(text) != '{' {
		return nil, errors.New("a schema is an object")
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	root := parsed.(map[string]any)
	if d, ok := root["$schema"]; ok && d != draft {
		return nil, fmt.Errorf("schemas are of the draft %s", draft)
	}
	for _, word := range []string{"additionalProperties", "unevaluatedProperties"} {
		if open, ok := root[word]; ok && open != true {
			return nil, fmt.Errorf("%s: a document may have more fields than its schema knows, which are kept", word)
		}
	}
	if root["type"] != "object" {
		return nil, errors.New("the type of a document is object")
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(closed{})
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	at := "stoa:" + name
	if err := compiler.AddResource(at, parsed); err != nil {
		return nil, err
	}
	s := &schema{defaults: json.RawMessage("{}")}
	if s.compiled, err = compiler.Compile(at); err != nil {
		return nil, err
	}
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
	err := s.compiled.Validate(document.Decode(doc))
	var refused *jsonschema.ValidationError
	if !errors.As(err, &refused) {
		return err
	}
	first := first(refused)
	field, reason := explained(first)
	return malformed(field, "%s", reason)
}

// first returns the cause of a refusal that stands first in the document. Where one of
// several forms was to be met, it is that none is.
func first(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Contains, *kind.MinContains:
		return e
	}
	var best *jsonschema.ValidationError
	for _, cause := range e.Causes {
		if one := first(cause); best == nil || slices.Compare(one.InstanceLocation, best.InstanceLocation) < 0 {
			best = one
		}
	}
	if best == nil {
		return e
	}
	return best
}

// explained is the field and the reason of a refusal, which shows nothing of the
// document but names of fields.
func explained(e *jsonschema.ValidationError) (field, reason string) {
	at := e.InstanceLocation
	inner := func(name string) string { return strings.Join(append(slices.Clone(at), name), ".") }
	field = strings.Join(at, ".")
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return inner(slices.Min(k.Missing)), "it is required"
	case *kind.DependentRequired:
		return inner(slices.Min(k.Missing)), fmt.Sprintf("it is required where %s is given", k.Prop)
	case *kind.AdditionalProperties:
		return inner(slices.Min(k.Properties)), "there is no such field here"
	case *kind.Type:
		return field, fmt.Sprintf("it is to be of the type %s, and is %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		text, _ := json.Marshal(k.Want)
		return field, fmt.Sprintf("it is to be one of %s", text)
	case *kind.Const:
		text, _ := json.Marshal(k.Want)
		return field, fmt.Sprintf("it is to be %s", text)
	case *kind.Pattern:
		return field, fmt.Sprintf("it is to match %s", k.Want)
	case *kind.Format:
		return field, fmt.Sprintf("it is to be a %s", k.Want)
	case *kind.MinLength:
		return field, fmt.Sprintf("it is to have at least %d characters, and has %d", k.Want, k.Got)
	case *kind.MaxLength:
		return field, fmt.Sprintf("it is to have at most %d characters, and has %d", k.Want, k.Got)
	case *kind.MinItems:
		return field, fmt.Sprintf("it is to have at least %d elements, and has %d", k.Want, k.Got)
	case *kind.MaxItems:
		return field, fmt.Sprintf("it is to have at most %d elements, and has %d", k.Want, k.Got)
	case *kind.Minimum:
		return field, fmt.Sprintf("it is to be at least %s", k.Want.RatString())
	case *kind.Maximum:
		return field, fmt.Sprintf("it is to be at most %s", k.Want.RatString())
	case *kind.UniqueItems:
		return field, fmt.Sprintf("elements %d and %d are the same", k.Duplicates[0], k.Duplicates[1])
	case *kind.AnyOf, *kind.OneOf:
		return field, "it has none of the forms that it may have"
	case *kind.FalseSchema:
		return field, "there is no such field here"
	}
	return field, fmt.Sprintf("it does not hold to %q of the schema", strings.Join(e.ErrorKind.KeywordPath(), "."))
}
