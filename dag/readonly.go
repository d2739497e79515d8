package dag

import (
	"context"
	"errors"

	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/engine"
)

// View returns the store of what is in r, which is only read and must outlive it:
// a directory that was opened read-only, or a snapshot. Nothing goes on in the
// background: what waits does, and the adoption of a snapshot that was broken off
// stays so. What writes returns engine.ErrReadOnly. A node need not be named. A clock
// that is damaged is none, since no stamp is made; [Store.ClockDamage] has the reason.
// With Options.Damaged, lists and streams go on behind rows that are damaged. It
// returns the error of r.
func View(r engine.Reader, o Options) (*Store, error) {
	if o.Node.IsZero() {
		o.Node.Lo = 1 // no stamp is made
	}
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	db := engine.ReadOnly(r)
	clock, err := hlc.Open(db, db, o.clock())
	damage := err
	switch {
	case errors.Is(err, engine.ErrCorrupt):
		clock = hlc.New(db, o.clock())
	case err != nil:
		return nil, err
	}
	s := &Store{db: db, options: o, clock: clock, clockDamage: damage, slots: newSlots(o.MaxContexts), lane: newLane()}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// beside returns nil for a damaged row that somebody is told of, and err for any
// other error.
func (s *Store) beside(err error) error {
	var d *rowDamage
	if s.options.Damaged == nil || !errors.As(err, &d) {
		return err
	}
	return s.options.Damaged(d.col, d.key, err)
}

// ClockDamage returns why the clock of a view cannot be read, which is
// engine.ErrCorrupt; nil if it can.
func (s *Store) ClockDamage() error { return s.clockDamage }
