package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stoadb/stoa/kv/document"
)

// A field that the schema says "writeOnly": true of is a secret: who may read the record
// over the socket reads it, and what prints rows of a store, or dumps them, does not show
// it unless it is told to.

// otherRef is a reference that is not one to $defs.
var otherRef = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"\$(dynamicRef|recursiveRef)":|"\$ref":"(?:[^#]|#[^/]|#"|#/[^$]|#/\$defs/[^"]*/)`)
})

// withheldFields are the paths of what a schema says is only written.
func withheldFields(root map[string]any, text json.RawMessage) ([]document.Path, error) {
	all := strings.Count(string(text), `"writeOnly":true`)
	if all == 0 {
		return nil, nil
	}
	w := walkFields(root, func(node map[string]any) bool { return node["writeOnly"] == true })
	if len(w.found) < all || w.endless() || otherRef().Match(text) || w.overlooked(text) {
		return nil, errors.New("writeOnly stands where not all of its values are found: its field is declared by properties, items and $ref to $defs, not below anyOf and its like, nor in what refers to itself")
	}
	for _, p := range w.paths {
		switch {
		case len(p) == 0 || p[len(p)-1] == "*":
			return nil, errors.New("writeOnly is said of a field of an object, not of an element or of all of a document")
		case slices.Contains(w.required[p[:len(p)-1].String()], p[len(p)-1]):
			return nil, fmt.Errorf("the field %s is writeOnly, and is not there in what is exported without secrets: so it is not required", p)
		}
	}
	slices.SortFunc(w.paths, slices.Compare)
	return slices.CompactFunc(w.paths, slices.Equal), nil
}

// overlooked reports whether what was found is also referred to from where the walk has
// not been.
func (w *fieldWalk) overlooked(text json.RawMessage) bool {
	defs, _ := w.root["$defs"].(map[string]any)
	for name, def := range defs {
		place := fmt.Sprintf("%p", def)
		for _, within := range w.found {
			ref := `"$ref":` + string(document.FromText("#/$defs/"+name))
			if slices.Contains(within, place) && strings.Count(string(text), ref) != len(w.refs[name]) {
				return true
			}
		}
	}
	return false
}

// compileWithheld refuses what would show, elsewhere than in its field, what is only
// written, or would not work without it.
func (c *Collection) compileWithheld() *Error {
	if len(c.schema.withheld) == 0 {
		return nil
	}
	if c.AppendOnly {
		return invalid("append_only", "what is writeOnly could not be set again, once a store was exported without it")
	}
	used := []string{c.ID.Field, c.Stamps.Created, c.Stamps.Updated}
	var when []*When
	if s := c.States; s != nil {
		used = append(used, s.Field)
		for _, in := range s.In {
			used = append(append(append(used, in.Requires...), in.Clears...), in.Stamp)
		}
	}
	for _, i := range c.Indexes {
		used = append(used, i.Fields...)
		when = append(when, &i.When)
	}
	for _, k := range c.Keys {
		if k.Index == "" {
			used = append(used, k.values...)
		}
	}
	if v := c.Valid; v != nil {
		used = append(used, v.From, v.Until)
		when = append(when, &v.When)
	}
	if a := c.Archive; a != nil {
		used = append(used, a.Since)
		when = append(when, &a.When)
	}
	for field := range c.Reserved {
		used = append(used, field)
	}
	for _, w := range when {
		for _, f := range w.fields {
			used = append(used, f.path.String())
		}
	}
	for _, field := range used {
		p := document.ParsePath(field)
		for _, secret := range c.schema.withheld {
			if n := min(len(p), len(secret)); slices.Equal(p[:n], secret[:n]) {
				return invalid("schema", "the field %s is writeOnly: it is not in an index, a key, a state or a time", secret)
			}
		}
	}
	return nil
}

// Withheld are the fields that the schema says are writeOnly, with dots between the
// names; * stands for each element of an array.
func (c *Collection) Withheld() (fields []string) {
	for _, p := range c.schema.withheld {
		fields = append(fields, p.String())
	}
	return fields
}

// Redacted is a document as it is shown to people: in the place of each value that is
// writeOnly stands which bytes it has, by their number and the first of their SHA-256, so
// that two that differ are seen to. Of a document that is not in canonical form, as
// damage leaves one, nobody knows where they are: that stands in the place of all of it.
func (c *Collection) Redacted(doc json.RawMessage) json.RawMessage {
	if len(c.schema.withheld) == 0 {
		return doc
	}
	if canonical, err := document.Canonical(doc); err != nil || !bytes.Equal(canonical, doc) {
		return redacted(doc)
	}
	for _, p := range c.schema.withheld {
		doc, _ = document.Each(doc, p, func(value json.RawMessage) (json.RawMessage, error) { return redacted(value), nil }) // the function has no error
	}
	return doc
}

func redacted(value json.RawMessage) json.RawMessage {
	sum := sha256.Sum256(value)
	return document.FromText(fmt.Sprintf("redacted:%x (%d bytes)", sum[:4], len(value)))
}

// Without is a document in canonical form without what is writeOnly, as it is exported
// where secrets are not asked for.
func (c *Collection) Without(doc json.RawMessage) json.RawMessage {
	for _, p := range c.schema.withheld {
		last := len(p) - 1
		remove := document.With(nil, p[last:], null)
		doc, _ = document.Each(doc, p[:last], func(object json.RawMessage) (json.RawMessage, error) {
			if document.Field(object, p[last:]) == nil {
				return object, nil
			}
			return document.Merge(object, remove), nil
		}) // the function has no error
	}
	return doc
}
