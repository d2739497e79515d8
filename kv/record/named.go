package record

import (
	"encoding/json"
	"slices"

	"github.com/stoadb/stoa/kv/document"
)

// Named returns what the declaration of c comes to under another name, which stands in
// its keys too where they begin with that of c. What is made of the rest, the compiled
// schema above all, they have in common. What is set beside a declaration, as Prepare,
// the other has none of yet. It returns ErrInvalidArgument for what is no name.
func (c *Collection) Named(name string) (*Collection, error) {
	if !collectionName().MatchString(name) {
		return nil, c.told(noName())
	}
	n := *c
	n.Name, n.Keys, n.Prepare, n.Check, n.Placer, n.Loaded = name, nil, nil, nil, nil, nil
	n.declared = document.With(c.declared, document.Path{"name"}, document.FromText(name))
	patterns := make([]json.RawMessage, 0, len(c.Keys))
	for _, k := range c.Keys {
		other := *k
		if k.words[0] == c.Name {
			other.Pattern = name + k.Pattern[len(c.Name):]
			other.words = slices.Concat([]string{name}, k.words[1:])
		}
		n.Keys = append(n.Keys, &other)
		patterns = append(patterns, document.FromText(other.Pattern))
	}
	n.declared, _ = document.Each(n.declared, document.Path{"keys", "*", "pattern"}, func(json.RawMessage) (pattern json.RawMessage, _ error) {
		pattern, patterns = patterns[0], patterns[1:]
		return pattern, nil
	}) // the function has no error
	return &n, nil
}
