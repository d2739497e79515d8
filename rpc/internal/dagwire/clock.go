package dagwire

import (
	"errors"
	"time"

	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromClock returns what a clock says as a message.
func FromClock(s *hlc.State) *stoav1.DagClock {
	return &stoav1.DagClock{Physical: s.Physical.UnixNano(), Expected: s.Expected.UnixNano(), Jumped: s.Jumped,
		Last: s.Last.UnixNano(), Ahead: s.Ahead}
}

// Clock returns what a clock says that a message is.
func Clock(m *stoav1.DagClock) (hlc.State, error) {
	if m == nil {
		return hlc.State{}, errors.New("no clock")
	}
	at := func(ns int64) time.Time { return time.Unix(0, ns).UTC() }
	return hlc.State{Physical: at(m.GetPhysical()), Expected: at(m.GetExpected()), Jumped: m.GetJumped(),
		Last: at(m.GetLast()), Ahead: m.GetAhead()}, nil
}
