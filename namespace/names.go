package namespace

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Named is what has a name. The zero Named is nothing. The numbers go over the wire.
type Named uint8

// What has names.
const (
	NamedGroup Named = 1 + iota
	NamedMember
	NamedContext
)

// Name is a name that something has.
type Name struct {
	Of     Named
	ID     [32]byte
	Name   codec.AliasName
	In     codec.GroupID // where it has the name; of a group: the group itself
	Former bool          // of a member who is none of that group any more
}

// compare orders names by what has them and by id.
func (n *Name) compare(o *Name) int {
	return cmp.Or(cmp.Compare(n.Of, o.Of), bytes.Compare(n.ID[:], o.ID[:]))
}

// Names returns the names by which a group speaks of groups, members and contexts of
// its namespace: those that the group gives itself, else those of the nearest group
// above it, else those of any other. Who was removed keeps the name, in what was. They
// are in the order of what has them and of ids, each once, from the one that follows
// after; a limit of 0 is none. It returns [ErrNoGroup].
func (s *Store) Names(g codec.GroupID, after Name, limit int) (list []Name, err error) {
	ns, err := s.home(g)
	if err != nil {
		return nil, err
	}
	known := map[named]Name{}
	err = s.reading(func(r engine.Reader) error {
		line, err := lineage(r, g, ns)
		if err != nil {
			return err
		}
		return namesIn(r, ns, line, known)
	})
	for _, n := range known {
		if n.compare(&after) > 0 {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b Name) int { return a.compare(&b) })
	if limit > 0 && len(list) > limit {
		list = list[:limit]
	}
	return list, err
}

// named is what may have a name.
type named struct {
	of Named
	id [32]byte
}

// learn keeps a name for what has none yet.
func learn(known map[named]Name, n Name) {
	what := named{n.Of, n.ID}
	if _, has := known[what]; !has {
		known[what] = n
	}
}

// lineage returns a group and those above it up to its namespace, the nearest first.
func lineage(r engine.Getter, g, ns codec.GroupID) (line []codec.GroupID, err error) {
	for at := g; at != ns && len(line) < maxClimb; {
		line = append(line, at)
		parent, ok, err := optional(r, keys.GroupParentRef{Child: at})
		if err != nil {
			return nil, err
		}
		if at = parent.ParentID; !ok {
			break // it was deleted
		}
	}
	return append(line, ns), nil
}

// namesIn learns the names in the groups of line, and then those in all others of the
// namespace.
func namesIn(r engine.Reader, ns codec.GroupID, line []codec.GroupID, known map[named]Name) error {
	for _, g := range line {
		if err := namesOf(r, g, known); err != nil {
			return err
		}
	}
	seen := map[codec.GroupID]bool{ns: true}
	for left := []codec.GroupID{ns}; len(left) > 0; left = left[1:] {
		if err := namesOf(r, left[0], known); err != nil {
			return err
		}
		below, err := children(r, left[0])
		if err != nil {
			return err
		}
		for _, g := range below {
			if !seen[g] {
				seen[g] = true
				left = append(left, g)
			}
		}
	}
	return nil
}

// namesOf learns the names in one group.
func namesOf(r engine.Reader, g codec.GroupID, known map[named]Name) error {
	name, has, err := optional(r, keys.GroupAlias{Group: g})
	if err != nil {
		return err
	}
	if has {
		learn(known, Name{Of: NamedGroup, ID: g, Name: name, In: g})
	}
	for e, err := range engine.Scan(r, keys.MemberAliasesOf(g)) {
		if err != nil {
			return err
		}
		is, err := engine.Has(r, keys.GroupMember{Group: g, Identity: e.Key.Identity})
		if err != nil {
			return err
		}
		learn(known, Name{Of: NamedMember, ID: e.Key.Identity, Name: e.Value, In: g, Former: !is})
	}
	for e, err := range engine.Scan(r, keys.ContextAliasesOf(g)) {
		if err != nil {
			return err
		}
		learn(known, Name{Of: NamedContext, ID: e.Key.Context, Name: e.Value, In: g})
	}
	return nil
}
