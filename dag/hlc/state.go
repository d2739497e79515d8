package hlc

import (
	"time"
)

// State is what the clock of a node says, and what it is held against.
type State struct {
	Physical time.Time // what the physical clock says
	// Expected is what it would say had nobody set it since it was last in order;
	// as Physical where it is in order, or where there is nothing to hold it against.
	Expected time.Time
	Jumped   bool      // they differ by more than MaxDrift: no stamp is made
	Last     time.Time // no stamp that was made or observed is after this
	// Ahead is set where Last is more than MaxDrift after Physical: no stamp is
	// made, but on top of deltas that are ahead themselves.
	Ahead bool
}

// State returns what the clock says now.
func (c *Clock) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, jumped := c.physical.read()
	s := State{Physical: now, Expected: now, Last: c.last.Time()}
	if jumped != nil {
		s.Physical, s.Expected, s.Jumped = jumped.Physical, jumped.Expected, true
	}
	s.Ahead = c.last > ToNTP64(s.Physical).add(maxDrift)
	return s
}

// Confirm takes the physical clock as right, whatever it said before, and returns
// the state after that, on disk. Where the hybrid clock has run ahead of it, while
// the physical clock was wrong, it is set back: the stamps that follow are before
// some that this node has made, in other contexts or in deltas that were lost. A
// context that has such a stamp goes on after it (see [Clock.StampAfter]). It
// returns the error of the store; then nothing has changed.
func (c *Clock) Confirm() (State, error) {
	c.mu.Lock()
	now, undo := c.physical.confirm()
	physical := ToNTP64(now)
	last, reserved := c.last, c.reserved
	if last > physical.add(maxDrift) {
		last, reserved = physical, physical.add(second)
	}
	err := c.write(reserved)
	if err == nil {
		c.last, c.reserved, c.beyond = last, reserved, leastReservation
	} else {
		undo()
	}
	c.mu.Unlock()
	return c.State(), err
}
