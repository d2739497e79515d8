package job

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// LeaseOptions say which jobs a worker is given.
type LeaseOptions struct {
	Queue  string
	ID     string // this one only, if it is ready; "": the first of the queue
	Worker string // who does them, for people; 1 to MaxWorker bytes
	// For is how long the worker has for each, from now on, MinLease to MaxLease; 0: PlainLease.
	For   time.Duration
	Limit int           // jobs, at most MaxBatch; 0: 1
	Wait  time.Duration // for a job, if there is none; at most MaxWait

	Durability engine.Durability
}

func (o *LeaseOptions) check() error {
	if err := checkQueue(o.Queue); err != nil {
		return err
	}
	if o.Worker == "" {
		return invalid("worker", "a worker has a name of 1 to %d bytes", MaxWorker)
	}
	if err := checkText("worker", o.Worker, MaxWorker); err != nil {
		return err
	}
	if o.ID != "" {
		if err := checkID(o.ID); err != nil {
			return err
		}
	}
	if o.Limit < 0 || o.Limit > MaxBatch {
		return invalid("limit", "a worker is given 1 to %d jobs at once, and 0 is 1", MaxBatch)
	}
	if o.Wait < 0 || o.Wait > MaxWait {
		return invalid("wait", "a worker waits for 0 to %s", MaxWait)
	}
	if !o.Durability.Valid() {
		return invalid("durability", "there is no such durability")
	}
	o.Limit = max(o.Limit, 1)
	return checkFor(&o.For)
}

func checkFor(d *time.Duration) error {
	if *d == 0 {
		*d = PlainLease
	}
	if *d < MinLease || *d > MaxLease {
		return invalid("for", "a lease lasts for %s to %s, and 0 is %s", MinLease, MaxLease, PlainLease)
	}
	return nil
}

// Lease gives a worker the first jobs of a queue, none if there are none and none came
// while it waited. Each has a token, greater than that of every lease before: while the
// lease lasts nobody else is given the job, and from then on the token is worth nothing.
func (q *Queues) Lease(ctx context.Context, o LeaseOptions) ([]Info, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if q.space == nil {
		return nil, kv.ErrSpaceNotFound
	}
	var list []Info
	err := q.space.Await(ctx, q.store.kv.Now().Add(o.Wait), func() (found bool, err error) {
		list, err = q.take(ctx, &o)
		return len(list) > 0, err
	})
	return list, told(err)
}

// take is Lease without waiting, of options that have been checked.
func (q *Queues) take(ctx context.Context, o *LeaseOptions) (list []Info, err error) {
	number := queueNumber(o.Queue)
	var seen head
	err = q.update(ctx, o.Durability, func(tx *kv.Tx) error {
		list, seen = nil, head{}
		if o.ID != "" {
			s, err := load(tx, o.ID)
			if errors.Is(err, kv.ErrNotFound) || err == nil && (s.state != Ready || s.queue != number) {
				return nil
			}
			if err == nil {
				list, err = q.give(tx, list, o.ID, s, o)
			}
			return err
		}
		found, at, err := q.first(tx, number, o.Limit)
		if err != nil {
			return err
		}
		seen = at
		for _, id := range found {
			s, err := load(tx, id)
			if err == nil {
				list, err = q.give(tx, list, id, s, o)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	q.begin(number, seen)
	return list, nil
}

// head is where a batch found that the jobs of a queue which are ready begin.
type head struct {
	place    uint64 // 0: it did not look
	returned uint64 // of Queues, then
}

// first returns the ids of the first jobs that are ready, and where they begin: rows of those
// before, which are removed, cost as much to look over as any.
func (q *Queues) first(tx *kv.Tx, number uint8, limit int) (ids []string, at head, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	from, to := termsOf(number, Ready, q.heads[number])
	found, _, err := tx.ByTerm(indexPlace, from, to, limit)
	if err != nil {
		return nil, at, err
	}
	at = head{tx.Revision() + 1, q.returned}
	for i, f := range found {
		if i == 0 {
			at.place = placeOf(f.Term)
		}
		ids = append(ids, string(f.Key))
	}
	return ids, at, nil
}

// begin takes note of where the jobs of a queue begin, as a batch found it that is written: one
// that is not may have found what others did that is not written either, and is made again.
// A job that has returned meanwhile may have its place before; those that are new have theirs
// behind.
func (q *Queues) begin(number uint8, at head) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at.place != 0 && at.returned == q.returned {
		q.heads[number] = at.place
	}
}

// give leases a job, and returns it behind others.
func (q *Queues) give(tx *kv.Tx, list []Info, id string, s stored, o *LeaseOptions) ([]Info, error) {
	s.state, s.worker, s.token = Leased, o.Worker, tx.Revision()+1
	s.until = millis(tx.Now().Add(o.For))
	s.attempts++
	i := s.info(id)
	s.payload = i.Payload
	return append(list, i), q.save(tx, id, &s)
}

// Extend has a lease last for a time from now on, and returns when it is over. It returns
// ErrFenced if it is over already.
func (q *Queues) Extend(ctx context.Context, d engine.Durability, id string, token uint64, last time.Duration) (until time.Time, err error) {
	if err := checkFor(&last); err != nil {
		return until, err
	}
	err = q.update(ctx, d, func(tx *kv.Tx) error {
		s, err := leased(tx, id, token)
		if err != nil {
			return err
		}
		s.until = millis(tx.Now().Add(last))
		until = moment(s.until)
		return q.save(tx, id, &s)
	})
	return until, err
}

// Done is Complete in a batch of its own.
func (q *Queues) Done(ctx context.Context, d engine.Durability, id string, token uint64) error {
	return q.update(ctx, d, func(tx *kv.Tx) error { return complete(tx, id, token) })
}

// Fail ends a lease whose worker could not do the job: it is to be done after a delay, at
// most MaxDelay, by whom it is given to; without one it has its place in the queue again. It
// is dead, and true is returned, if this was the last of its attempts. It returns ErrFenced
// if the lease is over already.
func (q *Queues) Fail(ctx context.Context, d engine.Durability, id string, token uint64, failure string, delay time.Duration) (dead bool, err error) {
	if delay < 0 || delay > MaxDelay {
		return false, invalid("delay", "a job that failed is due again after 0 to %s", MaxDelay)
	}
	if len(failure) > MaxFailure {
		return false, tooLarge("failure", len(failure), MaxFailure)
	}
	if !utf8.ValidString(failure) {
		return false, invalid("failure", "it is no UTF-8")
	}
	err = q.update(ctx, d, func(tx *kv.Tx) error {
		s, err := leased(tx, id, token)
		if err != nil {
			return err
		}
		s.back(tx, failure)
		if dead = s.state == Dead; !dead && delay > 0 {
			s.state, s.due = Scheduled, millis(tx.Now().Add(delay))
		}
		return q.save(tx, id, &s)
	})
	return dead && err == nil, err
}

// giveBack ends a lease as if it had never been: its worker has not begun, or ends with its
// process.
func (q *Queues) giveBack(ctx context.Context, id string, token uint64) error {
	return q.update(ctx, engine.WAL, func(tx *kv.Tx) error {
		s, err := leased(tx, id, token)
		if err != nil {
			return err
		}
		s.state, s.until = Ready, 0
		s.attempts--
		return q.save(tx, id, &s)
	})
}
