package namespace

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
)

// writeQueue is one namespace in memory, where requests about it queue.
type writeQueue struct {
	id       codec.GroupID
	requests *engine.Queue[task]
	users    int // calls; guarded by Store.mu

	state   *loaded // nil: not loaded; whoever leads may touch it, or holds look for reading
	look    sync.RWMutex
	current atomic.Pointer[loaded] // state, for those who only want a key
	loaded  bool                   // once it was; guarded by look

	followed atomic.Bool // it is, and that is on disk

	newsMu  sync.Mutex
	news    chan struct{} // closed when something was written
	changes []group.VerdictChange
	gone    uint64 // so many changes came before those
}

// strange reports whether nothing is known of the namespace here. Nobody uses the queue.
func (p *writeQueue) strange() bool {
	c := p.current.Load()
	if c == nil {
		return !p.loaded
	}
	return !c.isFollowed()
}

// task is something to be done to a namespace.
type task func(b *batch) error

// request is a task on its way through the queue of its namespace.
type request = engine.Request[task]

// keptChanges is how many changes of verdicts followers may be behind.
const keptChanges = 4096

// maxServed is how many requests share a batch.
const maxServed = 512

// submit does what requests ask for, in order. A panic is an error here: of its request,
// or that of submit.
func (s *Store) submit(ns codec.GroupID, requests ...*request) (err error) {
	p, err := s.queue(ns)
	if err != nil {
		return err
	}
	defer s.leave(p)
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("namespace: %s: panic: %v\n%s", ns, fault, debug.Stack())
		}
	}()
	return p.requests.Do(context.Background(), requests...)
}

// serve is what the queue of a namespace does with its requests. Where it is not brought
// to its end, what is in memory may be half done, and is let go of.
func (s *Store) serve(p *writeQueue, requests []*request) (n int, err error) {
	p.look.Lock()
	defer p.look.Unlock()
	whole := false
	defer func() {
		if !whole {
			p.state = nil
		}
	}()
	b, err := s.begin(p)
	if err != nil {
		return 1, err
	}
	if n, err = engine.Together(b, requests); err != nil {
		if r := requests[n-1]; r.Panic != nil {
			r.Panic, err = nil, fmt.Errorf("namespace: %s: %w", p.id, err)
		}
		return n, err
	}
	err = b.finish()
	whole = true
	if err == nil && b.c.isFollowed() {
		p.followed.Store(true)
	}
	return n, err
}

// notify lets followers know of a batch.
func (p *writeQueue) notify(changed []group.VerdictChange) {
	p.newsMu.Lock()
	defer p.newsMu.Unlock()
	p.changes = append(p.changes, changed...)
	if over := len(p.changes) - keptChanges; over > 0 {
		p.changes = append([]group.VerdictChange(nil), p.changes[over:]...)
		p.gone += uint64(over)
	}
	close(p.news)
	p.news = make(chan struct{})
}

// view calls fn with what is loaded of a namespace, which does not change meanwhile. It
// returns ErrNoNamespace where there is none.
func (s *Store) view(ns codec.GroupID, fn func(*loaded) error) error {
	return s.viewAny(ns, func(c *loaded) error {
		if c.ledger.Len() == 0 {
			return fmt.Errorf("%w: %s", ErrNoNamespace, ns)
		}
		return fn(c)
	})
}

// viewAny is view of a namespace that may not have begun.
func (s *Store) viewAny(ns codec.GroupID, fn func(*loaded) error) error {
	p, err := s.queue(ns)
	if err != nil {
		return err
	}
	defer s.leave(p)
	for {
		p.look.RLock()
		if p.state != nil {
			defer p.look.RUnlock()
			return fn(p.state)
		}
		p.look.RUnlock()
		if err := s.submitTo(p); err != nil {
			return err
		}
	}
}

// submitTo has the namespace loaded.
func (s *Store) submitTo(p *writeQueue) error {
	r := &request{Task: func(*batch) error { return nil }}
	if err := s.submit(p.id, r); err != nil {
		return err
	}
	return r.Err
}
