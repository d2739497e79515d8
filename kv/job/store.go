package job

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
)

// Worker does a job of a tenant. Its error has the job tried again; so has that the lease
// is over, which ctx ends with: a job may be done more than once, and a worker is to bear
// that.
type Worker func(ctx context.Context, tenant string, j Job) error

// Options say how the queues run. The zero Options are the defaults.
type Options struct {
	// Workers are those that this process has itself, by their queues, for all tenants.
	Workers map[string]Worker
	Off     []string     // queues whose worker of Workers does not run
	Name    string       // of this process, in leases of its workers; "": built-in
	Quota   kv.Quota     // of the jobs of a new tenant; the zero Quota: MaxJobs of them
	Log     *slog.Logger // what the workers do; nil: slog.Default
}

// Type is the type of the spaces of jobs.
func Type() kv.Type { return typeOf((*Store)(nil)) }

func typeOf(s *Store) kv.Type {
	return kv.Type{System: kv.SystemJob, Space: queueSpace, Log: 1024, Job: s.fire, Indexes: []kv.Index{{Number: indexPlace, Name: "place", Terms: places}}}
}

// Store is the queues of a kv.Store. There is one at a time for it. Any number of goroutines
// may use it at once. Its methods refuse with an [*Error]; other errors are those of the
// store, the engine or the context.
type Store struct {
	kv  *kv.Store
	o   Options
	log *slog.Logger

	mu     sync.Mutex
	queues map[keys.Scope]*Queues // which have been asked for
	crews  map[uint8]*crew        // by the numbers of their queues
	end    context.CancelFunc
	done   sync.WaitGroup
}

// New returns the queues of a store, to which it declares their type, and starts the
// workers of this process. It returns ErrInvalidArgument for a queue that is none.
func New(store *kv.Store, o Options) (*Store, error) {
	if o.Name == "" {
		o.Name = "built-in"
	}
	if o.Quota == (kv.Quota{}) {
		o.Quota.Keys = MaxJobs
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Store{kv: store, o: o, log: o.Log, queues: map[keys.Scope]*Queues{}, crews: map[uint8]*crew{}}
	if err := s.hire(); err != nil {
		return nil, err
	}
	if err := store.Declare(typeOf(s)); err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	s.end = end
	s.begin(ctx)
	return s, nil
}

// Off returns the queues whose workers of this process are switched off, in byte order.
func (s *Store) Off() []string {
	off := slices.Clone(s.o.Off)
	slices.Sort(off)
	return slices.Compact(off)
}

// Close ends the workers of this process, whose jobs others are given at once. It comes
// before the kv.Store's, which stays open.
func (s *Store) Close() {
	s.end()
	s.done.Wait()
}

// Queues are the queues of a tenant. Any number of goroutines may use them at once. Once
// the tenant is dropped its methods return ErrSpaceNotFound, or find nothing.
type Queues struct {
	store  *Store
	tenant string
	space  *kv.Space // nil: the tenant has none

	mu       sync.Mutex
	heads    [8]uint64 // by the numbers of queues: no job that is ready arrived before
	returned uint64    // how often a job has become ready in a place that it had before
}

// Open returns the queues of a tenant, which has them from then on.
func (s *Store) Open(ctx context.Context, tenant string) (*Queues, error) {
	if tenant == "" {
		return nil, invalid("tenant", "a tenant is required")
	}
	space, err := s.kv.CreateSpace(ctx, tenant, kv.SystemJob, queueSpace, s.o.Quota)
	if err != nil {
		return nil, told(err)
	}
	return s.known(tenant, space), nil
}

// Find is Open for who only reads: of a tenant that has no queues they are empty, and
// nothing is made.
func (s *Store) Find(tenant string) (*Queues, error) {
	if tenant == "" {
		return nil, invalid("tenant", "a tenant is required")
	}
	space, err := s.kv.Space(tenant, kv.SystemJob, queueSpace)
	if errors.Is(err, kv.ErrSpaceNotFound) {
		return &Queues{store: s, tenant: tenant}, nil
	}
	if err != nil {
		return nil, told(err)
	}
	return s.known(tenant, space), nil
}

// known returns the queues of a space, the same ones for each call.
func (s *Store) known(tenant string, space *kv.Space) *Queues {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[space.Scope()]
	if q == nil {
		q = &Queues{store: s, tenant: tenant, space: space}
		s.queues[space.Scope()] = q
	}
	return q
}

// lose forgets queues whose space is gone.
func (s *Store) lose(q *Queues) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.queues, q.space.Scope())
	s.kv.Forget(q.tenant, kv.SystemJob, queueSpace)
}

// of returns the queues of a space that has been asked for; nil: it has not been.
func (s *Store) of(scope keys.Scope) *Queues {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queues[scope]
}

// update changes the queues by what fn does, in one batch.
func (q *Queues) update(ctx context.Context, d engine.Durability, fn func(*kv.Tx) error) error {
	if q.space == nil {
		return kv.ErrSpaceNotFound
	}
	err := q.space.Update(ctx, d, fn)
	if errors.Is(err, kv.ErrSpaceNotFound) {
		q.store.lose(q)
	}
	return told(err)
}

// in returns the transaction of the queues within a unit of work of the tenant.
func (q *Queues) in(w *kv.Work) (*kv.Tx, error) {
	if q.space == nil {
		return nil, kv.ErrSpaceNotFound
	}
	return w.In(q.space)
}
