package namespace

import (
	"maps"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Governed tells which rows of a store are of its namespaces, by what is clear of their
// ops. It is safe for concurrent use as far as the store is.
type Governed struct {
	r          engine.Reader
	namespaces map[codec.GroupID]bool
	groups     map[codec.GroupID]bool // that an op is about
	doubtful   func() bool            // whether there may be more; nil: there are not
}

// GovernedIn returns which rows of r are of namespaces. Where doubtful, which may be nil,
// returns true, ops could not be read, and any group may be one of a namespace. With an
// error of r it returns what was found before.
func GovernedIn(r engine.Reader, doubtful func() bool) (*Governed, error) {
	g := &Governed{r: r, namespaces: map[codec.GroupID]bool{}, groups: map[codec.GroupID]bool{}}
	unclear := false
	g.doubtful = func() bool { return unclear || doubtful != nil && doubtful() }
	for e, err := range engine.Scan(r, keys.Prefix[keys.NamespaceGovHead]{}) {
		if err != nil {
			return g, err
		}
		g.namespaces[e.Key.Namespace], g.groups[e.Key.Namespace] = true, true
	}
	ops := 0 // that are missing
	for e, err := range engine.Scan(r, keys.Prefix[keys.NamespaceGovOp]{}) {
		if err != nil {
			return g, err
		}
		ops--
		g.namespaces[e.Key.Namespace], g.groups[e.Key.Namespace] = true, true
		if !include(g.groups, e.Value) {
			unclear = true
		}
	}
	err := each(r, opScope[:], func(_, _ []byte) error { ops++; return nil })
	unclear = unclear || ops > 0
	return g, err
}

// GroupsOf returns the groups of a namespace: itself, those that its ops are about, and
// those that are below one of them. With an error of r it returns those found before.
func GroupsOf(r engine.Reader, ns codec.GroupID) (map[codec.GroupID]bool, error) {
	groups := map[codec.GroupID]bool{ns: true}
	for e, err := range engine.Scan(r, keys.GovOpsOf(ns)) {
		if err != nil {
			return groups, err
		}
		include(groups, e.Value)
	}
	for open := slices.Collect(maps.Keys(groups)); len(open) > 0; open = open[1:] {
		for e, err := range engine.Scan(r, keys.ChildrenOf(open[0])) {
			if err != nil {
				return groups, err
			}
			if !groups[e.Key.Child] {
				groups[e.Key.Child] = true
				open = append(open, e.Key.Child)
			}
		}
	}
	return groups, nil
}

// include adds the group that an op is about. It returns false for what is no op.
func include(groups map[codec.GroupID]bool, row codec.NamespaceGovOpValue) bool {
	op, err := ParseOp(row.SkeletonBytes)
	switch {
	case err != nil:
		return false
	case op.Root == nil:
		groups[op.GroupID] = true
	case !op.Root.GroupID.IsZero():
		groups[op.Root.GroupID] = true
	}
	return true
}

// Derives reports whether a row says what follows from ops, or what they seal: their log,
// rows of groups, the groups and counters of contexts that groups have, and claims on
// those. It returns errors of the store.
func (g *Governed) Derives(col column.Column, key, value []byte) (bool, error) {
	switch {
	case col == column.Generic:
		return len(key) >= len(homeScope) && keys.Scope(key) == homeScope, nil
	case col == column.Config && len(key) == 32:
		if g.doubtful() {
			return true, nil
		}
		ref, ok, err := optional(g.r, keys.ContextGroupRef{Context: codec.ContextID(key)})
		return ok && g.groups[ref.GroupID] || g.doubtful(), err
	case col != column.Group || len(key) == 0:
		return false, nil
	case g.doubtful():
		return key[0] != opTag && !keys.Secret(col, key), nil
	}
	return logged(key, g.groups) || derived(key, value, g.groups), nil
}

// The tags of ops of groups, in clear, and of those of namespaces.
const logTag, opTag = 0x30, 0x38

// logged reports whether a row of Group is an entry of the log of one of these groups.
func logged(key []byte, groups map[codec.GroupID]bool) bool {
	return len(key) >= 33 && key[0] == logTag && groups[codec.GroupID(key[1:])]
}

// Owns reports whether a row is of a namespace of the store in any way: Derives, an op, or
// what is kept of its ops.
func (g *Governed) Owns(col column.Column, key, value []byte) (bool, error) {
	if ns, ok := OfOp(col, key); ok {
		return g.namespaces[ns], nil
	}
	if col == column.Generic {
		ns, ok := OfNamespace(key)
		return ok && g.namespaces[ns], nil
	}
	return g.Derives(col, key, value)
}

// OfNamespace returns the namespace for which a row of Generic with this key is kept; ok is
// false for others.
func OfNamespace(key []byte) (ns codec.GroupID, ok bool) {
	if len(key) < len(opScope)+32 {
		return ns, false
	}
	switch scope := keys.Scope(key); {
	case scope == opScope, scope == pendingScope, scope == reissuedScope, scope == rulesScope, scope == followedScope, scope == restoredScope, scope == peerScope:
		return codec.GroupID(key[len(scope):]), true
	case scope == homeScope && len(key) == len(scope)+2*32:
		return codec.GroupID(key[len(scope)+32:]), true
	}
	return ns, false
}

// OfOp returns the namespace of which a row has an op or says which place it has; ok is
// false for others.
func OfOp(col column.Column, key []byte) (ns codec.GroupID, ok bool) {
	switch {
	case col == column.Group && len(key) == 1+2*32 && key[0] == opTag:
		return codec.GroupID(key[1:]), true
	case col == column.Generic && len(key) >= len(opScope)+32 && keys.Scope(key) == opScope:
		return codec.GroupID(key[len(opScope):]), true
	}
	return ns, false
}

// Unread returns the value of a row of Generic as a node has it that holds no key: of an op,
// that it could not be read. The value is not changed.
func Unread(key, value []byte) []byte {
	if len(key) < len(opScope) || keys.Scope(key) != opScope {
		return value
	}
	f, err := parseFact(key, value)
	if err != nil {
		return value
	}
	return (&fact{id: f.id}).appendBinary(nil)
}
