package group

import "github.com/stoadb/stoa/codec"

// place names a row by what it is about. Fields that its kind has not are zero; so may
// others be, for ids are what signers please.
type place struct {
	kind    placeKind
	group   codec.GroupID
	context codec.ContextID
	who     codec.Identity // or, of a child, the group: both are 32 bytes
}

// placeKind says which row of its group, context or member a place is.
type placeKind uint8

const (
	placeMeta placeKind = iota
	placeMember
	placeUpgrade
	placeDefaults
	placeName
	placeMemberName
	placeParent
	placeChild
	placeContext
	placeHome
	placeMigration
	placeContextName
	placeJoined
	placeMask
	placeConfig
	placeNonce
	placeHeads
	placeNamespaceHeads
)

// inGroup reports whether the keys of such rows begin with their group, which takes them
// along when it goes.
func (k placeKind) inGroup() bool {
	switch k {
	case placeParent, placeChild, placeHome, placeConfig, placeNonce, placeHeads, placeNamespaceHeads:
		return false
	default:
		return true
	}
}

// journal is what has been done to a tree lately, so that it can be undone, and which
// rows that touches. A tree without one is only ever added to.
type journal struct {
	undo    []func()
	touched map[place]struct{}
	members func(codec.GroupID) []codec.Identity // who has ever been given something in a group
}

func (t *tree) touch(at ...place) {
	if t.journal != nil {
		for _, p := range at {
			t.journal.touched[p] = struct{}{}
		}
	}
}

// undone notes how to undo a change of rows.
func (t *tree) undone(undo func(), at ...place) {
	if t.journal != nil {
		t.touch(at...)
		t.journal.undo = append(t.journal.undo, func() { undo(); t.touch(at...) })
	}
}

// change sets *p.
func change[T any](t *tree, p *T, v T, at ...place) {
	old := *p
	*p = v
	t.undone(func() { *p = old }, at...)
}

// set stores v in m.
func set[K comparable, V any](t *tree, m map[K]V, k K, v V, at ...place) {
	old, had := m[k]
	m[k] = v
	t.undone(func() { restore(m, k, old, had) }, at...)
}

// unset removes k from m.
func unset[K comparable, V any](t *tree, m map[K]V, k K, at ...place) {
	if old, had := m[k]; had {
		delete(m, k)
		t.undone(func() { m[k] = old }, at...)
	}
}

func restore[K comparable, V any](m map[K]V, k K, old V, had bool) {
	if had {
		m[k] = old
	} else {
		delete(m, k)
	}
}

// touchAll touches all rows of a group that the tree has, and of its members.
func (t *tree) touchAll(id codec.GroupID, s *state) {
	if t.journal == nil {
		return
	}
	t.touch(place{kind: placeMeta, group: id}, place{kind: placeUpgrade, group: id}, place{kind: placeDefaults, group: id},
		place{kind: placeName, group: id}, place{kind: placeParent, group: id}, child(s.parent, id))
	for _, who := range t.journal.members(id) {
		t.touch(place{kind: placeMember, group: id, who: who})
	}
	for who := range s.names {
		t.touch(place{kind: placeMemberName, group: id, who: who})
	}
	for c, cs := range s.contexts {
		t.touch(cs.places(id, c)...)
	}
}

func child(parent, id codec.GroupID) place {
	return place{kind: placeChild, group: parent, who: codec.Identity(id)}
}

// places returns the places of all rows of a context.
func (s *contextState) places(g codec.GroupID, c codec.ContextID) []place {
	all := []place{{kind: placeContext, group: g, context: c}, {kind: placeHome, context: c}, {kind: placeMigration, group: g, context: c},
		{kind: placeContextName, group: g, context: c}, {kind: placeConfig, context: c}}
	for who := range s.identities {
		all = append(all, place{placeJoined, g, c, who})
	}
	for who := range s.masks {
		all = append(all, place{placeMask, g, c, who})
	}
	return all
}
