package lock

import (
	"context"
	"errors"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/limit"
)

// Acquire takes a lock for an agent, or waits for it where the request says so. An agent
// that holds the lock already gets its grant again, for longer; one that shares it and
// asks for all of it waits, before all others, until it is the only one.
//
// It returns ErrHeld where others hold the lock or wait for it, ErrCapacity where the
// agent takes no more, ErrDeadlock where it would wait for itself, ErrMaxTTL,
// ErrWaitTimeout, ErrTooMany, ErrRateLimited, or the error of ctx: then it holds nothing that it did not
// hold before, and waits no more. Two calls of one agent for one lock wait as one, in
// the place of the first.
func (s *Store) Acquire(ctx context.Context, tenant string, r Request) (Grant, error) {
	return s.acquire(ctx, tenant, r, nil)
}

// AcquireFor is Acquire for a caller that may be gone by the time that its lock is granted:
// heard tells it, and says whether it has heard. A lock that was granted, and that no call of
// its agent has heard of, is given back at once, unless it was renewed since.
func (s *Store) AcquireFor(ctx context.Context, tenant string, r Request, heard func(Grant) bool) error {
	_, err := s.acquire(ctx, tenant, r, heard)
	return err
}

func (s *Store) acquire(ctx context.Context, tenant string, r Request, heard func(Grant) bool) (Grant, error) {
	config := s.config(tenant)
	if err := r.check(&config); err != nil {
		return Grant{}, about(err, r.Name)
	}
	if r.Wait && r.MaxWait == 0 {
		r.MaxWait = PlainWait
	}
	if err := s.limited(ctx, tenant, r.Agent, config.AcquireLimit); err != nil {
		return Grant{}, about(err, r.Name)
	}
	w := newWaiter(r)
	last, err := s.do(ctx, tenant, r.Durability, w, func(u *turn) error { return u.acquire(w) })
	switch {
	case err != nil:
		return Grant{}, about(err, r.Name)
	case last.Token != 0:
		if heard != nil && !heard(last) && w.grant.Token == last.Token { // else the agent held it before
			err = s.takeBack(tenant, last, r.Durability)
		}
		return last, about(err, r.Name)
	case w.joined != nil:
		w = w.joined
	}
	g, err := s.await(ctx, w, &r)
	if err == nil && heard != nil && !heard(g) {
		err = s.giveUp(w, nil)
	}
	return g, about(err, r.Name)
}

// limitOf is the name under which it is counted what an agent asks for.
func limitOf(agent string) limit.Name { return limit.Name{Endpoint: "lock:acquire", User: agent} }

// limited refuses an agent that has asked for as many locks as it may within a minute: it
// is not queued, and this request doesn't count.
func (s *Store) limited(ctx context.Context, tenant, agent string, most int) error {
	if most == 0 || s.o.Limits == nil {
		return nil
	}
	v, err := s.o.Limits.Check(ctx, tenant, limitOf(agent), limit.Rule{Max: most}, engine.WAL)
	if err != nil || v.Allowed {
		return err
	}
	e := refuse(CodeRateLimited, "agent", "the agent has asked for %d locks within a minute, as many as it may: ask again in %s", most, v.RetryAfter)
	e.Limit, e.Remaining = uint64(most), v.RetryAfter
	return e
}

// await returns what becomes of a request that waits, for the call that r is.
func (s *Store) await(ctx context.Context, w *waiter, r *Request) (Grant, error) {
	moved := r.Moved
	for place := 0; ; {
		if moved != nil {
			if now := w.t.placeOf(w); now > 0 && now != place {
				place = now
				if moved(place); r.PlaceOnce {
					moved = nil
				}
			}
		}
		select {
		case <-w.done:
			return w.grant, w.err
		case <-w.moved:
		case <-ctx.Done():
			return Grant{}, s.giveUp(w, ctx.Err())
		case <-s.closed:
			return Grant{}, s.giveUp(w, refuse(CodeCancelled, "", "the store is closed"))
		}
	}
}

// giveUp ends the call of a request that waits, and returns why, or what it was refused
// for meanwhile. What it was given goes back, unless another call has it too.
func (s *Store) giveUp(w *waiter, why error) error {
	t := w.t
	t.mu.Lock()
	w.callers--
	alone, ended, g, err := w.callers == 0, w.ended, w.grant, w.err
	if alone && !ended {
		t.dequeue(w)
		s.alarms.stop(&w.until)
		w.end(Grant{}, why)
		if q := t.queues[w.Name]; q != nil { // whom it stood before may be next
			s.alarms.sooner(&q.alarm, 1)
		}
	}
	t.mu.Unlock()
	switch {
	case !ended:
		return why
	case err != nil:
		return err
	case alone:
		err = s.takeBack(t.name, g, w.Durability)
	}
	if err != nil {
		return errors.Join(why, err)
	}
	return why
}

// takeBack gives a lock back that nobody has heard of who asked for it, unless its agent has
// renewed it, or has another grant by now.
func (s *Store) takeBack(tenant string, g Grant, d engine.Durability) error {
	_, err := s.do(context.Background(), tenant, d, nil, func(u *turn) error {
		l, err := u.load(g.Name)
		if err != nil {
			return err
		}
		if h := l.holder(g.Agent); h == nil || l.grant(l.name, h) != g {
			return u.settle(l, nil)
		}
		return u.release(l, g.Agent)
	})
	return err
}

