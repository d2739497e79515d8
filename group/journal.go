package group

import "github.com/stoadb/stoa/codec"

// rowRef names a row by what it is about. Fields that its kind has not are zero; so may
// others be, for ids are what signers please.
type rowRef struct {
	kind    rowKind
	group   codec.GroupID
	context codec.ContextID
	who     codec.Identity // or, of a child, the group: both are 32 bytes
}

// rowKind says which row of its group, context or member a rowRef is.
type rowKind uint8

const (
	rowMeta rowKind = iota
	rowMember
	rowUpgrade
	rowDefaults
	rowName
	rowMemberName
	rowParent
	rowChild
	rowContext
	rowHome
	rowMigration
	rowContextName
	rowJoined
	rowMask
	rowConfig
	rowNonce
	rowHeads
	rowNamespaceHeads
)

// inGroup reports whether the keys of such rows begin with their group, which takes them
// along when it goes.
func (k rowKind) inGroup() bool {
	switch k {
	case rowParent, rowChild, rowHome, rowConfig, rowNonce, rowHeads, rowNamespaceHeads:
		return false
	default:
		return true
	}
}

// keptEntries is how many entries a map may have had that is used again.
const keptEntries = 1024

// emptied returns m without its entries, or another map in its place if it has grown: to clear one,
// and to go through it, takes time for all that it ever held.
func emptied[K comparable, V any](m map[K]V) map[K]V {
	if len(m) > keptEntries {
		return map[K]V{}
	}
	clear(m)
	return m
}

// journal is what has been done to a tree lately, so that it can be undone, and which
// rows that touches. A tree without one is only ever added to.
type journal struct {
	undo    []func()
	touched map[rowRef]struct{}
	members func(codec.GroupID) []codec.Identity // who has ever been given something in a group
}

func (t *tree) touch(at ...rowRef) {
	if t.journal != nil {
		for _, p := range at {
			t.journal.touched[p] = struct{}{}
		}
	}
}

// undone notes how to undo a change of rows.
func (t *tree) undone(undo func(), at ...rowRef) {
	if t.journal != nil {
		t.touch(at...)
		t.journal.undo = append(t.journal.undo, func() { undo(); t.touch(at...) })
	}
}

// change sets *p.
func change[T any](t *tree, p *T, v T, at ...rowRef) {
	old := *p
	*p = v
	t.undone(func() { *p = old }, at...)
}

// set stores v in m.
func set[K comparable, V any](t *tree, m map[K]V, k K, v V, at ...rowRef) {
	old, had := m[k]
	m[k] = v
	t.undone(func() { restore(m, k, old, had) }, at...)
}

// unset removes k from m.
func unset[K comparable, V any](t *tree, m map[K]V, k K, at ...rowRef) {
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
	t.touch(rowRef{kind: rowMeta, group: id}, rowRef{kind: rowUpgrade, group: id}, rowRef{kind: rowDefaults, group: id},
		rowRef{kind: rowName, group: id}, rowRef{kind: rowParent, group: id}, child(s.parent, id))
	for _, who := range t.journal.members(id) {
		t.touch(rowRef{kind: rowMember, group: id, who: who})
	}
	for who := range s.names {
		t.touch(rowRef{kind: rowMemberName, group: id, who: who})
	}
	for c, cs := range s.contexts {
		t.touch(cs.rowRefs(id, c)...)
	}
}

func child(parent, id codec.GroupID) rowRef {
	return rowRef{kind: rowChild, group: parent, who: codec.Identity(id)}
}

// rowRefs names all rows of a context.
func (s *contextState) rowRefs(g codec.GroupID, c codec.ContextID) []rowRef {
	all := []rowRef{{kind: rowContext, group: g, context: c}, {kind: rowHome, context: c}, {kind: rowMigration, group: g, context: c},
		{kind: rowContextName, group: g, context: c}, {kind: rowConfig, context: c}}
	for who := range s.identities {
		all = append(all, rowRef{rowJoined, g, c, who})
	}
	for who := range s.masks {
		all = append(all, rowRef{rowMask, g, c, who})
	}
	return all
}
