package lock

import (
	"errors"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// MaxGuards is how many guards a write has at most.
const MaxGuards = 64

// Guard is that a lock is held by the grant that has a token: what any write of the same
// tenant can be made to expect.
type Guard struct {
	Name  string
	Token uint64
}

// Guarded is what a write expects of the locks of a tenant. It is looked at in the batch
// of the write: by Check in a unit of work of key-values or records, by CheckIn in a
// batch of the engine.
type Guarded struct {
	space  *kv.Space // nil: the tenant has no locks
	guards []Guard
}

// Guards returns the expectation of a write that all locks of some guards are held. It is
// to be asked for before the batch of the write is made, and for each write anew.
func (s *Store) Guards(tenant string, guards ...Guard) (*Guarded, error) {
	if len(guards) > MaxGuards {
		return nil, tooMany("guards", MaxGuards, "a write has at most %d guards", MaxGuards)
	}
	for _, g := range guards {
		if _, _, err := ParseName(g.Name); err != nil {
			return nil, err
		}
		if g.Token == 0 {
			return nil, about(invalid("token", "the token of a grant is 1 or more"), g.Name)
		}
	}
	space, err := s.space(tenant)
	return &Guarded{space, guards}, err
}

// Check returns ErrFenced where a lock is not held by the grant that its guard names.
func (g *Guarded) Check(w *kv.Work) error {
	if len(g.guards) == 0 {
		return nil
	}
	if g.space == nil {
		return g.fenced(&g.guards[0], nil)
	}
	tx, err := w.In(g.space)
	if errors.Is(err, kv.ErrSpaceNotFound) {
		return g.fenced(&g.guards[0], nil)
	}
	if err != nil {
		return err
	}
	return g.check(tx, w.Now())
}

// CheckIn is Check for who makes a batch of the engine that the store is on.
func (g *Guarded) CheckIn(r engine.Reader) error {
	if len(g.guards) == 0 {
		return nil
	}
	if g.space == nil {
		return g.fenced(&g.guards[0], nil)
	}
	view := g.space.Seen(r)
	return g.check(view, view.Time())
}

// getter is a transaction or a view of the space of locks.
type getter interface {
	Get(key []byte) (kv.Record, error)
}

func (g *Guarded) check(in getter, now time.Time) error {
	for i := range g.guards {
		guard := &g.guards[i]
		r, err := in.Get([]byte(guard.Name))
		if errors.Is(err, kv.ErrNotFound) {
			return g.fenced(guard, nil)
		}
		if err != nil {
			return err
		}
		state, err := parseState(guard.Name, r.Value)
		if err != nil {
			return err
		}
		state.expire(millis(now))
		found := false
		for _, h := range state.holders {
			found = found || h.token == guard.Token
		}
		if !found {
			return g.fenced(guard, state.holders)
		}
	}
	return nil
}

func (g *Guarded) fenced(guard *Guard, holders []holder) error {
	e := refuse(CodeFenced, "token", "nobody holds the lock any more: acquire it anew, and read again what the write was made of")
	for _, h := range holders {
		e.Holders, e.Token = append(e.Holders, h.agent), max(e.Token, h.token)
		e.Reason = "the lock is held by another grant: acquire it anew, and read again what the write was made of"
	}
	e.Lock = guard.Name
	return e
}
