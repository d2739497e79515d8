package dag

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// notifier wakes the background; what there is to do is said by rows.
type notifier struct {
	signal chan struct{}
}

func newNotifier() notifier { return notifier{signal: make(chan struct{}, 1)} }

// notify makes the background look through all ready rows again.
func (l *notifier) notify() {
	select {
	case l.signal <- struct{}{}:
	default:
	}
}

// backgroundRetry is how long the background waits after a failure, and after each
// further one twice as long, up to maxBackgroundRetry.
const (
	backgroundRetry    = time.Second
	maxBackgroundRetry = time.Minute
)

// background judges the deltas that wait for no other delta, until the store is
// closed: those whose causal cut is costly, and those that an earlier process left.
func (s *Store) background() {
	defer s.calls.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	retry := backgroundRetry
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.work.signal:
		case <-timer.C:
		}
		again, err := s.pass()
		if s.ctx.Err() != nil {
			return
		}
		if err != nil {
			s.options.Log.Error("dag: deltas that are ready could not be applied", "error", err)
			again, retry = retry, min(2*retry, maxBackgroundRetry)
		} else {
			retry = backgroundRetry
		}
		if again > 0 {
			timer.Reset(again)
		}
	}
}

// readyDelta is a delta that waits for no other delta.
type readyDelta struct {
	context codec.ContextID
	id      codec.DeltaID
}

// pass goes once through what is ready. It returns when to come again for deltas
// that are too early; 0: for none. A delta that fails does not keep it from the
// others; the first error is returned.
func (s *Store) pass() (again time.Duration, err error) {
	var after []byte
	for {
		page, next, failed := s.readyAfter(after)
		if failed != nil || len(page) == 0 {
			return again, cmp.Or(err, failed)
		}
		for _, d := range page {
			if s.ctx.Err() != nil {
				return 0, s.ctx.Err()
			}
			wait, failed := s.finish(d)
			err = cmp.Or(err, failed)
			if wait > 0 && (again == 0 || wait < again) {
				again = wait
			}
		}
		after = next
	}
}

// readyAfter returns some of the deltas that are ready, from after on.
func (s *Store) readyAfter(after []byte) (page []readyDelta, next []byte, err error) {
	rg := engine.Prefixed(append(pendingScope[:], readyRow))
	rg.Limit = maxGroup
	if after != nil {
		rg.Start = after
	}
	err = each(s.db, rg, func(key, _ []byte) error {
		id, ok := idAfter(key, kindPrefixLen)
		if !ok {
			return damagedRow(column.Generic, key, "not a key of dag-pending")
		}
		page = append(page, readyDelta{codec.ContextID(key[kindPrefixLen-32:]), id})
		next = append(append(next[:0], key...), 0)
		return nil
	})
	return page, next, err
}

// finish judges a delta that is ready, computing its causal cut outside the queue
// if that is costly. It returns how long to wait for one that is too early.
func (s *Store) finish(d readyDelta) (time.Duration, error) {
	var verified *codec.Hash
	for {
		a, err := s.judgeReady(d, verified)
		switch {
		case errors.Is(err, ErrNoContext), errors.Is(err, ErrAdopting), errors.Is(err, ErrClosed):
			return 0, nil
		case err != nil:
			return 0, err
		case a.Kind == TooEarly:
			return a.RetryAfter, nil
		case a.Kind != Pending || !a.Verifying:
			return 0, nil
		}
		root, err := s.cutOf(s.ctx, d.context, func(g *writeGroup) (*candidate, error) { return g.waiting(&d.id) })
		if errors.Is(err, ErrNoDelta) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		verified = &root
	}
}

// judgeReady judges a delta that is ready, under the queue of its context.
func (s *Store) judgeReady(d readyDelta, verified *codec.Hash) (a Answer, err error) {
	r := &request{}
	r.Task.do = func(g *writeGroup) error {
		a = Answer{ID: d.id}
		if err := g.judgeAgain(&woken{id: d.id, stored: true, a: &a}, verified); err != nil {
			return err
		}
		return g.drain()
	}
	if err := s.submit(context.Background(), d.context, r); err != nil {
		return a, err
	}
	return a, r.Err
}

// cutOf computes the root of the causal cut of the delta that find returns, on a snapshot and
// without a budget. It is a function of the delta and its ancestors, so that what is applied
// meanwhile does not matter. It returns ErrNoDelta where there is none, or a parent is not applied.
func (s *Store) cutOf(ctx context.Context, id codec.ContextID, find func(*writeGroup) (*candidate, error)) (root codec.Hash, err error) {
	s.endTail(ctx, id)
	err = s.view(func(r engine.Reader) error {
		r, err := withoutTail(r, s.options.Cache, id)
		if err != nil {
			return err
		}
		c, err := load(r, s.options.Cache, id)
		if err != nil {
			return err
		}
		g := writeGroup{s: s, c: c}
		g.view.Reset(r, nil)
		x, err := find(&g)
		if err != nil {
			return err
		}
		if x == nil {
			return ErrNoDelta
		}
		if x.waited {
			defer x.p.release()
		}
		absent, _, err := g.resolve(x)
		if err != nil {
			return err
		}
		if len(absent) > 0 {
			return ErrNoDelta
		}
		c.trie.Keep(s.past)
		p := g.past(-1)
		p.ctx = ctx
		cut, err := p.concurrentWith(x.parents)
		if err != nil {
			return err
		}
		root, _, err = p.root(cut, x)
		return err
	})
	return root, err
}
