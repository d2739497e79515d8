package jsonschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	santhosh "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Fault is what is wrong with a value, or with a schema, which is a value too. It shows
// nothing of it but names of properties.
type Fault struct {
	Path   []string // from the outermost value on: names of properties, and numbers of elements
	Reason string   // what is wrong there, for people
}

// Error says where, and what is wrong.
func (f *Fault) Error() string {
	if len(f.Path) == 0 {
		return f.Reason
	}
	return "at " + f.Pointer() + ": " + f.Reason
}

// Pointer is the path as a JSON pointer (RFC 6901): "" is the whole value.
func (f *Fault) Pointer() string { return Pointer(f.Path...) }

// Pointer is the JSON pointer (RFC 6901) of a path.
func Pointer(path ...string) string {
	var text strings.Builder
	for _, name := range path {
		text.WriteByte('/')
		_, _ = pointerEscapes.WriteString(&text, name)
	}
	return text.String()
}

// ParsePointer is the path of a JSON pointer (RFC 6901); false for a text that is none, but
// for escapes that there are not, which stand for themselves.
func ParsePointer(pointer string) (path []string, ok bool) {
	if pointer == "" {
		return nil, true
	}
	rest, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		return nil, false
	}
	path = strings.Split(rest, "/")
	for i := range path {
		path[i] = pointerUnescapes.Replace(path[i])
	}
	return path, true
}

var (
	pointerEscapes   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescapes = strings.NewReplacer("~0", "~", "~1", "/") // ~01 is ~1
)

// first returns the cause of a refusal that stands first in the value. Where one of
// several forms was to be met, it is that none is.
func first(e *santhosh.ValidationError) *santhosh.ValidationError {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Contains, *kind.MinContains, *kind.PropertyNames:
		return e
	}
	var best *santhosh.ValidationError
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

func explained(e *santhosh.ValidationError) *Fault {
	at := slices.Clone(e.InstanceLocation)
	fault := func(format string, args ...any) *Fault { return &Fault{at, fmt.Sprintf(format, args...)} }
	within := func(name, format string, args ...any) *Fault {
		at = append(at, name)
		return fault(format, args...)
	}
	among := func(want any) string {
		text, _ := json.Marshal(want)
		return string(text)
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return within(slices.Min(k.Missing), "it is required")
	case *kind.DependentRequired:
		return within(slices.Min(k.Missing), "it is required where %s is given", k.Prop)
	case *kind.AdditionalProperties:
		return within(slices.Min(k.Properties), "there is no such field here")
	case *kind.PropertyNames:
		return within(k.Property, "there is no field of such a name here")
	case *kind.Type:
		return fault("it is to be of the type %s, and is %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return fault("it is to be one of %s", among(k.Want))
	case *kind.Const:
		return fault("it is to be %s", among(k.Want))
	case *kind.Pattern:
		return fault("it is to match %s", k.Want)
	case *kind.Format:
		return fault("it is to be a %s", k.Want)
	case *kind.MinLength:
		return fault("it is to have at least %d characters, and has %d", k.Want, k.Got)
	case *kind.MaxLength:
		return fault("it is to have at most %d characters, and has %d", k.Want, k.Got)
	case *kind.MinItems:
		return fault("it is to have at least %d elements, and has %d", k.Want, k.Got)
	case *kind.MaxItems:
		return fault("it is to have at most %d elements, and has %d", k.Want, k.Got)
	case *kind.Minimum:
		return fault("it is to be at least %s", k.Want.RatString())
	case *kind.Maximum:
		return fault("it is to be at most %s", k.Want.RatString())
	case *kind.UniqueItems:
		return fault("elements %d and %d are the same", k.Duplicates[0], k.Duplicates[1])
	case *kind.AnyOf, *kind.OneOf:
		return fault("it has none of the forms that it may have")
	case *kind.Not:
		return fault("it has the form that it is not to have")
	case *kind.FalseSchema:
		return fault("there is no such field here")
	}
	return fault("it does not hold to %q of the schema", strings.Join(e.ErrorKind.KeywordPath(), "."))
}
