package namespace

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
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

// Namespaces returns the namespaces that are here after one of them, by id; zeros: from
// the first. A limit of 0 is none.
func (s *Store) Namespaces(after codec.GroupID, limit int) (list []codec.GroupID, err error) {
	err = s.reading(func(r engine.Reader) error {
		from := keys.NamespaceGovHead{Namespace: after}
		for e, err := range engine.ScanWindow(r, keys.Prefix[keys.NamespaceGovHead]{}, engine.Window[keys.NamespaceGovHead]{From: &from}) {
			if err != nil {
				return err
			}
			if e.Key.Namespace == after {
				continue
			}
			if list = append(list, e.Key.Namespace); len(list) == limit {
				return nil
			}
		}
		return nil
	})
	return list, err
}
