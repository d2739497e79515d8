package inspect

import (
	"sync/atomic"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/namespace"
)

// withheld is what a dump without secrets leaves out of the governance of a store, so that
// who has it learns no more of groups than who carries their ops. Nil leaves out nothing.
type withheld struct{ rows *namespace.Governed }

// withheldOf returns what to leave out of a dump of s: nil, if it has the secrets.
func withheldOf(s *Source, revealed bool) (*withheld, error) {
	if revealed {
		return nil, nil
	}
	var damaged atomic.Bool
	r := s.Lenient(func(Finding) error { damaged.Store(true); return nil }) // the export tells of it
	rows, err := namespace.GovernedIn(r, damaged.Load)
	if _, ok := tolerated(column.Group, err); ok {
		damaged.Store(true)
	} else if err != nil {
		return nil, err
	}
	return &withheld{rows}, nil
}

// locked returns a value as it is without the keys of groups, and whether the row is there
// then.
func (g *withheld) locked(col column.Column, key, value []byte) ([]byte, bool, error) {
	if g == nil {
		return value, true, nil
	}
	derived, err := g.rows.Derives(col, key, value)
	if _, ok := tolerated(col, err); ok {
		return nil, false, nil
	}
	if err != nil || derived {
		return nil, false, err
	}
	if col == column.Generic {
		value = namespace.Unread(key, value)
	}
	return value, true, nil
}
