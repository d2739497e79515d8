package engine

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
)

// ErrAbandoned is the error of requests whose leader panicked or ended
// (runtime.Goexit) while it served them.
var ErrAbandoned = errors.New("engine: the goroutine that served this request and others with it panicked or ended (runtime.Goexit); it may or may not have taken effect")

// Queue serves the requests of many goroutines one after the other, and those
// that wait at the same time together, so that they share a batch and its sync.
// No goroutine is its own: a caller that finds nobody leading leads, and serves
// what waits, until the last of its own requests is answered. Then the caller
// that has waited longest leads. This is the write group of RocksDB
// (WriteThread), and in the literature flat combining (Hendler, Incze, Shavit,
// Tzafrir, 2010).
//
// What a Queue holds to:
//   - Requests are served in the order in which they came; those of one call in
//     the order of the call.
//   - Where several that were served together fail, they are served again one by
//     one, so that only the guilty fail.
//   - What one request fails with, or panics with, comes out at the call that made
//     it, and nowhere else.
//   - A panic or runtime.Goexit of the function that serves ends the call that
//     leads, as it would without a queue. Other requests that were served with its
//     own get [ErrAbandoned], and the next caller leads.
//
// Any number of goroutines may use a Queue at once. It must not be copied.
type Queue[T any] struct {
	serve func([]*Request[T]) (int, error)
	most  int

	mu      sync.Mutex
	leading bool          // somebody serves, or has been told to
	waiting []*Request[T] // in order
	taken   int           // so many of waiting are being served
	stopped error         // what new requests are answered
	idle    sync.Cond     // nobody leads

	// Owned by whoever leads.
	group    []*Request[T] // the first of waiting
	singly   int           // so many are left to be served one by one
	answered int           // so many were, the last time
}

// Request is something that is asked of a [Queue]. It belongs to one call of Do at
// a time; Task may be changed, and the result read, outside of that.
type Request[T any] struct {
	Task  T
	Err   error // why it has had no effect; nil: it has
	Panic any   // what Do raises in the goroutine that asked; nil: nothing

	answered bool
	waits    bool      // a caller is to be woken by wake
	wake     chan bool // true: lead; false: answered; made when it is needed
}

// NewQueue returns a queue that has serve do what is asked for, for up to most
// requests at once.
//
// serve gets the requests that have waited longest, without Err and Panic, and
// does the first of them together, as many as it likes. It returns how many, which
// is at least one. Its error says that none of those has had an effect. One that
// fails by itself, while the others take effect, has Err or Panic set. Requests may
// be served more than once, until they have an effect or have failed alone. serve
// is called by one goroutine at a time, which may be that of any caller of Do, and
// keeps nothing of the slice; it must not call the queue.
func NewQueue[T any](most int, serve func([]*Request[T]) (int, error)) *Queue[T] {
	q := &Queue[T]{serve: serve, most: most}
	q.idle.L = &q.mu
	return q
}

// Do has the requests served, in order, and returns when all are answered. Errors
// are in the requests; if one has a Panic, Do raises the first. It returns the error
// of Stop, or that of ctx if ctx ends while all of them wait behind others: then
// none has had an effect.
func (q *Queue[T]) Do(ctx context.Context, requests ...*Request[T]) error {
	if len(requests) == 0 {
		return nil
	}
	last := requests[len(requests)-1]
	for _, r := range requests {
		r.answered, r.waits = false, false
	}
	q.mu.Lock()
	if q.stopped != nil {
		defer q.mu.Unlock()
		return q.stopped
	}
	q.waiting = append(q.waiting, requests...)
	if q.leading {
		if last.wake == nil {
			last.wake = make(chan bool, 1)
		}
		last.waits = true
		q.mu.Unlock()
		lead, err := q.wait(ctx, last.wake, requests)
		if err != nil {
			return err
		}
		if lead {
			q.mu.Lock()
			q.lead(last)
		}
	} else {
		q.leading = true
		q.lead(last)
	}
	for _, r := range requests {
		if r.Panic != nil {
			panic(r.Panic)
		}
	}
	return nil
}