// timeOut ends a request that has waited for long enough, and reports whether others wait
// for the same lock.
func (s *Store) timeOut(w *waiter) bool {
	w.t.mu.Lock()
	defer w.t.mu.Unlock()
	if w.ended || !w.queued {
		return false
	}
	w.t.dequeue(w)
	e := refuse(CodeWaitTimeout, "max_wait", "others held the lock for all of the %s that the request waits", w.MaxWait)
	e.Lock = w.Name
	w.end(Grant{}, e)
	q := w.t.queues[w.Name]
	return q != nil
}

// acquire gives own its lock, or has it wait.
func (u *turn) acquire(w *waiter) error {
	if len(u.t.line(w.Name, nil)) == 0 { // it may be granted: the agent is read before the lock, as the last record that is read is read once
		if _, err := u.agent(w.Agent); err != nil {
			return err
		}
	}
	l, err := u.load(w.Name)
	if err != nil {
		return err
	}
	if h := l.holder(w.Agent); h != nil {
		if l.mode == Exclusive || w.Mode == Shared {
			return u.renewed(l, h, w)
		}
		w.upgrade = true
	}
	if other := u.t.waiting(w.Name, w.Agent); other != nil && !l.satisfies(other) {
		return u.join(l, w, other)
	}
	if err := u.settle(l, w); err != nil || u.decided(w) {
		return err
	}
	if !w.Wait {
		return u.refusal(l, w)
	}
	if err := u.room(w); err != nil {
		return err
	}
	if !u.config.IgnoreDeadlocks {
		cycle, err := u.cycle(w.Agent, l)
		if err != nil {
			return err
		}
		if cycle != nil {
			return deadlock(l.name, cycle)
		}
	}
	w.since = u.now
	u.t.enqueue(w)
	if len(l.holders) == 0 {
		return nil
	}
	return u.put(l, EventQueued, w.Agent)
}

// join has w wait as other does, of the same agent.
func (u *turn) join(l *looked, w, other *waiter) error {
	switch {
	case w.Mode != other.Mode:
		return invalid("mode", "the agent waits for the lock already, to hold it %s: cancel that request first", other.Mode)
	case !w.Wait:
		return u.held(l)
	}
	other.callers++
	other.tells = other.tells || w.tells
	w.joined = other
	return nil
}

// refusal is that of who does not wait.
func (u *turn) refusal(l *looked, w *waiter) error {
	if may, err := u.may(w); err != nil {
		return err
	} else if !may && l.admits(w) {
		return u.noCapacity(w.Agent)
	}
	return u.held(l)
}

// held is the refusal of who does not wait for a lock that others hold, or wait for.
func (u *turn) held(l *looked) error {
	e := refuse(CodeHeld, "", "others wait for it: wait too, or try later")
	if len(l.holders) > 0 {
		e.Remaining = time.Duration(l.first()-u.now) * time.Millisecond
		e.Reason = "it is held " + l.mode.String() + ", as far as is known for another " + e.Remaining.String() + ": wait for it, or try later"
	}
	for i := range l.holders {
		e.Holders = append(e.Holders, l.holders[i].agent)
	}
	return e
}

// room refuses who would be one too many that waits.
func (u *turn) room(w *waiter) error {
	switch q := u.t.queues[w.Name]; {
	case q != nil && len(q.waiters) >= MaxQueue:
		return tooMany("name", MaxQueue, "as many wait for the lock as may: try later")
	case len(u.t.waits[w.Agent]) >= MaxWaits:
		return tooMany("agent", MaxWaits, "the agent waits for as many locks as it may: cancel some")
	case u.t.count >= MaxWaiters:
		return tooMany("tenant", MaxWaiters, "as many wait for locks of the tenant as may: try later")
	}
	return nil
}

// renewed gives a holder its grant once more, for longer.
func (u *turn) renewed(l *looked, h *holder, w *waiter) error {
	h.ttl = uint32(millisOf(w.TTL))
	h.expires = max(h.expires, min(u.now+uint64(h.ttl), h.until))
	u.result = l.grant(l.name, h)
	return u.put(l, EventRenewed, w.Agent)
}

// millisOf is a time in ms, rounded up.
func millisOf(d time.Duration) uint64 { return uint64((d + time.Millisecond - 1) / time.Millisecond) }

// Holding names what an agent holds.
type Holding struct {
	Name, Agent string
	Token       uint64 // that of the grant; 0: whatever it has
}

func (h *Holding) check() error {
	if _, _, err := ParseName(h.Name); err != nil {
		return err
	}
	return checkAgent(h.Agent)
}

// has returns the holder that h names, or ErrNotHolder.
func (u *turn) has(l *looked, h *Holding) (*holder, error) {
	found := l.holder(h.Agent)
	switch {
	case found == nil && len(l.holders) == 0:
		return nil, refuse(CodeNotHolder, "agent", "nobody holds the lock: its time is over, or it was released")
	case found == nil:
		e := refuse(CodeNotHolder, "agent", "others hold the lock by now")
		for i := range l.holders {
			e.Holders = append(e.Holders, l.holders[i].agent)
		}
		return nil, e
	case h.Token != 0 && h.Token != found.token:
		e := refuse(CodeNotHolder, "token", "the agent holds the lock by a later grant, with another token")
		e.Token = found.token
		return nil, e
	}
	return found, nil
}
