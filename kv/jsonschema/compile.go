package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	santhosh "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/stoadb/stoa/kv/document"
)

// Draft is the only one that schemas are written in.
const Draft = "https://json-schema.org/draft/2020-12/schema"

// Schema is a schema, compiled. It is for any number of goroutines at once.
type Schema struct{ compiled *santhosh.Schema }

// closed is a loader that opens nothing.
type closed struct{}

// Load refuses.
func (closed) Load(string) (any, error) {
	return nil, errors.New("a schema refers to nothing outside of itself: put it below $defs")
}

// Compile makes a schema of what document.Decode has returned, which is not to be changed
// afterwards. Formats are held to. The name is what errors call it by; where a schema is none,
// the error is a *Fault with the place in it. No file and no socket is opened, whatever it
// refers to.
func Compile(name string, schema any) (*Schema, error) {
	root, _ := schema.(map[string]any)
	if d, ok := root["$schema"]; ok && d != Draft {
		return nil, fmt.Errorf("schemas are of the draft %s", Draft)
	}
	compiler := santhosh.NewCompiler()
	compiler.UseLoader(closed{})
	compiler.DefaultDraft(santhosh.Draft2020)
	compiler.AssertFormat()
	at := base + url.PathEscape(name)
	if err := compiler.AddResource(at, schema); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(at)
	if err != nil {
		return nil, told(err)
	}
	return &Schema{compiled}, nil
}

// base is where schemas are, as far as the library is told: what one refers to without a
// scheme is beside it, where there is nothing.
const base = "stoa:///"

// told is an error of the library as a Fault of the schema, where it says at which place.
func told(err error) error {
	var refused *santhosh.ValidationError
	if invalid := (*santhosh.SchemaValidationError)(nil); errors.As(err, &invalid) && errors.As(invalid.Err, &refused) {
		return explained(first(refused))
	}
	if pattern := (*santhosh.InvalidRegexError)(nil); errors.As(err, &pattern) {
		_, pointer, _ := strings.Cut(pattern.URL, "#")
		path, _ := ParsePointer(pointer)
		return &Fault{path, fmt.Sprintf("no regular expression: %s", pattern.Err)}
	}
	return err
}

// Check returns nil for a canonical value that holds to the schema, and else what is wrong
// with it where it stands first.
func (s *Schema) Check(value json.RawMessage) *Fault {
	err := s.compiled.Validate(document.Decode(value))
	var refused *santhosh.ValidationError
	if errors.As(err, &refused) {
		return explained(first(refused))
	}
	return nil
}
