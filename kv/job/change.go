package job

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// load returns the record of a job, or kv.ErrNotFound. What it has is valid until the
// transaction ends.
func load(tx *kv.Tx, id string) (stored, error) {
	r, err := tx.Get([]byte(id))
	if err != nil {
		return stored{}, err
	}
	return parse(id, r.Value)
}

// save stores a job, and sets its timer.
func (q *Queues) save(tx *kv.Tx, id string, s *stored) error {
	var o kv.PutOptions
	timer := uint64(0)
	switch s.state {
	case Scheduled:
		timer = s.due
	case Leased:
		timer = s.until
	case Dead:
		o.TTL = DeadFor
	}
	if timer == 0 {
		if _, err := tx.Cancel(id); err != nil {
			return err
		}
	} else if err := tx.Schedule(id, moment(timer), nil); err != nil {
		return err
	}
	_, err := tx.Put([]byte(id), s.append(nil), o)
	if s.state == Ready {
		q.ready(s, s.arrived < tx.Revision())
	}
	return err
}

// ready has a job found by who looks for those of its queue, behind which it is, or where it
// returns to its place. It is called while the batch is made: who looks then does so in a batch
// that is made after it.
func (q *Queues) ready(s *stored, returns bool) {
	if q == nil {
		return // nobody has asked for the queues of the tenant yet
	}
	q.mu.Lock()
	q.heads[s.queue] = min(q.heads[s.queue], s.arrived)
	if returns {
		q.returned++
	}
	q.mu.Unlock()
	q.store.call(s.queue, q)
}

// arrive puts a job into its queue, behind all that are there.
func (s *stored) arrive(tx *kv.Tx) { s.state, s.arrived = Ready, tx.Revision()+1 }

// Schedule makes a job of the tenant within a unit of work, to be done when it is due: in
// its queue at once if that is now. A job of the same id is replaced, whatever its state:
// one that a worker does is fenced by it. Errors are ErrInvalidArgument, ErrTooLarge,
// ErrTooMany where the tenant's quota is reached, and ErrSpaceNotFound if it was dropped.
func (q *Queues) Schedule(w *kv.Work, j Job) error {
	tx, err := q.in(w)
	if err != nil {
		return err
	}
	return q.schedule(tx, j)
}

func (q *Queues) schedule(tx *kv.Tx, j Job) error {
	if err := j.check(); err != nil {
		return err
	}
	now := millis(tx.Now())
	s := stored{queue: queueNumber(j.Queue), due: now, made: now, most: uint32(j.MaxAttempts), payload: j.Payload, state: Scheduled}
	if !j.Due.IsZero() {
		s.due = millis(j.Due)
	}
	if s.due <= now {
		s.arrive(tx)
	}
	return q.save(tx, j.ID, &s)
}

// Enqueue makes a job of the tenant within a unit of work that is due at once, at the end of
// its queue, unless there is one of its id, whatever the state of that: it returns the id,
// and whether the job was made. An id of "" has one made. Errors are those of Schedule.
func (q *Queues) Enqueue(w *kv.Work, j Job) (id string, made bool, err error) {
	tx, err := q.in(w)
	if err != nil {
		return "", false, err
	}
	return q.enqueue(tx, j)
}

func (q *Queues) enqueue(tx *kv.Tx, j Job) (id string, made bool, err error) {
	if !j.Due.IsZero() {
		return "", false, invalid("due", "a job that is enqueued is due at once: schedule it")
	}
	given := j.ID != ""
	for n := tx.Revision() + 1; ; n++ {
		if !given {
			j.ID = fmt.Sprintf("%s-%d", j.Queue, n)
		}
		if err := j.check(); err != nil {
			return "", false, err
		}
		_, err := tx.Get([]byte(j.ID))
		if errors.Is(err, kv.ErrNotFound) {
			return j.ID, true, q.schedule(tx, j)
		}
		if err != nil || given {
			return j.ID, false, err
		}
	}
}

// Cancel removes a job of the tenant within a unit of work, whatever its state, and says
// whether there was one: a worker that does it is fenced.
func (q *Queues) Cancel(w *kv.Work, id string) (bool, error) {
	tx, err := q.in(w)
	if err != nil {
		return false, err
	}
	return remove(tx, id)
}

func remove(tx *kv.Tx, id string) (bool, error) {
	if err := checkID(id); err != nil {
		return false, err
	}
	if _, err := tx.Delete([]byte(id)); errors.Is(err, kv.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	_, err := tx.Cancel(id)
	return true, err
}

// Complete removes a job within a unit of work of the tenant, so that what its worker has
// done lands with it or not at all. It returns ErrFenced unless the job is leased by the
// lease that has a token.
func (q *Queues) Complete(w *kv.Work, id string, token uint64) error {
	tx, err := q.in(w)
	if err != nil {
		return err
	}
	return complete(tx, id, token)
}

func complete(tx *kv.Tx, id string, token uint64) error {
	if _, err := leased(tx, id, token); err != nil {
		return err
	}
	_, err := remove(tx, id)
	return err
}

// leased returns a job that is leased by the lease of a token, else ErrFenced.
func leased(tx *kv.Tx, id string, token uint64) (stored, error) {
	if err := checkID(id); err != nil {
		return stored{}, err
	}
	s, err := load(tx, id)
	if errors.Is(err, kv.ErrNotFound) {
		return s, refuse(CodeFenced, "token", "the lease is over: the job is done, or was cancelled")
	}
	if err != nil {
		return s, err
	}
	switch {
	case s.state != Leased || s.until <= millis(tx.Now()):
		return s, refuse(CodeFenced, "token", "the lease is over: its time was, and the job is another's to do")
	case s.token != token:
		e := refuse(CodeFenced, "token", "the job is leased by another lease")
		e.Token = s.token
		return s, e
	}
	return s, nil
}

// fire is what the timer of a job does: one that is due comes to its queue, and one whose
// lease is over comes back, or is dead.
func (s *Store) fire(tx *kv.Tx, j kv.Job) error {
	job, err := load(tx, j.Name)
	if errors.Is(err, kv.ErrNotFound) || errors.Is(err, engine.ErrCorrupt) {
		return nil // stoa verify says so of one that is damaged
	}
	if err != nil {
		return err
	}
	switch job.state {
	case Scheduled:
		job.arrive(tx)
	case Leased:
		job.back(tx, "its lease was over before it was done")
	default:
		return nil
	}
	job.payload = slices.Clone(job.payload)
	return s.of(tx.Scope()).save(tx, j.Name, &job)
}

// back is what becomes of a job whose attempt has failed: at its place in the queue again,
// or dead.
func (s *stored) back(tx *kv.Tx, failure string) {
	s.failure, s.state, s.until = failure, Ready, 0
	if s.attempts >= s.most {
		s.state, s.until = Dead, millis(tx.Now())
	}
}

// Retry has a dead job tried again, at the end of its queue and as often as it could be at
// first, and says whether it was dead. It returns ErrNotFound if there is no such job.
func (q *Queues) Retry(ctx context.Context, d engine.Durability, id string) (dead bool, err error) {
	if err := checkID(id); err != nil {
		return false, err
	}
	err = q.update(ctx, d, func(tx *kv.Tx) error {
		s, err := load(tx, id)
		if dead = s.state == Dead; err != nil || !dead {
			return err
		}
		s.attempts, s.until = 0, 0
		s.arrive(tx)
		return q.save(tx, id, &s)
	})
	return dead && err == nil, err
}
