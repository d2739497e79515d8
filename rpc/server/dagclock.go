package server

import (
	"context"

	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// GetClock is Dag.GetClock.
func (t *dagService) GetClock(context.Context, *stoav1.DagGetClockRequest) (*stoav1.DagGetClockResponse, error) {
	state := t.s.o.Dag.Clock().State()
	return &stoav1.DagGetClockResponse{Clock: dagwire.FromClock(&state)}, nil
}

// ConfirmClock is Dag.ConfirmClock.
func (t *dagService) ConfirmClock(context.Context, *stoav1.DagConfirmClockRequest) (*stoav1.DagConfirmClockResponse, error) {
	state, err := t.s.o.Dag.Clock().Confirm()
	if err != nil {
		return nil, err
	}
	t.s.log.Warn("the system clock was confirmed", "time", state.Physical, "last_stamp", state.Last)
	return &stoav1.DagConfirmClockResponse{Clock: dagwire.FromClock(&state)}, nil
}
