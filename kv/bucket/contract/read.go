package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/jsonschema"
)

// reader reads a contract and goes on behind what is wrong, so that who mends it hears of
// everything at once.
type reader struct {
	faults
	contract *Contract
	schemas  map[string]*Schema // nil of one that is none
}

// properties returns those of an object; of what is none, and is there, a fault says so.
func (r *reader) properties(value json.RawMessage, path ...string) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	if value != nil && document.Kind(value) != '{' {
		r.add(path, "it is to be an object, and is %s", kindOf(value))
	}
	for quoted, inner := range document.Properties(value) {
		name, _ := document.Text(quoted)
		all[name] = inner
	}
	return all
}

func (r *reader) read() {
	top := r.properties(r.contract.text)
	r.contract.Service = r.name(top["service"], "the service", "service")

	r.schemas = map[string]*Schema{}
	named := r.properties(top["schemas"], "schemas")
	for _, name := range slices.Sorted(maps.Keys(named)) {
		schema, err := newSchema(name, named[name])
		if err != nil {
			r.schemaFault(err, "schemas", name)
		}
		r.schemas[name] = schema
	}

	resources := r.properties(top["resources"], "resources")
	aliases := r.properties(resources["kv"], "resources", "kv")
	if len(aliases) > MaxAliases {
		r.add([]string{"resources", "kv"}, "a contract has at most %d aliases, and this has %d", MaxAliases, len(aliases))
	}
	for _, name := range slices.Sorted(maps.Keys(aliases)) {
		r.contract.Aliases = append(r.contract.Aliases, r.alias(name, aliases[name]))
	}
}

// schemaFault adds what is wrong with a schema, at the place in it where that is known.
func (r *reader) schemaFault(err error, path ...string) {
	var fault *jsonschema.Fault
	if errors.As(err, &fault) {
		r.add(append(path, fault.Path...), "%s", fault.Reason)
		return
	}
	r.add(path, "%s", err)
}

// fields are those of an entry of resources.kv.
var fields = []string{"purpose", "schema", "required", "history", "ttlMs", "maxValueBytes"}

func (r *reader) alias(name string, entry json.RawMessage) *Alias {
	at := func(field ...string) []string { return append([]string{"resources", "kv", name}, field...) }
	a := &Alias{Name: name, Required: true, History: 1}
	r.name(document.FromText(name), "an alias", at()...)
	have := r.properties(entry, at()...)
	for _, field := range slices.Sorted(maps.Keys(have)) {
		if !slices.Contains(fields, field) {
			r.add(at(field), "there is no such field: an alias has %s", strings.Join(fields, ", "))
		}
	}
	a.Purpose = r.purpose(have["purpose"], at("purpose"))
	a.Schema = r.reference(have["schema"], at("schema"))
	if value, ok := have["required"]; ok {
		if document.Kind(value) != 't' && document.Kind(value) != 'f' {
			r.add(at("required"), "it is true or false, and is %s", kindOf(value))
		}
		a.Required = document.Kind(value) == 't'
	}
	if value, ok := have["history"]; ok {
		a.History = int(r.whole(value, 1, MaxHistory, "revisions of a key that are kept", at("history")))
	}
	if value, ok := have["ttlMs"]; ok {
		a.TTLMs = r.whole(value, 0, MaxTTL, "milliseconds, where 0 is for ever", at("ttlMs"))
	}
	if value, ok := have["maxValueBytes"]; ok {
		a.MaxValueBytes = r.whole(value, 1, MaxValue, "bytes; without the field a value has that many at most", at("maxValueBytes"))
	}
	return a
}

// wellNamed is what names of services and aliases are.
var wellNamed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(fmt.Sprintf(`^[A-Za-z][A-Za-z0-9_-]{0,%d}$`, MaxName-1))
})

func (r *reader) name(value json.RawMessage, of string, path ...string) string {
	text, _ := document.Text(value)
	if !wellNamed().MatchString(text) {
		r.add(path, "the name of %s is a string of 1 to %d letters, digits, _ and -, of which the first is a letter", of, MaxName)
	}
	return text
}

func (r *reader) purpose(value json.RawMessage, path []string) string {
	text, _ := document.Text(value)
	if strings.TrimSpace(text) == "" || len(text) > MaxPurpose {
		r.add(path, "say in a string of 1 to %d bytes what the bucket is for", MaxPurpose)
	}
	return text
}

// reference returns the schema that an alias refers to.
func (r *reader) reference(value json.RawMessage, path []string) *Schema {
	name, ok := document.Text(document.Field(value, document.Path{"schema"}))
	if names := slices.Collect(document.Names(value)); !ok || len(names) != 1 {
		r.add(path, `it is required, and names one of "schemas", as {"schema":"AuditEntry"}`)
		return nil
	}
	schema, ok := r.schemas[name]
	if !ok {
		r.add(append(path, "schema"), "there is no %q among the schemas of the contract", name)
	}
	return schema
}

// whole returns a whole number within bounds.
func (r *reader) whole(value json.RawMessage, least, most int64, of string, path []string) int64 {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n < least || n > most {
		r.add(path, "it is to be a whole number from %d to %d: %s", least, most, of)
	}
	return n
}

// kindOf names the kind of a value, for people.
func kindOf(value json.RawMessage) string {
	switch document.Kind(value) {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	case '0':
		return "a number"
	}
	return "nothing"
}
