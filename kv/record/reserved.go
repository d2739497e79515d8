package record

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/stoadb/stoa/kv/document"
)

// reserved refuses a document with a word where a literal key says something else by
// it.
func (c *Collection) reserved(doc json.RawMessage) error {
	for field, words := range c.Reserved {
		text, _ := document.Text(document.Field(doc, document.ParsePath(field)))
		word, _, _ := strings.Cut(text, ":")
		if slices.Contains(words, word) {
			return refuse(CodeReserved, field, "%s is a word of the keys of %s, and no name: choose another", word, c.Name)
		}
	}
	return nil
}
