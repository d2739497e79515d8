package dag

import (
	"container/list"
	"context"
	"slices"
	"sync"

	"github.com/stoadb/stoa/codec"
)

// slot is the place of one context in memory, where its writers queue. Whoever
// finds nobody applying leads: takes what is queued, and answers each.
type slot struct {
	id codec.ContextID

	refs    int           // guarded by Store.mu
	element *list.Element // of slots.used; guarded by Store.mu

	mu      sync.Mutex
	leading bool
	queue   []*request
	watch   chan struct{} // closed when deltas have been applied; nil: nobody waits

	state *loaded // nil: not loaded; owned by whoever leads
}

// request is something that is to be done with a context, on its way through the
// queue of its slot.
type request struct {
	do     func(g *group) error // puts changes into the group; what it answers it keeps to itself
	alone  bool                 // with a group of its own: do writes by itself
	synced bool                 // the changes are to be on disk before it is answered
	err    error
	panics any
	done   chan bool // true: lead; false: answered
}

// slots are the contexts in memory: those in use, and as many more as there is
// room for. It is guarded by Store.mu.
type slots struct {
	max  int
	all  map[codec.ContextID]*slot
	used *list.List // of *slot, the one used last first
}

func newSlots(most int) slots {
	return slots{max: most, all: make(map[codec.ContextID]*slot), used: list.New()}
}

// slot returns the place of a context, held until release.
func (s *Store) slot(id codec.ContextID) (*slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	p := s.slots.all[id]
	if p == nil {
		p = &slot{id: id}
		s.slots.all[id] = p
		p.element = s.slots.used.PushFront(p)
	} else {
		s.slots.used.MoveToFront(p.element)
	}
	if p.refs++; p.refs == 1 {
		s.calls.Add(1)
	}
	return p, nil
}

// release gives a slot back and makes room.
func (s *Store) release(p *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.refs--; p.refs == 0 {
		s.calls.Done()
	}
	for e := s.slots.used.Back(); e != nil && len(s.slots.all) > s.slots.max; {
		old := e.Value.(*slot)
		e = e.Prev()
		if old.refs == 0 {
			delete(s.slots.all, old.id)
			s.slots.used.Remove(old.element)
		}
	}
}

// submit queues requests for a context, in order, and returns when all are
// answered. Errors are in the requests; the one returned is ErrClosed, or that of
// ctx if it ended while they waited behind others: then nothing is done.
func (s *Store) submit(ctx context.Context, id codec.ContextID, requests ...*request) error {
	p, err := s.slot(id)
	if err != nil {
		return err
	}
	defer s.release(p)
	last := requests[len(requests)-1]
	last.done = make(chan bool, 1)
	p.mu.Lock()
	p.queue = append(p.queue, requests...)
	lead := !p.leading
	p.leading = true
	p.mu.Unlock()
	if !lead {
		select {
		case lead = <-last.done:
		case <-ctx.Done():
			if p.withdraw(requests) {
				return ctx.Err()
			}
			lead = <-last.done
		}
	}
	if lead {
		s.lead(p, last)
	}
	for _, r := range requests {
		if r.panics != nil {
			panic(r.panics)
		}
	}
	return nil
}

// lead serves the queue until last, which is the caller's, is answered, and then
// lets another caller lead.
func (s *Store) lead(p *slot, last *request) {
	for {
		requests := p.take()
		s.serve(p, requests)
		mine := slices.Contains(requests, last)
		for _, r := range requests {
			if r != last && r.done != nil {
				r.done <- false
			}
		}
		if mine {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.queue {
		if r.done != nil {
			r.done <- true
			return
		}
	}
	p.leading = false
}

// maxGroup is how many requests are served with one batch.
const maxGroup = 256

// take removes what is to be served next from the queue.
func (p *slot) take() []*request {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(1, len(p.queue))
	for n < len(p.queue) && n < maxGroup && !p.queue[0].alone && !p.queue[n].alone {
		n++
	}
	requests := slices.Clone(p.queue[:n])
	p.queue = slices.Delete(p.queue, 0, n)
	return requests
}

// withdraw takes requests of one caller out of the queue, unless they are being
// served or the caller has been told to lead.
func (p *slot) withdraw(requests []*request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := slices.Index(p.queue, requests[0])
	if first < 0 || len(requests[len(requests)-1].done) > 0 {
		return false
	}
	p.queue = slices.Delete(p.queue, first, first+len(requests))
	return true
}

// watchApplied returns a channel that is closed when deltas of the context have
// been applied after the call.
func (p *slot) watchApplied() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watch == nil {
		p.watch = make(chan struct{})
	}
	return p.watch
}

// applied wakes who watches.
func (p *slot) applied() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watch != nil {
		close(p.watch)
		p.watch = nil
	}
}
