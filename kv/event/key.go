package event

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/stoadb/stoa/kv"
)

// keyPrefix is what all literal keys of streams begin with.
const keyPrefix = "ade:events:"

// consumersKey is what those of their groups end with.
const consumersKey = ":consumers"

// Lookup returns what a literal key stands for; see [Lookup].
func (s *Store) Lookup(ctx context.Context, tenant, key string) (json.RawMessage, error) {
	f, err := s.Find(tenant)
	if err != nil {
		return nil, err
	}
	view, err := f.view()
	if err != nil {
		return nil, told(err)
	}
	if view != nil {
		defer func() { _ = view.Close() }()
	}
	return Lookup(ctx, view, key)
}

// Lookup returns what a literal key stands for in a state of the space of a tenant's
// streams, which is nil if it has none: the entries of ade:events:STREAM, oldest first, or the
// groups of ade:events:STREAM:consumers, each as an object. Braces in a key are left out. It
// returns ErrInvalidArgument for a key of no pattern.
func Lookup(ctx context.Context, view *kv.View, key string) (json.RawMessage, error) {
	plain := kv.Untagged(key)
	rest, ok := strings.CutPrefix(plain, keyPrefix)
	stream, groups := strings.CutSuffix(rest, consumersKey)
	if !ok || checkStream(stream) != nil {
		return nil, invalid("key", "no literal key of streams looks like this; they are %sSTREAM and %sSTREAM%s, of the streams %s", keyPrefix, keyPrefix, consumersKey, strings.Join(Streams(), ", "))
	}
	if groups {
		return shownGroups(ctx, view, stream)
	}
	entries := []Entry{}
	for after := uint64(0); view != nil; {
		list, err := view.Entries(ctx, stream, after, kv.MaxPage)
		if err != nil {
			return nil, told(err)
		}
		if len(list) == 0 {
			break
		}
		some, err := entriesOf(list)
		if err != nil {
			return nil, err
		}
		entries, after = append(entries, some...), list[len(list)-1].Number
	}
	return json.Marshal(entries)
}

func shownGroups(ctx context.Context, view *kv.View, stream string) (json.RawMessage, error) {
	groups, err := groupsOf(ctx, view, stream)
	if err != nil {
		return nil, err
	}
	type shown struct {
		Name    string `json:"name"`
		Last    ID     `json:"last_delivered_id"`
		Pending uint64 `json:"pending"`
		Lag     uint64 `json:"lag"`
	}
	list := []shown{}
	for _, g := range groups {
		list = append(list, shown{g.Name, g.Last, g.Pending, g.Lag})
	}
	return json.Marshal(list)
}
