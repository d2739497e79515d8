package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
)

// Names are what to call members, contexts and groups, by their ids in hex.
type Names map[string]Named

// Named is what has a name.
type Named struct {
	Name  string
	shown string // to people: with what tells it apart from others of that name
}

// NamesIn returns the names by which a group speaks; none where it is not here any more.
func NamesIn(ctx context.Context, groups *rpc.Groups, g codec.GroupID) (Names, error) {
	var list []namespace.Name
	bearers := map[namespace.Name]int{} // of a name, whatever has it
	for n, err := range groups.Names(ctx, g) {
		if errors.Is(err, namespace.ErrNoGroup) {
			return Names{}, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, n)
		bearers[namespace.Name{Of: n.Of, Name: n.Name}]++
	}
	named := Names{}
	for _, n := range list {
		id, shown := hex.EncodeToString(n.ID[:]), Plain(string(n.Name))
		if strings.ContainsAny(shown, "()") && shown == string(n.Name) {
			shown = strconv.Quote(shown) // so that no name looks like what follows one
		}
		if n.Former {
			shown += " (removed)"
		}
		if bearers[namespace.Name{Of: n.Of, Name: n.Name}] > 1 { // as in groups beside each other
			shown += " (" + id[:ShortDigits] + ")"
		}
		named[id] = Named{string(n.Name), shown}
	}
	return named, nil
}

// Of returns for people the name of an id, or the id.
func (n Names) Of(id string) string {
	if known, ok := n[id]; ok {
		return known.shown
	}
	return id
}

// Called is [Callable] for what has a name.
func (n Names) Called(id string) string { return Callable(n[id].Name, id) }

// word matches a name that means itself in a shell.
var word = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// Callable returns how a line that is to be pasted calls what has that id: by its name,
// which others may have chosen, where a shell takes it for a word, else by its first
// digits.
func Callable(name, id string) string {
	if word.MatchString(name) {
		return name
	}
	return id[:ShortDigits]
}
