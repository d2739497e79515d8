package dagwire

import (
	"errors"
	"time"

	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromClock returns what a clock says as a message.
func FromClock(s *dag.ClockState) *stoav1.DagClock {
	return &stoav1.DagClock{Physical: s.Physical.UnixNano(), Expected: s.Expected.UnixNano(), Jumped: s.Jumped,
		Last: s.Last.UnixNano(), Ahead: s.Ahead}
}

// Clock returns what a clock says that a message is.
func Clock(m *stoav1.DagClock) (dag.ClockState, error) {
	if m == nil {
		return dag.ClockState{}, errors.New("no clock")
	}
	at := func(ns int64) time.Time { return time.Unix(0, ns).UTC() }
	return dag.ClockState{Physical: at(m.GetPhysical()), Expected: at(m.GetExpected()), Jumped: m.GetJumped(),
		Last: at(m.GetLast()), Ahead: m.GetAhead()}, nil
}
