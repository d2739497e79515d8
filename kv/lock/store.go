package lock

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"sync"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/limit"
)

// Options say how the locks run. The zero Options are the defaults.
type Options struct {
	// Config is asked before each request of a tenant; nil: the zero Config for all. It is
	// called by many goroutines at once.
	Config func(tenant string) Config
	// Events are the streams that each change of a lock is told in, with the change; nil: it
	// is not told. A renewal changes nothing that is told.
	Events *event.Store
	// Limits count what agents ask for, where the configuration limits that; nil: nothing is
	// limited.
	Limits *limit.Store
	// NoSweep leaves out that it is looked every 30 s whether who waits waits for itself:
	// deadlocks are refused when they would come to be, and found later by Store.Sweep alone.
	NoSweep bool
	Quota   kv.Quota     // of the locks and agents of a new tenant; the zero Quota: 100,000 of them
	Log     *slog.Logger // what the background does; nil: slog.Default
}

// spaceName is the space of a tenant's locks.
const spaceName = "lock"

// The indexes of the space. Their terms are in README.md.
const (
	indexAgent  uint16 = 1
	indexShared uint16 = 2
)

// Type is the type of the spaces of locks.
func Type() kv.Type { return typeOf(nil) }

func typeOf(changed func(tx *kv.Tx, old, r kv.Record) error) kv.Type {
	return kv.Type{Changed: changed, System: kv.SystemLock, Space: spaceName, Log: 8192, Inline: 64 << 10, Last: true, Indexes: []kv.Index{
		{Number: indexAgent, Name: "agent", Terms: agentTerms},
		{Number: indexShared, Name: "shared", Terms: sharedTerms},
	}}
}

// Store is the locks of a kv.Store. There is one at a time for it. Any number of goroutines
// may use it at once. Its methods refuse with an [*Error]; other errors are those of the
// store, the engine or the context.
type Store struct {
	kv     *kv.Store
	o      Options
	log    *slog.Logger
	alarms alarms

	mu      sync.Mutex
	tenants map[string]*tenant // whose locks were asked for lately

	closed chan struct{}
	once   sync.Once
	done   sync.WaitGroup
}

// New returns the locks of a store, to which it declares their type, and starts what
// looks after those that somebody waits for.
func New(store *kv.Store, o Options) (*Store, error) {
	if err := store.Declare(typeOf(teller(o.Events))); err != nil {
		return nil, err
	}
	if o.Config == nil {
		o.Config = func(string) Config { return Config{} }
	}
	if o.Quota == (kv.Quota{}) {
		o.Quota.Keys = 100_000
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Store{kv: store, o: o, log: o.Log, tenants: map[string]*tenant{}, closed: make(chan struct{})}
	s.alarms.poke = make(chan struct{}, 1)
	s.done.Go(s.watchman)
	return s, nil
}

// Close tells all who wait that they do so in vain, and ends the background. It comes before
// the kv.Store's, which stays open. Locks stay held until their time is over.
func (s *Store) Close() {
	s.once.Do(func() { close(s.closed) })
	s.done.Wait()
}

// maxTenants is how many tenants are remembered that nobody waits in.
const maxTenants = 1 << 14

// enter returns what is known of a tenant, which has a space for its locks from then on.
// leave is to be called.
func (s *Store) enter(ctx context.Context, name string) (*tenant, error) {
	if name == "" {
		return nil, invalid("tenant", "a tenant is required")
	}
	s.mu.Lock()
	t := s.tenants[name]
	if t == nil {
		if len(s.tenants) >= maxTenants {
			s.forgetSome()
		}
		t = &tenant{name: name, queues: map[string]*queue{}, waits: map[string][]*waiter{}, hearts: map[string]*heart{},
			agents: map[string]struct{}{}, checked: map[string]uint64{}}
		t.sweep.of = t
		s.tenants[name] = t
	}
	t.users++
	s.mu.Unlock()
	var err error
	t.begin.Do(func() { err = s.begin(ctx, t) })
	if err == nil && t.space == nil {
		err = refuse(CodeCancelled, "tenant", "the locks of the tenant could not be opened: try again")
	}
	if err != nil {
		s.lose(t)
		s.leave(t)
		return nil, err
	}
	return t, nil
}

// known is what is known of a tenant; nil: its locks were not asked for lately.
func (s *Store) known(name string) *tenant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tenants[name]
}

func (s *Store) leave(t *tenant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.users--
}

// forgetSome makes room for a tenant. The caller holds mu.
func (s *Store) forgetSome() {
	now := millis(s.kv.Now())
	for name, t := range s.tenants {
		if t.users == 0 && t.idle(now) {
			delete(s.tenants, name)
			return
		}
	}
}

// idle reports whether nobody waits, and nothing is to be looked after.
func (t *tenant) idle(now uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgetChecks(now)
	return len(t.queues) == 0 && len(t.hearts) == 0 && len(t.checked) == 0
}

