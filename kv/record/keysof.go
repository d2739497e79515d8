package record

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/stoadb/stoa/kv/document"
)

// KeysOf returns the literal keys that a document in canonical form stands under: those
// of it as a record, in the order of the declaration, and those of the indexes that list
// it at a time.
func (c *Collection) KeysOf(doc json.RawMessage, at time.Time) (records, indexes []string) {
	for _, k := range c.Keys {
		switch {
		case k.Counter:
		case k.Index == "":
			records = append(records, k.of(k.valuesOf(doc)))
		case c.inForce(doc, at):
			for _, values := range c.index(k.Index).values(doc, len(k.values)) {
				indexes = append(indexes, k.of(values))
			}
		}
	}
	return records, indexes
}

// of is the key with some values for the names in braces.
func (k *Key) of(values []string) string {
	return strings.Join(append(append([]string{}, k.words...), values...), ":")
}

// index is the index of a name that the collection has.
func (c *Collection) index(name string) *Index {
	for _, i := range c.Indexes {
		if i.Name == name {
			return i
		}
	}
	return nil
}

// values are the texts that a document has in the first n fields of the index: none if
// it is not in the index, several if the last of them is an array.
func (i *Index) values(doc json.RawMessage, n int) (list [][]string) {
	if len(i.terms(doc)) == 0 {
		return nil
	}
	list = [][]string{nil}
	for f, p := range i.paths[:n] {
		value := document.Field(doc, p)
		if i.Each && f == len(i.paths)-1 {
			var each [][]string
			for element := range document.Elements(value) {
				each = append(each, append(append([]string{}, list[0]...), i.shown(element, f)))
			}
			return each
		}
		list[0] = append(list[0], i.shown(value, f))
	}
	return list
}

// shown is the text of a value of the n-th field, as literal keys have it.
func (i *Index) shown(value json.RawMessage, n int) string {
	s, ok := document.Text(value)
	if !ok {
		return string(value)
	}
	if i.as(n) == asDay && len(s) > len(time.DateOnly) {
		return s[:len(time.DateOnly)]
	}
	return s
}
