package record

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stoadb/stoa/kv/document"
)

// quick is a schema of plain keywords, which is asked of canonical JSON as it stands. It
// finds most documents valid that are, and none that is not; what it does not find valid
// the schema itself is asked about, which knows the field and the reason.
type quick struct {
	types      string // first bytes of the kinds that a value may be of, as document.Kind says them; "": any
	integer    bool   // a number is an integer
	among      [][]byte
	least      float64
	most       float64
	characters [2]int   // of a string: at least, at most
	text       *matcher // nil: any
	instant    bool
	elements   [2]int
	items      *quick // nil: any
	properties map[string]property
	required   int // of properties
}

// property is what is said of one.
type property struct {
	quick    *quick // nil: nothing
	required bool
}

// kindsOf are the first bytes of the kinds that a type names.
var kindsOf = map[string]string{"object": "{", "array": "[", "string": `"`, "number": "0", "integer": "0", "boolean": "tf", "null": "n"}

// newQuick returns nil for a schema with a keyword that it does not know.
func newQuick(schema any) *quick {
	node, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	q := &quick{least: math.Inf(-1), most: math.Inf(1), characters: [2]int{0, math.MaxInt}, elements: [2]int{0, math.MaxInt}}
	for word, value := range node {
		if ok = q.take(word, value); !ok {
			return nil
		}
	}
	return q
}

// take takes one keyword of the schema; false if it does not know it.
func (q *quick) take(word string, value any) (ok bool) {
	switch word {
	case "$schema", "$defs", "title", "description", "default", "examples", "writeOnly":
		return true
	case "type":
		list, many := value.([]any)
		if !many {
			list = []any{value}
		}
		for _, one := range list {
			name, _ := one.(string)
			q.types += kindsOf[name]
			q.integer = q.integer || name == "integer"
			if kindsOf[name] == "" || q.integer && name == "number" {
				return false
			}
		}
		return len(list) > 0
	case "enum":
		list, _ := value.([]any)
		for _, one := range list {
			if !q.allow(one) {
				return false
			}
		}
		return len(list) > 0
	case "const":
		return q.allow(value)
	case "minimum":
		q.least, ok = bound(value)
	case "maximum":
		q.most, ok = bound(value)
	case "minLength":
		q.characters[0], ok = count(value)
	case "maxLength":
		q.characters[1], ok = count(value)
	case "minItems":
		q.elements[0], ok = count(value)
	case "maxItems":
		q.elements[1], ok = count(value)
	case "pattern":
		text, _ := value.(string)
		m, err := newMatcher(text)
		q.text, ok = m, err == nil
	case "format":
		q.instant, ok = true, value == "date-time"
	case "items":
		q.items = newQuick(value)
		return q.items != nil
	case "properties":
		return q.takeProperties(value)
	case "required":
		list, _ := value.([]any)
		for _, one := range list {
			name, ok := one.(string)
			if !ok {
				return false
			}
			p := q.properties[name]
			p.required = true
			q.say(name, p)
		}
		return true
	}
	return ok
}

// say says something of a property.
func (q *quick) say(name string, p property) {
	if q.properties == nil {
		q.properties = map[string]property{}
	}
	if p.required && !q.properties[name].required {
		q.required++
	}
	q.properties[name] = p
}

func (q *quick) takeProperties(value any) bool {
	all, _ := value.(map[string]any)
	for name, inner := range all {
		p := q.properties[name]
		if p.quick = newQuick(inner); p.quick == nil {
			return false
		}
		q.say(name, p)
	}
	return true
}

// allow adds one of the values that there may be.
func (q *quick) allow(value any) bool {
	text, err := json.Marshal(value)
	if err == nil {
		text, err = document.Canonical(text)
	}
	q.among = append(q.among, text)
	return err == nil
}

// bound is a number that a double is compared with exactly.
func bound(value any) (float64, bool) {
	n, _ := value.(json.Number)
	f, err := n.Float64()
	return f, err == nil && f == math.Trunc(f) && math.Abs(f) <= document.MaxSafe
}

func count(value any) (int, bool) {
	n, _ := value.(json.Number)
	i, err := strconv.Atoi(n.String())
	return i, err == nil
}

// valid reports whether a canonical value holds to the schema for sure.
func (q *quick) valid(value json.RawMessage) bool {
	kind := document.Kind(value)
	if q.types != "" && strings.IndexByte(q.types, kind) < 0 {
		return false
	}
	if q.among != nil && !q.allowed(value) {
		return false
	}
	switch kind {
	case '"':
		return q.validText(value)
	case '0':
		return q.validNumber(value)
	case '[':
		n := 0
		for element := range document.Elements(value) {
			if n++; q.items != nil && !q.items.valid(element) {
				return false
			}
		}
		return q.elements[0] <= n && n <= q.elements[1]
	case '{':
		return q.validObject(value)
	}
	return true
}

func (q *quick) allowed(value json.RawMessage) bool {
	for _, one := range q.among {
		if bytes.Equal(one, value) {
			return true
		}
	}
	return false
}

func (q *quick) validText(value json.RawMessage) bool {
	if bytes.IndexByte(value, '\\') >= 0 {
		return false
	}
	if n := utf8.RuneCount(value) - 2; n < q.characters[0] || n > q.characters[1] {
		return false
	}
	if q.instant {
		text, _ := document.Text(value)
		if _, err := document.ParseInstant(text); err != nil || text[len(text)-1] != 'Z' {
			return false
		}
	}
	return q.text == nil || q.text.matchesBytes(value[1:len(value)-1])
}

func (q *quick) validNumber(value json.RawMessage) bool {
	if q.integer && bytes.ContainsAny(value, ".e") {
		return false
	}
	if math.IsInf(q.least, 0) && math.IsInf(q.most, 0) {
		return true
	}
	f, err := strconv.ParseFloat(string(value), 64)
	return err == nil && q.least <= f && f <= q.most
}

func (q *quick) validObject(value json.RawMessage) bool {
	if q.properties == nil {
		return true
	}
	there := 0
	for name, inner := range document.Properties(value) {
		if bytes.IndexByte(name, '\\') >= 0 {
			return false
		}
		p := q.properties[string(name[1:len(name)-1])]
		if p.quick != nil && !p.quick.valid(inner) {
			return false
		}
		if p.required {
			there++
		}
	}
	return there == q.required
}
