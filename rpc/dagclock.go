package rpc

import (
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Clock returns what the clock of the daemon says, as [hlc.Clock.State] does.
func (d *Dag) Clock() (hlc.State, error) {
	res, err := dagCall(d.c, "clock", d.c.dag.GetClock, &stoav1.DagGetClockRequest{})
	return clockOf("clock", res.GetClock(), err)
}

// ConfirmClock takes the system clock of the daemon as right, as
// [hlc.Clock.Confirm] does, with its errors.
func (d *Dag) ConfirmClock() (hlc.State, error) {
	res, err := dagCall(d.c, "confirm clock", d.c.dag.ConfirmClock, &stoav1.DagConfirmClockRequest{})
	return clockOf("confirm clock", res.GetClock(), err)
}

func clockOf(op string, m *stoav1.DagClock, err error) (hlc.State, error) {
	if err != nil {
		return hlc.State{}, err
	}
	s, err := dagwire.Clock(m)
	return s, odd(op, err)
}
