package record

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Options say how a store of records runs. The zero Options are the defaults.
type Options struct {
	Rand  io.Reader // what ids are made of; nil: crypto/rand. It is read by many goroutines at once.
	Quota kv.Quota  // of each collection of a new tenant; the zero Quota is no bound
}

// Store is the records of a kv.Store. Any number of goroutines may use it at once. Its
// methods refuse with an [*Error]; other errors are those of the store, the engine or
// the context. Documents and patches that it is given it neither keeps nor changes.
type Store struct {
	kv          *kv.Store
	o           Options
	collections map[string]*Collection
	names       []string // in the order in which they were given, archives after theirs
}

// New returns the records of collections in a store, to which it declares them.
func New(store *kv.Store, o Options, sets ...*Collection) (*Store, error) {
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	s := &Store{kv: store, o: o, collections: map[string]*Collection{}}
	return s, s.Add(sets...)
}

// Add declares more collections, those of another capability. It comes before anybody uses
// the store.
func (s *Store) Add(sets ...*Collection) error {
	for _, c := range sets {
		if c.Placer != nil && !c.inOrder() {
			return c.told(invalid("placer", "a collection that counts its records itself has daily ids and is only appended to"))
		}
		for _, t := range c.Types() {
			if err := s.kv.Declare(t); err != nil {
				return c.told(err)
			}
		}
		for _, c := range c.WithArchive() {
			if s.collections[c.Name] != nil {
				return invalid("name", "the collection %s is declared twice", c.Name)
			}
			s.collections[c.Name] = c
			s.names = append(s.names, c.Name)
		}
	}
	return nil
}

// Now is the time of the store, which never goes back.
func (s *Store) Now() time.Time { return s.kv.Now() }

// Collections are the names of the collections, archives too.
func (s *Store) Collections() []string { return slices.Clone(s.names) }

// Collection returns a collection by its name, not to be changed, or
// ErrUnknownCollection.
func (s *Store) Collection(name string) (*Collection, error) {
	if c := s.collections[name]; c != nil {
		return c, nil
	}
	return nil, refuse(CodeUnknownCollection, "collection", "there is no collection %q; the collections are %s", shortened(name), strings.Join(s.roots(), ", "))
}

// roots are the names of the collections, but for archives and versions of others.
func (s *Store) roots() (names []string) {
	for _, name := range s.names {
		above, _, _ := strings.Cut(name, ".")
		if above == name || s.collections[above] == nil {
			names = append(names, name)
		}
	}
	return names
}

// look returns a collection and its space of a tenant, which is nil if that has none.
func (s *Store) look(tenant, name string) (*Collection, *kv.Space, error) {
	c, err := s.Collection(name)
	if err != nil {
		return nil, nil, err
	}
	if tenant == "" {
		return nil, nil, c.told(invalid("tenant", "a tenant is required"))
	}
	space, err := s.kv.Space(tenant, kv.SystemRecord, name)
	if errors.Is(err, kv.ErrSpaceNotFound) {
		return c, nil, nil
	}
	return c, space, c.told(err)
}

// Space returns what a collection of a tenant is kept in, for whoever follows its
// changes; it makes it if there is none.
func (s *Store) Space(ctx context.Context, tenant, collection string) (*kv.Space, error) {
	c, space, err := s.look(tenant, collection)
	if err != nil || space != nil {
		return space, err
	}
	space, err = s.kv.CreateSpace(ctx, tenant, kv.SystemRecord, collection, s.o.Quota)
	return space, c.told(err)
}

// Doc is the document of a record of a collection's space.
func (s *Store) Doc(collection string, r kv.Record) (Doc, error) {
	c, err := s.Collection(collection)
	if err != nil {
		return Doc{}, err
	}
	return c.doc(r)
}

// Do changes records of collections of one tenant by what fn does, in one batch, once
// that is as durable as d says. fn runs while all other writes wait: it must not
// block, nor use the store but through the Tx. It may run more than once; only its
// last run counts. If it returns an error nothing is written, and Do returns it.
func (s *Store) Do(ctx context.Context, tenant string, d engine.Durability, fn func(*Tx) error) error {
	if tenant == "" {
		return invalid("tenant", "a tenant is required")
	}
	return s.do(ctx, tenant, d, map[string]*kv.Space{}, fn)
}

// do is Do with the spaces that are known.
func (s *Store) do(ctx context.Context, tenant string, d engine.Durability, spaces map[string]*kv.Space, fn func(*Tx) error) error {
	for {
		missing := ""
		err := s.kv.Update(ctx, d, func(w *kv.Work) error {
			tx := &Tx{s: s, tenant: tenant, work: w, spaces: spaces}
			err := fn(tx)
			if missing = tx.missing; missing != "" {
				err = errMissing
			}
			return err
		})
		if missing == "" {
			return err
		}
		// fn has asked for a space that nobody has asked for yet, that there was none of, or
		// that was dropped.
		s.kv.Forget(tenant, kv.SystemRecord, missing)
		space, err := s.kv.CreateSpace(ctx, tenant, kv.SystemRecord, missing, s.o.Quota)
		if err != nil {
			return s.collections[missing].told(err)
		}
		spaces[missing] = space
	}
}

// errMissing ends a run that has met a space that there is none of.
var errMissing = errors.New("record: a space is missing")