// begin opens the space of a tenant, and sets the alarms of the locks that several hold,
// and of agents.
func (s *Store) begin(ctx context.Context, t *tenant) error {
	space, err := s.kv.CreateSpace(ctx, t.name, kv.SystemLock, spaceName, s.o.Quota)
	if err != nil {
		return err
	}
	if s.o.Events != nil {
		if _, err := s.o.Events.Open(ctx, t.name); err != nil {
			return err
		}
	}
	for o := (kv.IndexOptions{Limit: 1000}); ; {
		list, next, err := space.ByIndex(ctx, indexShared, o)
		if err != nil {
			return err
		}
		for _, f := range list {
			state, err := parseState(string(f.Key), f.Value)
			if err != nil {
				return err
			}
			t.mu.Lock()
			s.alarms.sooner(&t.attended(string(f.Key)).alarm, state.first())
			t.mu.Unlock()
		}
		if o.Cursor = next; next == "" {
			break
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for r, err := range space.All(ctx, keyOfAgent("")) {
		if err != nil {
			return err
		}
		agent := string(r.Key[len(keyOfAgent("")):])
		t.mayBe(agent)
		if a, err := parseAgent(agent, r.Value); err != nil {
			return err
		} else if a.status != Offline {
			s.alarms.sooner(&t.heartOf(agent).alarm, a.heard)
		}
	}
	t.space = space
	return nil
}

// lose forgets a tenant whose space is gone, and tells all who wait there.
func (s *Store) lose(t *tenant) {
	s.mu.Lock()
	if s.tenants[t.name] == t {
		delete(s.tenants, t.name)
	}
	s.mu.Unlock()
	s.kv.Forget(t.name, kv.SystemLock, spaceName)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = true
	for _, q := range t.queues {
		s.alarms.stop(&q.alarm)
		for _, w := range q.waiters {
			s.alarms.stop(&w.until)
			w.queued = false
			if !w.ended {
				w.end(Grant{}, refuse(CodeCancelled, "tenant", "the tenant was dropped"))
			}
		}
	}
	s.alarms.stop(&t.sweep)
	for _, h := range t.hearts {
		s.alarms.stop(&h.alarm)
	}
	clear(t.queues)
	clear(t.waits)
	clear(t.hearts)
}

// do changes locks of a tenant by what fn does in a turn, in one batch, for own, which is
// nil if nobody is to wait for it. It returns what own was given at once.
func (s *Store) do(ctx context.Context, tenant string, d engine.Durability, own *waiter, fn func(*turn) error) (Grant, error) {
	for {
		t, err := s.enter(ctx, tenant)
		if err != nil {
			return Grant{}, told(err)
		}
		g, err := s.take(ctx, t, d, own, fn)
		s.leave(t)
		if !errors.Is(err, kv.ErrSpaceNotFound) {
			return g, told(err)
		}
		s.lose(t) // it was dropped, and may be made again
	}
}

// take is one turn.
func (s *Store) take(ctx context.Context, t *tenant, d engine.Durability, own *waiter, fn func(*turn) error) (Grant, error) {
	if err := s.open(); err != nil {
		return Grant{}, err
	}
	u := &turn{s: s, t: t, own: own, config: s.config(t.name)}
	err := t.space.Update(ctx, t.atLeast(d), func(tx *kv.Tx) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		u.reset(tx)
		if err := fn(u); err != nil {
			return err
		}
		return u.finish()
	})
	orphans := u.end(err)
	if err == nil && len(u.granted) > 0 && (own == nil || u.granted[0].w != own) {
		runtime.Gosched() // those who have waited are told before this caller is
	}
	for _, g := range orphans { // nobody waits for them any more
		_ = s.takeBack(t.name, g, d)
	}
	return u.result, err
}

// atLeast is how durable a turn is to be: as somebody wants who may be given a lock by it.
func (t *tenant) atLeast(d engine.Durability) engine.Durability {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.synced > 0 {
		return engine.Synced
	}
	return d
}

func (s *Store) config(tenant string) Config { return s.o.Config(tenant).filled() }

func (s *Store) open() error {
	select {
	case <-s.closed:
		return refuse(CodeCancelled, "", "the store is closed")
	default:
		return nil
	}
}

// told is an error of the substrate as callers are told it.
func told(err error) error {
	var e *kv.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case kv.CodeQuotaExhausted:
		return &Error{Code: CodeTooMany, Field: "tenant", Limit: e.Limit, Have: e.Have, Reason: "the tenant has as many locks and agents as it may: release some, or raise its quota"}
	case kv.CodeInvalidTenant, kv.CodeInvalidArgument, kv.CodeInvalidCursor:
		return &Error{Code: CodeInvalidArgument, Field: e.Field, Limit: e.Limit, Have: e.Have, Reason: e.Reason}
	case kv.CodeClosed:
		return refuse(CodeCancelled, "", "the store is closed")
	}
	return err
}

// settle gives locks to those that they are due to, and takes them from agents that are not
// heard of.
func (s *Store) settle(t *tenant, names, agents []string) {
	if s.inBackground(t, func() error {
		_, err := s.take(context.Background(), t, engine.WAL, nil, func(u *turn) error { return u.look(names, agents) })
		return err
	}) {
		return
	}
	at := millis(s.kv.Now().Add(ringRetry))
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range names {
		if q := t.queues[name]; q != nil {
			s.alarms.sooner(&q.alarm, at)
		}
	}
	for _, agent := range agents {
		if h := t.hearts[agent]; h != nil {
			s.alarms.sooner(&h.alarm, at)
		}
	}
}

// look looks after locks and agents whose alarms have come.
func (u *turn) look(names, agents []string) error {
	for _, name := range names {
		l, err := u.load(name)
		if err == nil {
			err = u.settle(l, nil)
		}
		if err != nil {
			return err
		}
	}
	for _, agent := range agents {
		if err := u.listen(agent); err != nil {
			return err
		}
	}
	return nil
}

// inBackground does something with a tenant, and returns false if it is to be tried again.
func (s *Store) inBackground(t *tenant, fn func() error) bool {
	s.mu.Lock()
	t.users++
	s.mu.Unlock()
	defer s.leave(t)
	err := fn()
	switch {
	case err == nil:
	case errors.Is(err, kv.ErrSpaceNotFound):
		s.lose(t)
	case s.open() == nil:
		s.log.Error("lock: locks could not be given to who waits for them; it is tried again", "in", ringRetry, "err", err)
		return false
	}
	return true
}

// never is the moment of what has none.
const never = math.MaxUint64
