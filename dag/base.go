package dag

import (
	"context"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag/hlc"
)

// A base is a delta that every other applied delta of a context is an ancestor or
// a descendant of: what is at or before it in the order is its cut, so the state
// there and the deltas after it say all that a node needs.

// findBase returns the newest base whose stamp is not after limit, in a seeded
// context at the latest the one that it was seeded with. The seq is 0 if there is
// none.
func (h *history) findBase(ctx context.Context, heads []codec.DeltaID, own *contextRow, limit hlc.NTP64) (uint64, orderRow, error) {
	line := newLineage(h)
	if err := h.want(line, heads); err != nil {
		return 0, orderRow{}, err
	}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return 0, orderRow{}, ctx.Err()
		}
		alone := line.alone()
		seq, err := line.next()
		if err != nil || seq == 0 {
			return 0, orderRow{}, err
		}
		row, err := h.order(seq)
		if err != nil {
			return 0, orderRow{}, err
		}
		if alone && (hlc.NTP64(row.hlc.Time) <= limit || row.id == own.base.id) {
			return seq, row, nil
		}
		if len(row.parents) == 0 {
			// A beginning that is no base descends from none.
			return 0, orderRow{}, nil
		}
	}
}

// baseLimit returns the latest stamp of a base.
func (s *Store) baseLimit() hlc.NTP64 {
	if s.options.BaseAge < 0 {
		return ^hlc.NTP64(0)
	}
	return hlc.ToNTP64(s.clock.Now().Add(-s.options.BaseAge)).Latest()
}
