package governance

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
)

// names are what to call members, contexts and groups, by their ids in hex.
type names map[string]known

// known is what has a name.
type known struct {
	name  string
	shown string // to people: with what tells it apart from others of that name
}

// namesOf returns the names by which a group speaks; none where it is not here any more.
func (c *call) namesOf(g codec.GroupID) (names, error) {
	var list []namespace.Name
	bearers := map[namespace.Name]int{} // of a name, whatever has it
	for n, err := range c.read.Names(c.Ctx, g) {
		if errors.Is(err, namespace.ErrNoGroup) {
			return names{}, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, n)
		bearers[namespace.Name{Of: n.Of, Name: n.Name}]++
	}
	named := names{}
	for _, n := range list {
		id, shown := hex.EncodeToString(n.ID[:]), cli.Plain(string(n.Name))
		if strings.ContainsAny(shown, "()") && shown == string(n.Name) {
			shown = strconv.Quote(shown) // so that no name looks like what follows one
		}
		if n.Former {
			shown += " (removed)"
		}
		if bearers[namespace.Name{Of: n.Of, Name: n.Name}] > 1 { // as in groups beside each other
			shown += " (" + id[:cli.ShortDigits] + ")"
		}
		named[id] = known{string(n.Name), shown}
	}
	return named, nil
}

// of returns the name of an id, or the id.
func (n names) of(id string) string {
	if known, ok := n[id]; ok {
		return known.shown
	}
	return id
}
