package job

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Workers of a process.
const (
	crewSize    = 4                // jobs of a queue at once
	crewLease   = 30 * time.Second // that a worker has for a job
	firstRetry  = time.Second      // until a job that failed is due again; twice that the next time
	longestWait = time.Minute      // and so on, up to this
)

// crew is the workers of a queue: they are given the jobs of all tenants, one of each in
// turn.
type crew struct {
	queue  string
	do     Worker
	mu     sync.Mutex
	line   []*Queues // whose queue may have a job, each once
	in     map[*Queues]bool
	wakeup chan struct{} // of capacity crewSize: somebody has come
}

// hire makes the crews that the options name.
func (s *Store) hire() error {
	for _, queue := range s.o.Off {
		if err := checkQueue(queue); err != nil {
			return err
		}
	}
	for queue, do := range s.o.Workers {
		if err := checkQueue(queue); err != nil {
			return err
		}
		if !slices.Contains(s.o.Off, queue) {
			s.crews[queueNumber(queue)] = &crew{queue: queue, do: do, in: map[*Queues]bool{}, wakeup: make(chan struct{}, crewSize)}
		}
	}
	return nil
}

// call tells the crew of a queue that a tenant may have a job for it.
func (s *Store) call(queue uint8, q *Queues) {
	if c := s.crews[queue]; c != nil {
		c.call(q)
	}
}

func (c *crew) call(q *Queues) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.in[q] {
		c.in[q] = true
		c.line = append(c.line, q)
	}
	select {
	case c.wakeup <- struct{}{}:
	default: // all are awake, or will be
	}
}

// next returns whose queue may have a job; nil: nobody's.
func (c *crew) next() *Queues {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.line) == 0 {
		return nil
	}
	q := c.line[0]
	c.line = c.line[1:]
	delete(c.in, q)
	return q
}

// begin starts the crews, and has them look at all tenants that there are: what is ready
// when a process begins nobody tells them.
func (s *Store) begin(ctx context.Context) {
	if len(s.crews) == 0 {
		return
	}
	for _, c := range s.crews {
		for range crewSize {
			s.done.Go(func() { s.work(ctx, c) })
		}
	}
	s.done.Go(func() {
		for tenant, err := range s.kv.Tenants(ctx, "", false) {
			if err == nil {
				err = s.lookAt(tenant.Name)
			}
			if err != nil && ctx.Err() == nil {
				s.log.Error("job: the jobs of a tenant are not looked at before the next of them comes", "err", err)
			}
		}
	})
}

// lookAt tells all crews that a tenant may have jobs.
func (s *Store) lookAt(tenant string) error {
	q, err := s.Find(tenant)
	if err != nil || q.space == nil {
		return err
	}
	for number := range s.crews {
		s.call(number, q)
	}
	return nil
}

// work does jobs of a crew until ctx ends.
func (s *Store) work(ctx context.Context, c *crew) {
	o := LeaseOptions{Queue: c.queue, Worker: s.o.Name, For: crewLease, Limit: 1, Durability: engine.WAL}
	for ctx.Err() == nil {
		q := c.next()
		if q == nil {
			select {
			case <-ctx.Done():
			case <-c.wakeup:
			}
			continue
		}
		list, err := q.take(ctx, &o)
		if err != nil && !isGone(err) && ctx.Err() == nil {
			s.log.Error("job: no job of a queue can be had; it is tried again", "queue", c.queue, "in", firstRetry, "err", err)
			s.pause(ctx, firstRetry)
			c.call(q)
		}
		if len(list) > 0 {
			c.call(q) // there may be more
			s.run(ctx, c, q, &list[0])
		}
	}
}

// pause waits for a time, or for the end of ctx.
func (s *Store) pause(ctx context.Context, d time.Duration) {
	fired, stop := s.kv.Timer(s.kv.Now().Add(d))
	defer stop()
	select {
	case <-ctx.Done():
	case <-fired:
	}
}

// run does a job that is leased.
func (s *Store) run(ctx context.Context, c *crew, q *Queues, j *Info) {
	within, end := context.WithCancel(ctx)
	fired, stop := s.kv.Timer(j.Until)
	over := make(chan struct{})
	go func() {
		select {
		case <-fired:
			end()
		case <-within.Done():
		}
		close(over)
	}()
	err := c.do(within, q.tenant, j.Job)
	stop()
	end()
	<-over
	after := context.WithoutCancel(ctx)
	switch {
	case err == nil:
		err = q.Done(after, engine.WAL, j.ID, j.Token)
	case ctx.Err() != nil:
		err = q.giveBack(after, j.ID, j.Token)
	default:
		delay := min(firstRetry<<min(j.Attempts-1, 10), longestWait)
		s.log.Warn("job: a worker failed; the job is tried again unless this was its last attempt", "queue", c.queue, "id", j.ID, "attempt", j.Attempts, "of", j.MaxAttempts, "in", delay, "err", err)
		_, err = q.Fail(after, engine.WAL, j.ID, j.Token, failureOf(err), delay)
	}
	// A worker may have scheduled the job anew, or cancelled it.
	if err != nil && !errors.Is(err, ErrFenced) && !isGone(err) && !errors.Is(err, kv.ErrClosed) {
		s.log.Error("job: what came of a job could not be written; it is done again once its lease is over", "queue", c.queue, "id", j.ID, "err", err)
	}
}

// failureOf is the text of an error, as long as may be.
func failureOf(err error) string {
	text := []rune(err.Error())
	for len(string(text)) > MaxFailure {
		text = text[:min(len(text)-1, MaxFailure)]
	}
	return string(text)
}
