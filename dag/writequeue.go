package dag

import (
	"container/list"
	"context"
	"slices"
	"sync"

	"github.com/stoadb/stoa/codec"
)

// writeQueue is one context in memory, where its writers queue. Whoever
// finds nobody applying leads: takes what is queued, and answers each.
type writeQueue struct {
	id codec.ContextID

	refs    int           // guarded by Store.mu
	element *list.Element // of writeQueues.used; guarded by Store.mu

	mu      sync.Mutex
	leading bool
	waiting []*request
	watch   chan struct{} // closed when deltas have been applied; nil: nobody waits

	state *loaded // nil: not loaded; owned by whoever leads
}

// request is something that is to be done with a context, on its way through the
// queue of its context.
type request struct {
	do     func(g *writeGroup) error // puts changes into the group; what it answers it keeps to itself
	alone  bool                      // with a group of its own: do writes by itself
	synced bool                      // the changes are to be on disk before it is answered
	err    error
	panics any
	done   chan bool // true: lead; false: answered
}

// writeQueues are the contexts in memory: those in use, and as many more as there is
// room for. It is guarded by Store.mu.
type writeQueues struct {
	max  int
	all  map[codec.ContextID]*writeQueue
	used *list.List // of *writeQueue, the one used last first
}

func newWriteQueues(most int) writeQueues {
	return writeQueues{max: most, all: make(map[codec.ContextID]*writeQueue), used: list.New()}
}

// writeQueue returns the queue of a context, held until release.
func (s *Store) writeQueue(id codec.ContextID) (*writeQueue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	q := s.queues.all[id]
	if q == nil {
		q = &writeQueue{id: id}
		s.queues.all[id] = q
		q.element = s.queues.used.PushFront(q)
	} else {
		s.queues.used.MoveToFront(q.element)
	}
	if q.refs++; q.refs == 1 {
		s.calls.Add(1)
	}
	return q, nil
}

// release gives a queue back and makes room.
func (s *Store) release(q *writeQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.refs--; q.refs == 0 {
		s.calls.Done()
	}
	for e := s.queues.used.Back(); e != nil && len(s.queues.all) > s.queues.max; {
		old := e.Value.(*writeQueue)
		e = e.Prev()
		if old.refs == 0 {
			delete(s.queues.all, old.id)
			s.queues.used.Remove(old.element)
		}
	}
}

// submit queues requests for a context, in order, and returns when all are
// answered. Errors are in the requests; the one returned is ErrClosed, or that of
// ctx if it ended while they waited behind others: then nothing is done.
func (s *Store) submit(ctx context.Context, id codec.ContextID, requests ...*request) error {
	q, err := s.writeQueue(id)
	if err != nil {
		return err
	}
	defer s.release(q)
	last := requests[len(requests)-1]
	last.done = make(chan bool, 1)
	q.mu.Lock()
	q.waiting = append(q.waiting, requests...)
	lead := !q.leading
	q.leading = true
	q.mu.Unlock()
	if !lead {
		select {
		case lead = <-last.done:
		case <-ctx.Done():
			if q.withdraw(requests) {
				return ctx.Err()
			}
			lead = <-last.done
		}
	}
	if lead {
		s.lead(q, last)
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
func (s *Store) lead(q *writeQueue, last *request) {
	for {
		requests := q.take()
		s.serve(q, requests)
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
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.waiting {
		if r.done != nil {
			r.done <- true
			return
		}
	}
	q.leading = false
}

// maxGroup is how many requests are served with one batch.
const maxGroup = 256

// take removes what is to be served next from the queue.
func (q *writeQueue) take() []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(1, len(q.waiting))
	for n < len(q.waiting) && n < maxGroup && !q.waiting[0].alone && !q.waiting[n].alone {
		n++
	}
	requests := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return requests
}

// withdraw takes requests of one caller out of the queue, unless they are being
// served or the caller has been told to lead.
func (q *writeQueue) withdraw(requests []*request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := slices.Index(q.waiting, requests[0])
	if first < 0 || len(requests[len(requests)-1].done) > 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, first, first+len(requests))
	return true
}

// watchApplied returns a channel that is closed when deltas of the context have
// been applied after the call.
func (q *writeQueue) watchApplied() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.watch == nil {
		q.watch = make(chan struct{})
	}
	return q.watch
}

// applied wakes who watches.
func (q *writeQueue) applied() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.watch != nil {
		close(q.watch)
		q.watch = nil
	}
}
