package lock

import (
	"context"
	"errors"

	"github.com/stoadb/stoa/kv"
)

// space returns that of a tenant's locks; nil: it has none.
func (s *Store) space(tenant string) (*kv.Space, error) {
	if tenant == "" {
		return nil, invalid("tenant", "a tenant is required")
	}
	space, err := s.kv.Space(tenant, kv.SystemLock, spaceName)
	if errors.Is(err, kv.ErrSpaceNotFound) {
		return nil, nil
	}
	return space, told(err)
}

// expire takes those out whose time is over.
func (s *state) expire(now uint64) {
	kept := s.holders[:0]
	for _, h := range s.holders {
		if h.expires > now {
			kept = append(kept, h)
		}
	}
	if s.holders = kept; len(kept) == 0 {
		s.mode = Free
	}
}

// lockOf is what a record says of a lock at a time.
func lockOf(r *kv.Record, now uint64) (l Lock, err error) {
	l.Name = string(r.Key)
	state, err := parseState(l.Name, r.Value)
	if err != nil {
		return l, err
	}
	state.expire(now)
	l.Mode, l.Revision = state.mode, r.Revision
	for i := range state.holders {
		l.Holders = append(l.Holders, state.grant(l.Name, &state.holders[i]))
	}
	return l, nil
}

// Get returns what is known of a lock: its mode is Free where nobody holds it.
func (s *Store) Get(tenant, name string) (Lock, error) {
	if _, _, err := ParseName(name); err != nil {
		return Lock{}, err
	}
	l := Lock{Name: name}
	space, err := s.space(tenant)
	if err != nil {
		return l, err
	}
	if space != nil {
		r, err := space.Get([]byte(name))
		if err == nil {
			l, err = lockOf(&r, millis(s.kv.Now()))
		}
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return l, told(err)
		}
	}
	l.Waiting = s.countWaiting(tenant, name)
	return l, nil
}

// Held returns the locks that an agent holds, in order of their names, those of resources
// first. It returns ErrTooMany for more than MaxAll.
func (s *Store) Held(ctx context.Context, tenant, agent string) ([]Grant, error) {
	if err := checkAgent(agent); err != nil {
		return nil, err
	}
	space, err := s.space(tenant)
	if space == nil || err != nil {
		return nil, err
	}
	view, err := space.View()
	if err != nil {
		return nil, told(err)
	}
	defer func() { _ = view.Close() }()
	return heldIn(ctx, view, agent)
}

func heldIn(ctx context.Context, view *kv.View, agent string) (list []Grant, err error) {
	now := millis(view.Time())
	from, to := termsOf(agent)
	for o := (kv.IndexOptions{From: from, To: to, Limit: 1000}); ; {
		found, next, err := view.ByIndex(ctx, indexAgent, o)
		if err != nil {
			return nil, told(err)
		}
		for i := range found {
			l, err := lockOf(&found[i].Record, now)
			if err != nil {
				return nil, err
			}
			for _, g := range l.Holders {
				if g.Agent == agent {
					list = append(list, g)
				}
			}
		}
		if len(list) > MaxAll {
			return nil, tooMany("agent", MaxAll, "the agent holds more locks than are listed at once")
		}
		if o.Cursor = next; next == "" {
			return list, nil
		}
	}
}

// Waiting is a request that waits.
type Waiting struct {
	Name, Agent string
	Mode        Mode
	Upgrade     bool // it shares the lock
	Priority    int
	Place       int    // in the queue, from 1
	Since       uint64 // ms since 1970
	MaxWait     uint64 // ms
}

// Queue returns who waits for a lock of a tenant, in order.
func (s *Store) Queue(owner, name string) []Waiting {
	return s.waiting(owner, func(t *tenant) []*waiter {
		if q := t.queues[name]; q != nil {
			return q.waiters
		}
		return nil
	})
}

// Waits returns what an agent of a tenant waits for.
func (s *Store) Waits(owner, agent string) []Waiting {
	return s.waiting(owner, func(t *tenant) []*waiter { return t.waits[agent] })
}

func (s *Store) waiting(name string, of func(*tenant) []*waiter) (list []Waiting) {
	t := s.known(name)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range of(t) {
		place := 1
		for _, other := range t.queues[w.Name].waiters {
			if other == w {
				break
			}
			place++
		}
		list = append(list, Waiting{w.Name, w.Agent, w.Mode, w.upgrade, w.Priority, place, w.since, millisOf(w.MaxWait)})
	}
	return list
}
