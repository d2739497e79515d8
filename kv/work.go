package kv

import (
	"context"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Work changes several spaces of one tenant: everything lands in one batch, or
// nothing of it. It is valid until the function that it was given to returns, and not
// safe for concurrent use.
type Work struct{ u *unit }

// Update changes spaces of one tenant by what fn does, in one batch; what is said of
// fn and of errors at [Space.Update] holds here. A change beyond the quota of one of
// the spaces refuses those of all.
func (s *Store) Update(ctx context.Context, d engine.Durability, fn func(*Work) error) error {
	return s.update(ctx, d, func(u *unit) error {
		if err := u.expected(ctx); err != nil {
			return err
		}
		return fn(&Work{u})
	})
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

// AppendBeside is [Tx.AppendAll] to a stream of another space of the tenant that tx is of, in
// the same batch, for who has tx and knows no more of the tenant. It costs less than to
// come by the transaction of that space. It returns ErrSpaceNotFound if the tenant has no such
// space, and ErrInvalidArgument if its type is not declared.
func (tx *Tx) AppendBeside(system System, space, stream string, limits StreamLimits, payloads ...[]byte) (StreamInfo, error) {
	t, number, err := tx.u.store.typeNamed(typeName{system, space})
	if err != nil {
		return StreamInfo{}, err
	}
	if number == 0 {
		return StreamInfo{}, noSpace()
	}
	beside := tx.u.known(keys.NewKVScope(uint8(system), number, tx.scope.Tenant()), t)
	// A stream that has something in it is of a space that is there.
	if _, info, err := beside.streamHead(stream); err != nil {
		return StreamInfo{}, err
	} else if info.Last == 0 {
		if err := beside.load(); err != nil {
			return StreamInfo{}, err
		}
	}
	return beside.AppendAll(stream, limits, payloads...)
}

// Work returns the unit of work that tx is a part of.
func (tx *Tx) Work() *Work { return &Work{tx.u} }

// Now is the time that the unit of work takes place at; see [Tx.Now].
func (w *Work) Now() time.Time { return timeOf(w.u.now) }
