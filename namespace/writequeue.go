package namespace

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// writeQueue is where requests about one namespace meet: whoever finds nobody serving
// serves, and takes along who has come meanwhile, so that many share one batch.
type writeQueue struct {
	id codec.GroupID

	mu      sync.Mutex
	serving bool
	queue   []*request

	state   *loaded // nil: not loaded; whoever serves may touch it, or holds look for reading
	look    sync.RWMutex
	current atomic.Pointer[loaded] // state, for those who only want a key

	newsMu  sync.Mutex
	news    chan struct{} // closed when something was written
	changes []group.VerdictChange
	gone    uint64 // so many changes came before those
}

// request is something to be done to a namespace.
type request struct {
	do   func(b *batch) error
	err  error
	done chan bool // true: serve; false: done
}

// keptChanges is how many changes of verdicts followers may be behind.
const keptChanges = 4096

// submit does what requests ask for, in order.
func (s *Store) submit(ns codec.GroupID, requests ...*request) error {
	p, err := s.queue(ns)
	if err != nil {
		return err
	}
	defer s.calls.Done()
	for _, r := range requests {
		r.done = make(chan bool, 1)
	}
	p.mu.Lock()
	p.queue = append(p.queue, requests...)
	serving := p.serving
	p.serving = true
	p.mu.Unlock()
	if !serving {
		requests[0].done <- true
	}
	for _, r := range requests {
		if <-r.done {
			s.serve(p)
			<-r.done
		}
	}
	return nil
}

// maxServed is how many requests share a batch.
const maxServed = 512

// serve does what the queue asks for until the request of this goroutine, the first of
// it, is done, and lets another go on. Requests are answered only here.
func (s *Store) serve(p *writeQueue) {
	p.mu.Lock()
	n := min(len(p.queue), maxServed)
	mine := append([]*request(nil), p.queue[:n]...)
	p.mu.Unlock()
	s.do(p, mine)
	p.mu.Lock()
	p.queue = append([]*request(nil), p.queue[n:]...)
	if len(p.queue) == 0 {
		p.serving = false
	} else {
		p.queue[0].done <- true
	}
	p.mu.Unlock()
	for _, r := range mine {
		r.done <- false
	}
}

// do serves requests with as few batches as they fit in. Where a batch fails its requests
// are served one by one, so that only the guilty fail.
func (s *Store) do(p *writeQueue, requests []*request) {
	p.look.Lock()
	defer p.look.Unlock()
	for singly := 0; len(requests) > 0; {
		most := len(requests)
		if singly > 0 {
			most, singly = 1, singly-1
		}
		n, err := s.together(p, requests[:most])
		switch {
		case err == nil:
		case n > 1:
			singly = n
			continue
		default:
			requests[0].err = err
		}
		requests = requests[n:]
	}
}

// together serves the first of requests with one batch. It returns how many those are, at
// least one, and an error if none of them has had an effect.
func (s *Store) together(p *writeQueue, requests []*request) (n int, err error) {
	n = 1
	defer func() {
		if fault := recover(); fault != nil { // what is in memory may be half done
			p.state = nil
			err = fmt.Errorf("namespace: %s: panic: %v\n%s", p.id, fault, debug.Stack())
		}
	}()
	b, err := s.begin(p)
	if err != nil {
		return n, err
	}
	for ; ; n++ {
		r := requests[n-1]
		before := b.changed()
		if r.err = r.do(b); r.err != nil && b.changed() != before {
			p.state = nil
			return n, r.err
		}
		if n == len(requests) || b.full() {
			return n, b.finish()
		}
	}
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
	defer s.calls.Done()
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
	r := &request{do: func(*batch) error { return nil }}
	if err := s.submit(p.id, r); err != nil {
		return err
	}
	return r.err
}
