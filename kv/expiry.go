package kv

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Everything that has a due time, of every space, stands in one line of rows
// ordered by that time, and one goroutine sleeps until the first of them: it
// removes what has expired and writes the events, does the jobs, trims streams.
const (
	sweepRows  = 256                    // due rows of one batch, so that other writes wait for few
	sweepRest  = 5 * time.Millisecond   // between passes, so that what is due shortly after each other shares one
	sweepLook  = 500 * time.Millisecond // how often the time of day, which may jump, is looked at
	sweepRetry = time.Second            // until a job or a batch that failed is tried again
	// sweepPatience is what that time grows to while the engine takes no writes.
	sweepPatience = time.Minute
)

// scheduler knows the moment before which nothing is due.
type scheduler struct {
	mu   sync.Mutex
	next uint64 // ms; MaxUint64: nothing is due
	poke chan struct{}
}

func (d *scheduler) init() { d.poke = make(chan struct{}, 1) } // next is 0: look

// expect notes that something may be due at a moment.
func (d *scheduler) expect(due uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next = min(d.next, due)
}

// failed is expect of what could not be done. Whoever was poked for meanwhile
// waits with it: the sweep comes again when it is time to try again, or when
// something is written after this.
func (d *scheduler) failed(due uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next = min(d.next, due)
	d.drain()
}

// drain takes back a poke. The caller holds mu.
func (d *scheduler) drain() {
	select {
	case <-d.poke:
	default:
	}
}

// arm makes the sweep come at a moment, or before.
func (d *scheduler) arm(due uint64) {
	if due == math.MaxUint64 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if due >= d.next {
		return
	}
	d.next = due
	select {
	case d.poke <- struct{}{}:
	default: // it is poked already
	}
}

// take returns the moment, and expects nothing until it is armed again: what it was
// poked for is about to be looked at.
func (d *scheduler) take() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drain()
	next := d.next
	d.next = math.MaxUint64
	return next
}

func (d *scheduler) peek() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.next
}

// sweep runs until the store is closed.
func (s *Store) sweep() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	retry := sweepRetry
	for {
		now := s.line.clock.Elapsed() // before anything is looked at, as time goes on meanwhile
		wait := s.untilDue()
		if wait == 0 {
			err := s.sweepDue(ctx)
			switch {
			case err == nil:
				wait, retry = sweepRest, sweepRetry
			case s.open() == nil:
				s.log.Error("kv: what is due could not be done; it is tried again", "in", retry, "err", err)
				now = s.line.clock.Elapsed() // it may have taken a while
				wait, retry = retry, min(2*retry, sweepPatience)
			}
		}
		if !s.sleep(now, wait) {
			return
		}
	}
}

// untilDue returns how long to sleep: 0 if something may be due, less than 0
// until poked.
func (s *Store) untilDue() time.Duration {
	next := s.dues.peek()
	if next == math.MaxUint64 {
		return -1
	}
	now := s.line.now()
	if next <= now {
		return 0
	}
	return min(time.Duration(min(next-now, uint64(sweepLook/time.Millisecond)))*time.Millisecond, sweepLook)
}

// sleep waits for a time from a moment on, for ever if it is less than 0, or
// until poked, and returns false if the store is closed.
func (s *Store) sleep(from, d time.Duration) bool {
	var fired <-chan time.Time
	if d >= 0 {
		var stop func() bool
		fired, stop = s.line.clock.Timer(from + d)
		defer stop()
	}
	select {
	case <-s.closed:
		return false
	case <-s.dues.poke:
	case <-fired:
	}
	return true
}

// sweepDue does everything that is due by now.
func (s *Store) sweepDue(ctx context.Context) (err error) {
	from := s.dues.take()
	start := appendU64(append(make([]byte, len(keys.Scope{})), byte(ShapeDue)), from)
	defer func() {
		if err != nil {
			s.dues.failed(from)
		}
	}()
	for some := false; s.open() == nil; some = true {
		rows, next, err := s.dueRows(ctx, start, s.line.now())
		if err != nil {
			return err
		}
		// The last batch of a pass makes those before it durable too.
		last := len(rows) < sweepRows
		d := engine.WAL
		if last {
			d = engine.Synced
		}
		if len(rows) > 0 || some {
			if err := s.settle(ctx, d, rows); err != nil {
				return err
			}
		}
		if last {
			s.dues.expect(next)
			return nil
		}
		// What was left standing, damaged or of a type that nobody has declared, is
		// not looked at again before it is armed.
		start = append(rows[len(rows)-1].AppendKey(start[:0]), 0)
	}
	return closedError()
}

