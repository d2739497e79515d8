package record

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/stoadb/stoa/kv/document"
)

// reservedWords are those that a field must not have.
type reservedWords struct {
	path  document.Path
	words []string
}

func (c *Collection) compileReserved() {
	for field, words := range c.Reserved {
		c.words = append(c.words, reservedWords{document.ParsePath(field), words})
	}
	slices.SortFunc(c.words, func(a, b reservedWords) int { return slices.Compare(a.path, b.path) })
}

// reserved refuses a document with a word where a literal key says something else by
// it.
func (c *Collection) reserved(doc json.RawMessage) error {
	for _, r := range c.words {
		text, _ := document.Text(document.Field(doc, r.path))
		word, _, _ := strings.Cut(text, ":")
		if slices.Contains(r.words, word) {
			return refuse(CodeReserved, r.path.String(), "%s is a word of the keys of %s, and no name: choose another", word, c.Name)
		}
	}
	return nil
}