// wait returns whether the caller is to lead, once that is so or all is answered, or
// the error of ctx.
func (q *Queue[T]) wait(ctx context.Context, wake <-chan bool, requests []*Request[T]) (lead bool, err error) {
	done := ctx.Done()
	if done == nil {
		return <-wake, nil
	}
	select {
	case lead = <-wake:
		return lead, nil
	case <-done:
		if q.withdraw(requests) {
			return false, ctx.Err()
		}
		return <-wake, nil
	}
}

// withdraw takes the requests of one caller out of the queue, unless one was served
// already, or the caller has been told to lead.
func (q *Queue[T]) withdraw(requests []*Request[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := slices.Index(q.waiting[q.taken:], requests[0])
	if first < 0 || !requests[len(requests)-1].waits {
		return false
	}
	first += q.taken
	q.waiting = slices.Delete(q.waiting, first, first+len(requests))
	return true
}

// lead serves until last, which is the caller's, is answered, and has the next one
// lead, whatever becomes of this goroutine. It is called with mu held, and gives it
// back.
func (q *Queue[T]) lead(last *Request[T]) {
	defer q.pass()
	for !last.answered {
		q.gather()
		q.take()
		q.mu.Unlock()
		n := q.serveGroup()
		q.answer(n)
		q.mu.Lock()
		q.drop(n)
	}
}

// gather lets those run that can, where fewer wait than were answered last. Those
// who were answered together ask again together, and without it the first of them
// would be served alone, and the sync of one would keep all others waiting.
func (q *Queue[T]) gather() {
	if len(q.waiting) < q.answered {
		q.mu.Unlock()
		runtime.Gosched()
		q.mu.Lock()
	}
}

// take moves those who have waited longest into the group.
func (q *Queue[T]) take() {
	q.taken = min(len(q.waiting), q.most)
	if q.singly > 0 {
		q.taken, q.singly = 1, q.singly-1
	}
	q.group = append(q.group[:0], q.waiting[:q.taken]...)
}

// serveGroup serves the first of the group, and returns how many are to be answered.
func (q *Queue[T]) serveGroup() int {
	for _, r := range q.group {
		r.Err, r.Panic = nil, nil
	}
	n, err := q.serve(q.group)
	if err == nil {
		return n
	}
	if n > 1 {
		q.singly = n
		return 0
	}
	q.group[0].fail(err)
	return 1
}

// answer tells the first n of the group that they are done. They belong to their
// callers from then on.
func (q *Queue[T]) answer(n int) {
	q.answered = n
	for _, r := range q.group[:n] {
		r.answered = true
		if r.waits {
			r.wake <- false
		}
	}
}

// drop takes the group out of what it may be asked, and the first n of those who
// wait.
func (q *Queue[T]) drop(n int) {
	clear(q.group)
	q.waiting, q.taken = slices.Delete(q.waiting, 0, n), 0
}

// pass has the caller lead that has waited longest. Where the leader was ended
// before its group was answered, it answers that.
func (q *Queue[T]) pass() {
	if q.taken > 0 {
		for _, r := range q.group {
			r.fail(ErrAbandoned)
		}
		q.answer(len(q.group))
		q.mu.Lock()
		q.drop(len(q.group))
	}
	defer q.mu.Unlock()
	for _, r := range q.waiting {
		if r.waits {
			r.waits = false // it is answered on its own goroutine
			r.wake <- true
			return
		}
	}
	q.leading = false
	q.idle.Broadcast()
}

// fail sets err unless the request has failed by itself.
func (r *Request[T]) fail(err error) {
	if r.Err == nil && r.Panic == nil {
		r.Err = err
	}
}

// Stop makes every later call of Do return err, and waits until those under way are
// answered.
func (q *Queue[T]) Stop(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = err
	for q.leading {
		q.idle.Wait()
	}
}

// Resume takes requests again after a Stop.
func (q *Queue[T]) Resume() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = nil
}

// Stopped returns the error that new requests get, or nil.
func (q *Queue[T]) Stopped() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stopped
}
