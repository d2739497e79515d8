package event

import (
	"context"
	"errors"
	"sync"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Options say how the streams run. The zero Options are the defaults.
type Options struct {
	// Keep is what a stream keeps, whichever comes first, from its next event on; the zero
	// limits: the newest Kept entries, for KeptFor.
	Keep kv.StreamLimits
}

// Type is the type of the spaces of streams, which have no records.
func Type() kv.Type { return kv.Type{System: kv.SystemEvent, Space: streamSpace} }

// Store is the streams of a kv.Store. There is one at a time for it. Any number of goroutines
// may use it at once. Its methods refuse with an [*Error]; other errors are those of the
// store, the engine or the context.
type Store struct {
	kv   *kv.Store
	keep kv.StreamLimits

	mu    sync.Mutex
	feeds map[string]*Feed // by tenant: whose groups have been made
}

// maxFeeds is how many tenants are remembered.
const maxFeeds = 1 << 14

// New returns the streams of a store, to which it declares their type.
func New(store *kv.Store, o Options) (*Store, error) {
	if o.Keep == (kv.StreamLimits{}) {
		o.Keep = kv.StreamLimits{Entries: Kept, Age: KeptFor}
	}
	if err := store.Declare(Type()); err != nil {
		return nil, err
	}
	return &Store{kv: store, keep: o.Keep, feeds: map[string]*Feed{}}, nil
}

// Feed is the streams of a tenant. Any number of goroutines may use it at once. Once the
// tenant is dropped its methods return ErrSpaceNotFound, or find nothing.
type Feed struct {
	store *Store
	space *kv.Space // nil: the tenant has none
}

// Open returns the streams of a tenant, which has them, and the groups of each, from then on.
func (s *Store) Open(ctx context.Context, tenant string) (*Feed, error) {
	if tenant == "" {
		return nil, invalid("tenant", "a tenant is required")
	}
	space, err := s.kv.CreateSpace(ctx, tenant, kv.SystemEvent, streamSpace, kv.Quota{})
	if err != nil {
		return nil, told(err)
	}
	s.mu.Lock()
	f := s.feeds[tenant]
	s.mu.Unlock()
	if f != nil && f.space == space {
		return f, nil
	}
	f = &Feed{s, space}
	err = space.Update(ctx, engine.Synced, func(tx *kv.Tx) error {
		for _, stream := range Streams() {
			for _, group := range Groups() {
				if _, err := tx.CreateGroup(stream, group, 0); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if errors.Is(err, kv.ErrSpaceNotFound) {
		s.kv.Forget(tenant, kv.SystemEvent, streamSpace) // it was dropped meanwhile
	}
	if err != nil {
		return nil, told(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.feeds) >= maxFeeds {
		for other := range s.feeds { // any one
			delete(s.feeds, other)
			break
		}
	}
	s.feeds[tenant] = f
	return f, nil
}

// Find is Open for who only reads: of a tenant that has no streams they are empty, and
// nothing is made.
func (s *Store) Find(tenant string) (*Feed, error) {
	if tenant == "" {
		return nil, invalid("tenant", "a tenant is required")
	}
	space, err := s.kv.Space(tenant, kv.SystemEvent, streamSpace)
	if errors.Is(err, kv.ErrSpaceNotFound) {
		return &Feed{store: s}, nil
	}
	if err != nil {
		return nil, told(err)
	}
	return &Feed{s, space}, nil
}

// view returns the streams as they are now, which is to be closed; nil: there are none.
func (f *Feed) view() (*kv.View, error) {
	if f.space == nil {
		return nil, nil
	}
	return f.space.View()
}
