package kv

import (
	"context"
	"time"

	"github.com/stoadb/stoa/engine"
)

// Work changes several spaces of one tenant: everything lands in one batch, or
// nothing of it. It is valid until the function that it was given to returns, and not
// safe for concurrent use.
type Work struct{ u *unit }

// Update changes spaces of one tenant by what fn does, in one batch; what is said of
// fn and of errors at [Space.Update] holds here. A change beyond the quota of one of
// the spaces refuses those of all.
func (s *Store) Update(ctx context.Context, d engine.Durability, fn func(*Work) error) error {
	return s.update(ctx, d, func(u *unit) error { return fn(&Work{u}) })
}

// In returns the transaction of a space within the unit of work, the same one for
// each call. It returns ErrSpaceNotFound if the space has been dropped, and
// ErrInvalidArgument for a space of another store, or of another tenant than that of
// the first.
func (w *Work) In(s *Space) (*Tx, error) {
	if s.store != w.u.store {
		return nil, invalid("space", "the space is of another store: a unit of work is of one")
	}
	if len(w.u.spaces) > 0 && w.u.spaces[0].scope.Tenant() != s.scope.Tenant() {
		return nil, invalid("space", "the space is of another tenant: a unit of work is of one tenant, and each has its own")
	}
	return w.u.tx(s.scope, s.typ)
}

// Work returns the unit of work that tx is a part of.
func (tx *Tx) Work() *Work { return &Work{tx.u} }

// Now is the time that the unit of work takes place at; see [Tx.Now].
func (w *Work) Now() time.Time { return timeOf(w.u.now) }
