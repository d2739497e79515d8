package inspect

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/kv/session"
)

// spaces says what the spaces of key-values are whose rows a store has: their names, by
// its registry, and the collections that this build declares. It is not safe for
// concurrent use.
type spaces struct {
	get      func(key []byte) ([]byte, error) // of the registry
	declared func() (collections, error)

	scope keys.Scope // that of last
	last  *space
}

// collections are declared ones by their names, archives too.
type collections map[string]*record.Collection

// declared returns the collections that this build declares.
func declared() (collections, error) {
	sets, err := policy.Collections()
	if err != nil {
		return nil, err
	}
	asked, err := approval.Collections()
	if err != nil {
		return nil, err
	}
	signed, err := session.Collections()
	all := collections{}
	for _, set := range slices.Concat(sets, asked, signed) {
		for _, c := range set.WithArchive() {
			all[c.Name] = c
		}
	}
	return all, err
}

// space is what a scope of key-values is.
type space struct {
	System     kv.System
	Name       string // of the space in its system; "": it is not known
	Tenant     string
	Known      bool               // the registry has the names
	Collection *record.Collection // whose documents it has; nil: of none that this build knows
}

// String names the space for people.
func (s *space) String() string {
	switch {
	case !s.Known:
		return fmt.Sprintf("a space of system %d that the registry does not name", s.System)
	case s.System == kv.SystemRecord:
		return fmt.Sprintf("collection %s of tenant %q", s.Name, s.Tenant)
	case capabilities[s.System].plural != "":
		return fmt.Sprintf("%s of tenant %q", capabilities[s.System].plural, s.Tenant)
	}
	return fmt.Sprintf("space %s of tenant %q", s.Name, s.Tenant)
}

// types are what package kv is to know of all spaces.
func (s *spaces) types() ([]kv.Type, error) {
	all, err := s.declared()
	types := []kv.Type{kvstorage.Type()}
	for _, c := range capabilities {
		types = append(types, c.types...)
	}
	for _, c := range all {
		types = append(types, c.Types()[0])
	}
	return types, err
}

// of returns what a scope is; nil for one that is of no space. What of the registry is
// missing or damaged is not known.
func (s *spaces) of(scope keys.Scope) (*space, error) {
	if !scope.IsKV() || scope.System() == 0 {
		return nil, nil
	}
	if s.last != nil && s.scope == scope {
		return s.last, nil
	}
	found := &space{System: kv.System(scope.System())}
	name, named, err := s.name(kv.Row{Shape: kv.ShapeSpaceName, Kind: scope.System(), Number: uint64(scope.Space())})
	if err != nil {
		return nil, err
	}
	tenant, known, err := s.name(kv.Row{Shape: kv.ShapeTenantName, Number: scope.Tenant()})
	if err != nil {
		return nil, err
	}
	found.Name, found.Tenant, found.Known = name, tenant, named && known
	if found.System == kv.SystemRecord && named {
		all, err := s.declared()
		if err != nil {
			return nil, err
		}
		found.Collection = all[name]
	}
	s.scope, s.last = scope, found
	return found, nil
}

// name returns what a row of the registry says.
func (s *spaces) name(row kv.Row) (name string, ok bool, err error) {
	value, err := s.get(row.AppendKey(nil))
	if errors.Is(err, engine.ErrNotFound) || isDamage(err) {
		return "", false, nil
	}
	return string(value), err == nil, err
}

// spaces returns what the spaces of the store are.
func (s *Source) spaces() *spaces {
	names := spacesOf(s)
	names.declared = s.collections
	return names
}

// spacesOf is what the spaces of a store are that is only read by key.
func spacesOf(g engine.Getter) *spaces {
	return &spaces{declared: sync.OnceValues(declared), get: func(key []byte) ([]byte, error) { return g.Get(nil, column.Generic, key) }}
}

// place says for people which row of key-values a key is of, as far as that is known.
func (s *spaces) place(key []byte) (string, error) {
	row, err := kv.ParseRow(key)
	if err != nil {
		return "", nil
	}
	in, err := s.of(row.Scope)
	if err != nil || in == nil {
		return "", err
	}
	what := row.Shape.String()
	switch {
	case row.Shape == kv.ShapeIndex && in.Collection != nil:
		what = fmt.Sprintf("index %s, record %q", in.Collection.IndexName(row.Index), in.id(row.Key))
	case row.Shape == kv.ShapeRecord || row.Shape == kv.ShapeHistory:
		what = fmt.Sprintf("%s %q", what, in.id(row.Key))
	case row.Shape == kv.ShapeRevision:
		what = fmt.Sprintf("revision %d of %q", row.Number, in.id(row.Name))
	case row.Shape == kv.ShapeKept:
		what = fmt.Sprintf("kept %q", row.Key)
	case row.Shape == kv.ShapeLog:
		what = fmt.Sprintf("log, revision %d", row.Number)
	}
	return in.String() + ", " + what, nil
}

// id is what people call the record of a key.
func (s *space) id(key []byte) string {
	if s.Collection != nil {
		return s.Collection.IDOf(key)
	}
	return string(key)
}
