package record

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
)

// Key is a pattern of literal keys: names with colons between them, by which people read
// a record, an index or a counter, as policy:{scope}:{policy_id}. A name in braces
// stands for a value; only what follows all other names is in braces, one or two of
// them, the last of which has no colon if there are two.
//
// What a key names is computed when it is asked for, and stored nowhere.
type Key struct {
	Pattern string `json:"pattern"`
	// Index is the index whose records the key stands for: their ids. Values in braces are
	// those of its fields. "" : the key stands for the record whose id comes last; another
	// value in braces is that of the field of its name.
	Index   string `json:"index"`
	Counter bool   `json:"counter"` // the key stands for how many ids the day in braces, as 2025-11-30, has been given

	words  []string // the names before those in braces
	values []string // those in braces
}

func (c *Collection) compileKeys() *Error {
	for at, k := range c.Keys {
		field := "keys." + strconv.Itoa(at)
		if k == nil {
			return invalid(field, "a key is an object")
		}
		for part := range strings.SplitSeq(k.Pattern, ":") {
			name, braced := strings.CutPrefix(part, "{")
			name, ends := strings.CutSuffix(name, "}")
			switch {
			case name == "" || braced != ends || strings.ContainsAny(name, "{}") || !braced && len(k.values) > 0:
				return invalid(field, "a pattern is names with colons between them, of which the last may be in braces")
			case braced:
				k.values = append(k.values, name)
			default:
				k.words = append(k.words, name)
			}
		}
		if err := c.compileKey(k); err != nil {
			err.Field = field
			return err
		}
	}
	return nil
}

func (c *Collection) compileKey(k *Key) *Error {
	at := slices.IndexFunc(c.Indexes, func(i *Index) bool { return i.Name == k.Index })
	switch {
	case len(k.words) == 0 || len(k.values) > 2:
		return invalid("", "a pattern begins with a name, and has at most two in braces")
	case k.Index != "" && k.Counter:
		return invalid("", "a key stands for an index or for a counter")
	case k.Index != "" && at < 0:
		return invalid("", "there is no index %s", k.Index)
	case k.Index != "" && len(k.values) > len(c.Indexes[at].Fields):
		return invalid("", "the index %s has %d fields", k.Index, len(c.Indexes[at].Fields))
	case k.Counter && (c.ID.Kind != idDaily || len(k.values) != 1):
		return invalid("", "a counter is of a collection with daily ids, and names the day in braces")
	case k.Index == "" && !k.Counter && (len(k.values) == 0 || k.values[len(k.values)-1] != c.ID.Field):
		return invalid("", "the key of a record ends with {%s}", c.ID.Field)
	}
	return nil
}

// match returns what the names in braces stand for in a key.
func (k *Key) match(key string) (values []string, ok bool) {
	prefix := strings.Join(k.words, ":")
	if len(k.values) == 0 {
		return nil, key == prefix
	}
	rest, ok := strings.CutPrefix(key, prefix+":")
	if !ok || rest == "" {
		return nil, false
	}
	if len(k.values) == 1 {
		return []string{rest}, true
	}
	colon := strings.LastIndexByte(rest, ':')
	if colon < 1 || colon == len(rest)-1 {
		return nil, false
	}
	return []string{rest[:colon], rest[colon+1:]}, true
}

// named is what a key may stand for.
type named struct {
	c      *Collection
	key    *Key
	values []string
}

// Lookup returns what a literal key stands for: the document of a record, the ids of the
// records of an index that are in force, in order, or the number of a counter. It
// returns ErrInvalidKey for a key of no pattern, ErrNotFound where there is no such
// record, ErrTooLarge for more than MaxIDs ids.
func (s *Store) Lookup(ctx context.Context, tenant, key string) (json.RawMessage, error) {
	var candidates []named
	for _, name := range s.names {
		for _, k := range s.collections[name].Keys {
			if values, ok := k.match(key); ok {
				candidates = append(candidates, named{s.collections[name], k, values})
			}
		}
	}
	if len(candidates) == 0 {
		return nil, refuse(CodeInvalidKey, "key", "no literal key looks like this; they are %s", strings.Join(s.patterns(), ", "))
	}
	// A pattern that says more of the key is meant rather than one that says less.
	slices.SortStableFunc(candidates, func(a, b named) int { return len(b.key.words) - len(a.key.words) })
	for _, n := range candidates {
		found, err := s.named(ctx, tenant, n)
		if !errors.Is(err, ErrNotFound) {
			return found, n.c.told(err)
		}
	}
	return nil, refuse(CodeNotFound, "key", "there is nothing under this key")
}

// patterns are those of the collections, but for archives and versions of others.
func (s *Store) patterns() (list []string) {
	for _, name := range s.roots() {
		for _, k := range s.collections[name].Keys {
			list = append(list, k.Pattern)
		}
	}
	return list
}

func (s *Store) named(ctx context.Context, tenant string, n named) (json.RawMessage, error) {
	switch {
	case n.key.Index != "":
		return s.ids(ctx, tenant, n.c.Name, Equal(n.key.Index, n.values...))
	case n.key.Counter:
		return s.counter(ctx, tenant, n.c, n.values[0])
	}
	id := n.values[len(n.values)-1]
	d, err := s.Get(ctx, tenant, n.c.Name, id)
	if err != nil {
		return nil, err
	}
	for i, field := range n.key.values[:len(n.values)-1] {
		if text, _ := document.Text(document.Field(d.JSON, document.ParsePath(field))); text != n.values[i] {
			return nil, noRecord(id)
		}
	}
	return d.JSON, nil
}

// ids are those of the records that a filter finds, as a JSON array.
func (s *Store) ids(ctx context.Context, tenant, collection string, by Filter) (json.RawMessage, error) {
	out, n := []byte{'['}, 0
	for q := (Query{Filters: []Filter{by}, Limit: 1000}); ; {
		page, err := s.List(ctx, tenant, collection, q)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Docs {
			if n++; n > MaxIDs {
				return nil, &Error{Code: CodeTooLarge, Field: "key", Limit: MaxIDs, Have: uint64(n), Reason: "the key stands for too many records: list them by pages, with the index " + by.Index}
			}
			if n > 1 {
				out = append(out, ',')
			}
			out = append(out, document.FromText(d.ID)...)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return append(out, ']'), nil
		}
	}
}

func (s *Store) counter(ctx context.Context, tenant string, c *Collection, day string) (json.RawMessage, error) {
	at, err := time.Parse("2006-01-02", day)
	if err != nil {
		return nil, refuse(CodeInvalidKey, "key", "a counter is of a day: name it as 2025-11-30")
	}
	_, space, err := s.look(tenant, c.Name)
	if err != nil || space == nil {
		return json.RawMessage("0"), err
	}
	n, err := c.given(ctx, space, at)
	return strconv.AppendUint(nil, n, 10), err
}

// given is how many ids a day has been given.
func (c *Collection) given(ctx context.Context, space *kv.Space, day time.Time) (n uint64, err error) {
	if c.Placer == nil {
		return c.counted(space, day.Format(dayLayout))
	}
	first := []byte(c.ID.ofDay(day))
	last, _, err := space.ByIndex(ctx, 0, kv.IndexOptions{From: first, To: engine.Successor(first), Reverse: true, Limit: 1})
	if err == nil && len(last) > 0 {
		_, n = c.ID.number(c.ID.of(last[0].Key))
	}
	return n, err
}
