package lock

import (
	"context"
	"errors"
	"time"

	"github.com/stoadb/stoa/engine"
)

// Renew has an agent hold a lock for longer: a time to live from now on (0: that of the
// request), but not beyond Grant.Until. It returns ErrNotHolder where its time is over,
// or the lock is another's, and ErrMaxTTL where it holds it until the last moment
// already.
func (s *Store) Renew(ctx context.Context, tenant string, h Holding, ttl time.Duration, d engine.Durability) (Grant, error) {
	config := s.config(tenant)
	if ttl != 0 {
		if err := checkTTL(&ttl, &config); err != nil {
			return Grant{}, about(err, h.Name)
		}
	}
	return s.change(ctx, tenant, h, d, func(u *turn, l *looked, held *holder) error {
		if ttl != 0 {
			held.ttl = uint32(millisOf(ttl))
		}
		if held.expires >= held.until {
			e := refuse(CodeMaxTTL, "ttl", "the lock is held until the last moment that it may be, %s after it was acquired: release it, and acquire it anew", moment(held.until).Sub(moment(held.acquired)))
			e.Remaining = time.Duration(held.until-u.now) * time.Millisecond
			return e
		}
		held.expires = max(held.expires, min(u.now+uint64(held.ttl), held.until))
		held.heartbeats++
		return u.put(l, EventRenewed, h.Agent)
	})
}

// Downgrade has an agent that holds a lock alone share it from now on, with those who wait
// for that. The grant has a new token: what was written with the old one is refused from
// now on. Of a lock that is shared already it changes nothing.
func (s *Store) Downgrade(ctx context.Context, tenant string, h Holding, d engine.Durability) (Grant, error) {
	if exclusiveOnly(h.Name) {
		return Grant{}, about(invalid("name", "the lock of a task is exclusive: only resources are shared"), h.Name)
	}
	return s.change(ctx, tenant, h, d, func(u *turn, l *looked, held *holder) error {
		if l.mode == Shared {
			return nil
		}
		l.mode, held.token = Shared, u.tx.Revision()+1
		return u.put(l, EventDowngraded, h.Agent)
	})
}

// change changes what an agent holds by what fn does.
func (s *Store) change(ctx context.Context, tenant string, h Holding, d engine.Durability, fn func(*turn, *looked, *holder) error) (g Grant, err error) {
	if err := h.check(); err != nil {
		return g, err
	}
	_, err = s.do(ctx, tenant, d, nil, func(u *turn) error {
		l, err := u.load(h.Name)
		if err != nil {
			return err
		}
		held, err := u.has(l, &h)
		if err == nil {
			err = fn(u, l, held)
		}
		if err != nil {
			return err
		}
		g = l.grant(l.name, held)
		return u.settle(l, nil)
	})
	return g, about(err, h.Name)
}

// Release gives a lock back, to whom it is due next in the same batch, and says whether
// the agent held it. What others hold it leaves alone.
func (s *Store) Release(ctx context.Context, tenant string, h Holding, d engine.Durability) (held bool, err error) {
	if err := h.check(); err != nil {
		return false, err
	}
	_, err = s.do(ctx, tenant, d, nil, func(u *turn) error {
		held = false
		l, err := u.load(h.Name)
		if err != nil {
			return err
		}
		if _, err := u.has(l, &h); errors.Is(err, ErrNotHolder) {
			return u.settle(l, nil)
		}
		held = true
		return u.release(l, h.Agent)
	})
	return held && err == nil, about(err, h.Name)
}

// release takes a lock from its holder, and gives it to the next.
func (u *turn) release(l *looked, agent string) error {
	if err := u.drop(l, agent, EventReleased); err != nil {
		return err
	}
	if err := u.settle(l, nil); err != nil {
		return err
	}
	for _, w := range u.t.waits[agent] { // it has room for another now
		u.settleLater(w.Name)
	}
	return u.vacate(l)
}

// ReleaseAll gives all locks of an agent back, in one batch, and returns how many they
// were. Of one that holds more than MaxAll locks it releases so many, and returns
// ErrTooMany: there are others.
func (s *Store) ReleaseAll(ctx context.Context, tenant, agent string, d engine.Durability) (n int, err error) {
	if err := checkAgent(agent); err != nil {
		return 0, err
	}
	more := false
	_, err = s.do(ctx, tenant, d, nil, func(u *turn) (err error) {
		n, more, err = u.releaseAll(agent)
		return err
	})
	if err == nil && more {
		err = tooMany("agent", MaxAll, "the agent holds more locks than one call releases: call again")
	}
	return n, err
}

func (u *turn) releaseAll(agent string) (n int, more bool, err error) {
	for more = true; more && n < MaxAll; {
		var names []string
		if names, more, err = u.heldBy(agent); err != nil {
			return 0, false, err
		}
		for _, name := range names {
			l, err := u.load(name)
			if err == nil && l.holder(agent) != nil {
				n++
				err = u.release(l, agent)
			}
			if err != nil {
				return 0, false, err
			}
		}
	}
	return n, more, nil
}
