package rpc

import (
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Clock returns what the clock of the daemon says, as [dag.Clock.State] does.
func (d *Dag) Clock() (dag.ClockState, error) {
	res, err := dagCall(d.c, "clock", d.c.dag.GetClock, &stoav1.DagGetClockRequest{})
	return clockOf("clock", res.GetClock(), err)
}

// ConfirmClock takes the system clock of the daemon as right, as
// [dag.Clock.Confirm] does, with its errors.
func (d *Dag) ConfirmClock() (dag.ClockState, error) {
	res, err := dagCall(d.c, "confirm clock", d.c.dag.ConfirmClock, &stoav1.DagConfirmClockRequest{})
	return clockOf("confirm clock", res.GetClock(), err)
}

func clockOf(op string, m *stoav1.DagClock, err error) (dag.ClockState, error) {
	if err != nil {
		return dag.ClockState{}, err
	}
	s, err := dagwire.Clock(m)
	return s, odd(op, err)
}
