package namespace

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// TreeGroup is a group of a tree.
type TreeGroup struct {
	ID      codec.GroupID
	Parent  codec.GroupID // zeros: it is the namespace
	Depth   int           // below the namespace
	Name    codec.AliasName
	Members int
}

// Tree returns the groups of a namespace, each after its parent, siblings by id. It
// returns [ErrNoNamespace].
func (s *Store) Tree(ns codec.GroupID) (list []TreeGroup, err error) {
	err = s.reading(func(r engine.Reader) error {
		_, err := meta(r, ns)
		if errors.Is(err, ErrNoGroup) {
			return fmt.Errorf("%w: %s", ErrNoNamespace, ns)
		}
		if err != nil {
			return err
		}
		for left := []TreeGroup{{ID: ns}}; len(left) > 0; {
			t := left[len(left)-1]
			left = left[:len(left)-1]
			below, err := children(r, t.ID)
			if err != nil {
				return err
			}
			if t.Name, _, err = optional(r, keys.GroupAlias{Group: t.ID}); err != nil {
				return err
			}
			if t.Members, err = countRows(r, keys.MembersOf(t.ID)); err != nil {
				return err
			}
			if list = append(list, t); t.Depth > maxClimb {
				return fmt.Errorf("%w: the groups below %s go in a circle", engine.ErrCorrupt, ns)
			}
			for i := len(below) - 1; i >= 0; i-- {
				left = append(left, TreeGroup{ID: below[i], Parent: t.ID, Depth: t.Depth + 1})
			}
		}
		return nil
	})
	return list, err
}

// Namespaces returns the namespaces that are here, and those in which this node has an
// identity, after one of them, by id; zeros: from the first. A limit of 0 is none. An
// identity under the id of zeros, which no namespace has, is passed over.
func (s *Store) Namespaces(after codec.GroupID, limit int) (list []codec.GroupID, err error) {
	err = s.reading(func(r engine.Reader) error {
		for _, rows := range []struct {
			col  column.Column
			lead []byte
		}{
			{column.Group, keys.Prefix[keys.NamespaceGovHead]{}.AppendTo(nil)},
			{column.Group, keys.Prefix[keys.NamespaceIdentity]{}.AppendTo(nil)},
			{column.Generic, followedScope[:]},
		} {
			ids, err := idsAfter(r, rows.col, rows.lead, after, limit)
			if err != nil {
				return err
			}
			list = append(list, ids...)
		}
		return nil
	})
	slices.SortFunc(list, codec.CompareID)
	list = slices.Compact(list)
	if limit > 0 && len(list) > limit {
		list = list[:limit]
	}
	return list, err
}

// idsAfter returns the namespaces of the rows of a column that begin with lead, without
// looking at what is stored there.
func idsAfter(r engine.Reader, col column.Column, lead []byte, after codec.GroupID, limit int) (ids []codec.GroupID, err error) {
	rg := engine.Prefixed(lead)
	rg.Limit = limit
	rg.Start = append(append(bytes.Clone(lead), after[:]...), 0)
	it, err := r.Iterate(col, rg)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for it.Next() {
		id := it.Key()[len(lead):]
		if len(id) != len(after) {
			return nil, fmt.Errorf("namespace: %w: %x is no row of a namespace", engine.ErrCorrupt, it.Key())
		}
		ids = append(ids, codec.GroupID(id))
	}
	return ids, it.Err()
}
