package namespace

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// ErrNoContext is returned for a context that belongs to no group here.
var ErrNoContext = errors.New("namespace: no such context in any group")

// GroupInfo describes a group, as its rows do.
type GroupInfo struct {
	ID        codec.GroupID
	Namespace codec.GroupID
	Parent    codec.GroupID   // zeros: it is the namespace
	Children  []codec.GroupID // by id
	Name      codec.AliasName // empty: it has none here
	Meta      codec.GroupMetaValue
	Defaults  codec.Capabilities // with which new members begin
	Upgrade   codec.Option[codec.GroupUpgradeValue]
	Members   int
	Contexts  int
	Sequence  uint64       // of the last op of its log
	Heads     []codec.OpID // of its log
}

// reading calls fn with one state of the engine, from which it may read until it
// returns.
func (s *Store) reading(fn func(engine.Reader) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.calls.Done()
	snapshot, err := s.db.Snapshot()
	if err != nil {
		return err
	}
	return errors.Join(fn(snapshot), snapshot.Close())
}

// Show describes a group. It returns [ErrNoGroup].
func (s *Store) Show(g codec.GroupID) (info GroupInfo, err error) {
	err = s.reading(func(r engine.Reader) (err error) {
		info, err = readGroup(r, g)
		return err
	})
	return info, err
}

func readGroup(r engine.Reader, g codec.GroupID) (info GroupInfo, err error) {
	info.ID = g
	if info.Meta, err = meta(r, g); err != nil {
		return info, err
	}
	if info.Namespace, err = root(r, g); err != nil {
		return info, err
	}
	parent, _, err := optional(r, keys.GroupParentRef{Child: g})
	if err != nil {
		return info, err
	}
	info.Parent = parent.ParentID
	if info.Children, err = children(r, g); err != nil {
		return info, err
	}
	if info.Name, _, err = optional(r, keys.GroupAlias{Group: g}); err != nil {
		return info, err
	}
	defaults, _, err := optional(r, keys.GroupDefaultCaps{Group: g})
	if err != nil {
		return info, err
	}
	info.Defaults = defaults.Capabilities
	if info.Upgrade.V, info.Upgrade.Valid, err = optional(r, keys.GroupUpgradeKey{Group: g}); err != nil {
		return info, err
	}
	head, _, err := optional(r, keys.GroupOpHead{Group: g})
	if err != nil {
		return info, err
	}
	info.Sequence, info.Heads = head.Sequence, head.DagHeads
	if info.Members, err = countRows(r, keys.MembersOf(g)); err != nil {
		return info, err
	}
	info.Contexts, err = countRows(r, keys.ContextsOf(g))
	return info, err
}

// meta returns the row that a group has as long as it is there, or ErrNoGroup.
func meta(r engine.Getter, g codec.GroupID) (codec.GroupMetaValue, error) {
	m, ok, err := optional(r, keys.GroupMeta{Group: g})
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s", ErrNoGroup, g)
	}
	return m, err
}

// optional returns the value under a key, if there is one.
func optional[K keys.Key[K, V], V codec.Value[V]](r engine.Getter, key K) (v V, ok bool, err error) {
	v, err = engine.Get(r, key)
	if errors.Is(err, engine.ErrNotFound) {
		return v, false, nil
	}
	return v, err == nil, err
}

func countRows[K keys.Key[K, V], V codec.Value[V]](r engine.Reader, p keys.Prefix[K]) (n int, err error) {
	for _, err := range engine.Scan[K, V](r, p) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// root returns the namespace of a group that is there.
func root(r engine.Getter, g codec.GroupID) (codec.GroupID, error) {
	for range maxClimb {
		parent, ok, err := optional(r, keys.GroupParentRef{Child: g})
		if err != nil || !ok {
			return g, err
		}
		g = parent.ParentID
	}
	return g, fmt.Errorf("%w: the parents of group %s go in a circle", engine.ErrCorrupt, g)
}

// maxClimb is more than a group can be below its namespace.
const maxClimb = 64

func children(r engine.Reader, g codec.GroupID) (ids []codec.GroupID, err error) {
	for e, err := range engine.Scan(r, keys.ChildrenOf(g)) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, e.Key.Child)
	}
	return ids, nil
}

// NamespaceOf returns the namespace of a group. It returns [ErrNoGroup].
func (s *Store) NamespaceOf(g codec.GroupID) (ns codec.GroupID, err error) {
	err = s.reading(func(r engine.Reader) error {
		if _, err := meta(r, g); err != nil {
			return err
		}
		ns, err = root(r, g)
		return err
	})
	return ns, err
}

// Resolve returns the group of a context, and its namespace. It returns
// [ErrNoContext].
func (s *Store) Resolve(context codec.ContextID) (g, ns codec.GroupID, err error) {
	err = s.reading(func(r engine.Reader) error {
		ref, ok, err := optional(r, keys.ContextGroupRef{Context: context})
		if err == nil && !ok {
			err = fmt.Errorf("%w: %s", ErrNoContext, context)
		}
		if err != nil {
			return err
		}
		g = ref.GroupID
		ns, err = root(r, g)
		return err
	})
	return g, ns, err
}
