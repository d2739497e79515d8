package dag

import (
	"container/list"
	"context"
	"sync"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
)

// writeQueue is one context in memory, where its writers queue.
type writeQueue struct {
	id       codec.ContextID
	requests *engine.Queue[task]

	refs    int           // guarded by Store.mu
	element *list.Element // of writeQueues.used; guarded by Store.mu

	mu    sync.Mutex
	watch chan struct{} // closed when deltas have been applied; nil: nobody waits

	state     *loaded // nil: not loaded; owned by whoever leads
	unwritten int     // what its tail counts for in Store.tails; owned likewise
}

// task is something that is to be done with a context.
type task struct {
	do     func(g *writeGroup) error // puts changes into the group; what it answers it keeps to itself
	alone  bool                      // with a group of its own: do writes by itself
	synced bool                      // the changes are to be on disk before it is answered
}

// request is a task on its way through the queue of its context.
type request = engine.Request[task]

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
		q.requests = engine.NewQueue(maxGroup, func(group []*request) (int, error) { return s.serve(q, group) })
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
			s.tails.Add(-int64(old.unwritten))
		}
	}
}

// maxGroup is how many requests are served with one batch.
const maxGroup = 256

// submit has requests for a context done, in order, and returns when all are
// answered. Errors are in the requests; the one returned is ErrClosed, or that of
// ctx if it ended while they waited behind others: then nothing is done.
func (s *Store) submit(ctx context.Context, id codec.ContextID, requests ...*request) error {
	q, err := s.writeQueue(id)
	if err != nil {
		return err
	}
	defer s.release(q)
	return q.requests.Do(ctx, requests...)
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
