package hlc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// ErrJumped marks a physical clock that was set, or reset itself, by more than
// [MaxDrift] while time passed otherwise. The error is a [*Jumped].
var ErrJumped = errors.New("dag: clock jumped")

// Jumped says how far the physical clock is from what it would say had nobody
// set it. No stamp is made until both agree again, or the new time is confirmed.
type Jumped struct {
	Physical time.Time // what the physical clock says
	Expected time.Time // what it said when it was last in order, and the time that has passed since
}

// Error names both times and what to do.
func (e *Jumped) Error() string {
	return fmt.Sprintf("dag: clock jumped: the system clock says %s, and by the time that has passed it would be %s: "+
		"set the clock right, or confirm that it is", e.Physical.UTC().Format(time.RFC3339), e.Expected.UTC().Format(time.RFC3339))
}

// Is reports whether target is [ErrJumped].
func (e *Jumped) Is(target error) bool { return target == ErrJumped }

// anchorKey is the key of the row of the anchor, in column Generic: boot 16 bytes,
// then the physical time in nanoseconds since 1970 and the uptime in nanoseconds,
// u64 little endian each.
var anchorKey = func() []byte {
	scope := keys.MustScope("dag-uptime")
	return scope[:]
}()

// physical is the physical clock, held against the uptime of the machine. A step of
// more than MaxDrift is not taken until it is confirmed: meanwhile the time goes on
// from the last reading that was in order, the anchor. Small steps, by which a clock
// is corrected all the time, are taken as they come.
//
// The anchor is stored beside each reservation of the hybrid clock, so that a
// restart of the daemon takes a step no more than the daemon did; one of the machine
// does, since no uptime spans it.
type physical struct {
	now    func() time.Time
	uptime *Uptime // nil: the clock is taken as it is

	mu   sync.Mutex
	wall time.Time     // the anchor, without a monotonic reading
	at   time.Duration // the uptime at the anchor
}

// openPhysical returns the clock that goes on from the anchor that r has, if that is
// of this boot.
func openPhysical(r engine.Getter, now func() time.Time, uptime *Uptime) (*physical, error) {
	p := &physical{now: now, uptime: uptime}
	if uptime == nil {
		return p, nil
	}
	p.wall, p.at = p.both()
	row, err := r.Get(nil, column.Generic, anchorKey)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return p, nil
	case err != nil:
		return nil, fmt.Errorf("dag: clock: %w", err)
	case len(row) != 32:
		return nil, fmt.Errorf("dag: clock: %w: %s %x: an anchor of %d bytes instead of 32",
			engine.ErrCorrupt, column.Generic, anchorKey, len(row))
	}
	if at := time.Duration(binary.LittleEndian.Uint64(row[24:])); [16]byte(row) == uptime.Boot && at <= p.at {
		p.wall, p.at = time.Unix(0, int64(binary.LittleEndian.Uint64(row[16:]))), at
	}
	return p, nil
}

// both reads both clocks at one moment: when the process was stopped between the
// readings they are made again.
func (p *physical) both() (time.Time, time.Duration) {
	for {
		before := p.uptime.Elapsed()
		wall := p.now().Round(0)
		if after := p.uptime.Elapsed(); after-before < MaxDrift/8 {
			return wall, after
		}
	}
}

// read returns the time, and whether the physical clock says another one that was
// not confirmed.
func (p *physical) read() (time.Time, *Jumped) {
	if p.uptime == nil {
		return p.now(), nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	wall, at := p.both()
	expected := p.wall.Add(at - p.at)
	if off := wall.Sub(expected); off > MaxDrift || off < -MaxDrift {
		return expected, &Jumped{Physical: wall, Expected: expected}
	}
	p.wall, p.at = wall, at
	return wall, nil
}

// confirm takes the physical clock as right from now on, and returns it, and what
// takes that back.
func (p *physical) confirm() (now time.Time, undo func()) {
	if p.uptime == nil {
		return p.now(), func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	wall, at := p.wall, p.at
	p.wall, p.at = p.both()
	return p.wall, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.wall, p.at = wall, at
	}
}

// anchor puts the row of the anchor into a batch.
func (p *physical) anchor(b *engine.Batch) {
	if p.uptime == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	row := append(make([]byte, 0, 32), p.uptime.Boot[:]...)
	row = binary.LittleEndian.AppendUint64(row, uint64(p.wall.UnixNano()))
	b.Put(column.Generic, anchorKey, binary.LittleEndian.AppendUint64(row, uint64(p.at)))
}