// dueRows returns the rows of the line from start on that are due by now, at
// most sweepRows of them, and when the one that follows is due.
func (s *Store) dueRows(ctx context.Context, start []byte, now uint64) (rows []Row, next uint64, err error) {
	r := engine.Prefixed(append(make([]byte, len(keys.Scope{})), byte(ShapeDue)))
	r.Start, r.Limit = start, sweepRows+1
	for row, err := range scanRows(ctx, s.db, r) {
		if errors.Is(err, engine.ErrCorrupt) && row.raw != nil {
			s.log.Error("kv: a row of what is due is damaged and left alone", "err", err)
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		if row.Due > now || len(rows) == sweepRows {
			return rows, row.Due, nil
		}
		rows = append(rows, row.Row)
	}
	return rows, math.MaxUint64, nil
}

// settle does what rows of the line stand for, in one batch; where that fails
// one by one, so that what fails holds up nothing else.
func (s *Store) settle(ctx context.Context, d engine.Durability, rows []Row) error {
	err := s.settleAll(ctx, d, rows)
	if err == nil {
		return nil
	}
	failed := new(jobError)
	switch {
	case errors.As(err, &failed), errors.Is(err, engine.ErrCorrupt):
	default:
		return err
	}
	if len(rows) > 1 {
		for i := range rows {
			if err := s.settle(ctx, d, rows[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	if failed.err == nil || len(rows) == 0 {
		s.log.Error("kv: what is due is damaged and left alone", "err", err)
		return nil
	}
	s.log.Warn("kv: a job failed; it is tried again", "in", sweepRetry, "err", err)
	return s.update(ctx, engine.Synced, func(u *unit) error { return u.postpone(rows[0]) })
}

func (s *Store) settleAll(ctx context.Context, d engine.Durability, rows []Row) error {
	return s.update(ctx, d, func(u *unit) error {
		for _, row := range rows {
			if err := u.settle(row); err != nil {
				return err
			}
		}
		u.put(u.key(Row{Shape: ShapeStore, Kind: KindTime}), u64Bytes(u.now))
		return nil
	})
}

// jobError is the error of somebody's Job.
type jobError struct{ err error }

// Error is that of the job.
func (e *jobError) Error() string { return e.err.Error() }

// Unwrap is the job's error.
func (e *jobError) Unwrap() error { return e.err }

// settle does what one row of the line stands for, if it still stands for it: the
// row of a record, a job or a stream says when that is due. A row that nothing
// stands behind is removed, whether or not somebody else has done so meanwhile.
func (u *unit) settle(due Row) error {
	row := u.key(due)
	t := u.store.typeOf(due.Of)
	if t == nil {
		return nil // it stays until its system declares it
	}
	tx, err := u.tx(due.Of, t)
	if errors.Is(err, ErrSpaceNotFound) {
		u.delete(row)
		return nil
	}
	if err != nil {
		return err
	}
	switch Shape(due.Kind) {
	case ShapeRecord:
		err = tx.expire(due)
	case ShapeJob:
		err = tx.runJob(due)
	case ShapeEntry:
		err = tx.ageStream(due)
	}
	if err != nil {
		return err
	}
	changed, err := u.view.Changed(column.Generic, row)
	if err == nil && !changed {
		u.delete(row)
	}
	return err
}

func (tx *Tx) expire(due Row) error {
	r, err := tx.record(due.Key)
	if errors.Is(err, ErrNotFound) || err == nil && r.expires != due.Due {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.remove(r, Expired)
}

func (tx *Tx) runJob(due Row) error {
	j, err := tx.job(string(due.Key))
	if errors.Is(err, ErrNotFound) || err == nil && j.due != due.Due {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := tx.Cancel(j.Name); err != nil {
		return err
	}
	if tx.typ.Job == nil {
		return nil
	}
	if err := tx.typ.Job(tx, j); err != nil {
		return &jobError{err}
	}
	return nil
}

// postpone moves a job to a later time.
func (u *unit) postpone(due Row) error {
	tx, err := u.tx(due.Of, u.store.typeOf(due.Of))
	if errors.Is(err, ErrSpaceNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	j, err := tx.job(string(due.Key))
	if errors.Is(err, ErrNotFound) || err == nil && j.due != due.Due {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.Schedule(j.Name, timeOf(u.now).Add(sweepRetry), j.Payload)
}
