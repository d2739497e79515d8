package stream

import (
	"context"
	"errors"
	"log/slog"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Options say how the streams run. The zero Options are the defaults.
type Options struct {
	Log *slog.Logger // what projections do; nil: slog.Default
}

// Type is the type of the spaces of streams.
func Type() kv.Type {
	return kv.Type{System: kv.SystemStream, Space: streamSpace, Log: 256, Indexes: []kv.Index{{Number: indexKey, Name: "key", Keys: true}}}
}

// Store is the streams of a kv.Store. There is one at a time for it. Any number of goroutines
// may use it at once. Its methods refuse with an [*Error]; other errors are those of the
// store, the engine or the context.
type Store struct {
	kv  *kv.Store
	log *slog.Logger
}

// New returns the streams of a store, to which it declares their type.
func New(store *kv.Store, o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if err := store.Declare(Type()); err != nil {
		return nil, err
	}
	return &Store{store, o.Log}, nil
}

// Streams are the streams of a tenant. Any number of goroutines may use them at once. Once
// the tenant is dropped their methods return ErrSpaceNotFound, or find nothing.
type Streams struct {
	store  *Store
	tenant string
	space  *kv.Space // nil: the tenant has none
}

// Open returns the streams of a tenant, which has a place for them from then on.
func (s *Store) Open(ctx context.Context, tenant string) (*Streams, error) {
	if tenant == "" {
		return nil, invalid("tenant", "a tenant is required")
	}
	space, err := s.kv.CreateSpace(ctx, tenant, kv.SystemStream, streamSpace, kv.Quota{})
	if err != nil {
		return nil, told(err)
	}
	return &Streams{s, tenant, space}, nil
}

// Find is Open for who only reads: of a tenant that has no streams there are none, and
// nothing is made.
func (s *Store) Find(tenant string) (*Streams, error) {
	if tenant == "" {
		return nil, invalid("tenant", "a tenant is required")
	}
	space, err := s.kv.Space(tenant, kv.SystemStream, streamSpace)
	if errors.Is(err, kv.ErrSpaceNotFound) {
		return &Streams{store: s, tenant: tenant}, nil
	}
	if err != nil {
		return nil, told(err)
	}
	return &Streams{s, tenant, space}, nil
}

// update changes the streams by what fn does, in one batch.
func (s *Streams) update(ctx context.Context, d engine.Durability, fn func(*kv.Tx) error) error {
	if s.space == nil {
		return noStreams()
	}
	return s.said(s.space.Update(ctx, d, fn))
}

// in returns the transaction of the streams within a unit of work of the tenant.
func (s *Streams) in(w *kv.Work) (*kv.Tx, error) {
	if s.space == nil {
		return nil, noStreams()
	}
	return w.In(s.space)
}

// view calls read with the streams as they are now; not at all if the tenant has none.
func (s *Streams) view(read func(*kv.View) error) error {
	if s.space == nil {
		return nil
	}
	view, err := s.space.View()
	if err != nil {
		return told(err)
	}
	defer func() { _ = view.Close() }()
	return s.said(read(view))
}

// said is an error of the kv.Store as this package says it. A space that is gone is looked
// up anew from then on.
func (s *Streams) said(err error) error {
	if errors.Is(err, kv.ErrSpaceNotFound) {
		s.store.kv.Forget(s.tenant, kv.SystemStream, streamSpace)
	}
	return told(err)
}
