package hlc

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
)

const year = 365 * 24 * time.Hour

// machine is a physical clock and an uptime in the hands of a test.
type machine struct {
	wall
	boot    [16]byte
	elapsed time.Duration
}

func newMachine() *machine { return &machine{wall: wall{now: epoch}, boot: [16]byte{1}} }

// pass lets time pass for both clocks, as it does while the machine sleeps, too.
func (m *machine) pass(d time.Duration) { m.elapsed += d; m.move(d) }

func (m *machine) clock(t require.TestingT, e engine.Engine, w engine.Writer) *Clock {
	c, err := Open(e, w, Options{Node: node1, Now: m.Now,
		Uptime: &Uptime{Boot: m.boot, Elapsed: func() time.Duration { return m.elapsed }}})
	require.NoError(t, err)
	return c
}

func stamped(t *testing.T, c *Clock) NTP64 {
	t.Helper()
	s, err := c.Stamp()
	require.NoError(t, err)
	return NTP64(s.Time)
}

func TestAStepOfThePhysicalClockIsNotTaken(t *testing.T) {
	for name, step := range map[string]time.Duration{"forward": 10 * year, "back": -10 * year, "just": MaxDrift + 1} {
		t.Run(name, func(t *testing.T) {
			e, m := mem.New(), newMachine()
			defer e.Close()
			c := m.clock(t, e, e)
			before := stamped(t, c)
			m.pass(time.Minute)
			m.move(step)
			_, err := c.Stamp()
			var jumped *Jumped
			require.ErrorAs(t, err, &jumped)
			require.ErrorIs(t, err, ErrJumped)
			require.Equal(t, Jumped{Physical: epoch.Add(time.Minute + step), Expected: epoch.Add(time.Minute)}, *jumped)
			require.True(t, c.State().Jumped)
			// What others send is judged by the time that has passed.
			require.Equal(t, epoch.Add(time.Minute), c.Now())
			require.ErrorIs(t, c.Check(at(10*year, node2)), ErrEarly)
			require.NoError(t, c.Observe(at(time.Minute, node2)))
			// A restart of the daemon changes nothing about it.
			c = m.clock(t, e, e)
			_, err = c.Stamp()
			require.ErrorIs(t, err, ErrJumped)
			m.pass(time.Hour)
			_, err = c.Stamp()
			require.ErrorIs(t, err, ErrJumped)
			// Set right again, it goes on as if nothing had been.
			m.move(-step)
			require.Equal(t, ToNTP64(epoch.Add(time.Minute+time.Hour))&^counterMask, stamped(t, c))
			require.Greater(t, stamped(t, c), before)
			require.False(t, c.State().Jumped)
		})
	}
}

func TestSleepAndSmallStepsAreNoJump(t *testing.T) {
	e, m := mem.New(), newMachine()
	defer e.Close()
	c := m.clock(t, e, e)
	stamped(t, c)
	m.pass(9 * time.Hour) // the lid was closed
	stamped(t, c)
	for range 100 { // a clock that runs too fast is noticed by nobody
		m.pass(time.Hour)
		m.move(MaxDrift)
		stamped(t, c)
	}
}

func TestAConfirmedStepIsTakenAcrossRestarts(t *testing.T) {
	for name, step := range map[string]time.Duration{"forward": year, "back": -year} {
		t.Run(name, func(t *testing.T) {
			e, m := mem.New(), newMachine()
			defer e.Close()
			c := m.clock(t, e, e)
			stamped(t, c)
			m.move(step)
			state, err := c.Confirm()
			require.NoError(t, err)
			require.Equal(t, epoch.Add(step), state.Physical)
			require.False(t, state.Jumped || state.Ahead)
			require.Equal(t, ToNTP64(epoch.Add(step)), stamped(t, c)&^counterMask)
			c = m.clock(t, e, e)
			require.LessOrEqual(t, stamped(t, c), ToNTP64(epoch.Add(step))+2*second)
		})
	}
}

func TestAStepWhileTheMachineWasOffIsTaken(t *testing.T) {
	e, m := mem.New(), newMachine()
	defer e.Close()
	stamped(t, m.clock(t, e, e))
	m.boot, m.elapsed = [16]byte{2}, 0
	m.move(year)
	require.GreaterOrEqual(t, stamped(t, m.clock(t, e, e)), ToNTP64(epoch.Add(year)))
	// The uptime of another machine with the same boot id, of which this is a copy, may be less.
	m.elapsed = -time.Hour
	stamped(t, m.clock(t, e, e))
}

// A machine comes up ten years ahead, the node writes, and then the clock is set
// right: what was written meanwhile holds nobody up.
func TestASpellOfAWrongClockIsOver(t *testing.T) {
	e, m := mem.New(), newMachine()
	defer e.Close()
	m.move(10 * year)
	wrong := stamped(t, m.clock(t, e, e))
	m.boot, m.elapsed = [16]byte{2}, 0
	m.move(-10 * year)
	c := m.clock(t, e, e)
	require.True(t, c.State().Ahead)
	_, err := c.Stamp()
	require.ErrorIs(t, err, ErrAhead)
	// The context that was written to goes on after what it has.
	s, err := c.StampAfter(wrong)
	require.NoError(t, err)
	require.Equal(t, wrong+1, NTP64(s.Time))
	// The others go on once the clock is confirmed, after a restart, too.
	state, err := c.Confirm()
	require.NoError(t, err)
	require.False(t, state.Ahead)
	require.Greater(t, stamped(t, c), ToNTP64(epoch))
	require.Less(t, stamped(t, m.clock(t, e, e)), ToNTP64(epoch)+3*second)
	s, err = c.StampAfter(wrong + 1)
	require.NoError(t, err)
	require.Equal(t, wrong+2, NTP64(s.Time))
	require.Less(t, stamped(t, c), ToNTP64(epoch)+3*second, "the hybrid clock has not followed")
}

func TestAConfirmationThatIsNotStoredChangesNothing(t *testing.T) {
	e, m := mem.New(), newMachine()
	defer e.Close()
	broken := &brokenWriter{Writer: e}
	c := m.clock(t, e, broken)
	stamped(t, c)
	m.move(-year)
	broken.err = errors.New("the disk is gone")
	state, err := c.Confirm()
	require.ErrorIs(t, err, broken.err)
	require.True(t, state.Jumped)
	broken.err = nil
	_, err = c.Stamp()
	require.ErrorIs(t, err, ErrJumped)
}

func TestADamagedAnchorIsReported(t *testing.T) {
	e, m := mem.New(), newMachine()
	defer e.Close()
	var b engine.Batch
	b.Put(column.Generic, anchorKey, []byte("short"))
	require.NoError(t, e.Apply(&b))
	_, err := Open(e, e, Options{Node: node1, Now: m.Now, Uptime: &Uptime{Elapsed: func() time.Duration { return 0 }}})
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.ErrorContains(t, err, "an anchor of 5 bytes instead of 32")
}

func TestTheUptimeOfTheSystemGoesOn(t *testing.T) {
	u := SystemUptime()
	if u == nil {
		_, err := os.Stat("/proc/sys/kernel/random/boot_id")
		require.Error(t, err, "a Linux that says its boot id has an uptime")
		t.Skip("this system has no uptime that Stoa reads")
	}
	require.NotZero(t, u.Boot)
	first := u.Elapsed()
	require.Positive(t, first)
	require.GreaterOrEqual(t, u.Elapsed(), first)
	require.Equal(t, u.Boot, SystemUptime().Boot)
}

// Whatever happens to the clocks, the stamps of one context, each after those
// before it, increase, and none is further ahead than is allowed but on top of one
// that already was.
func TestStampsOfAContextIncreaseThroughJumpsAndConfirmations(t *testing.T) {
	enginetest.Check(t, 200, func(t *rapid.T) {
		e, m := mem.New(), newMachine()
		defer e.Close()
		c := m.clock(t, e, e)
		var heads [2]NTP64
		step := rapid.Int64Range(-int64(time.Hour), int64(time.Hour))
		t.Repeat(map[string]func(*rapid.T){
			"stamp": func(t *rapid.T) {
				head := &heads[rapid.IntRange(0, 1).Draw(t, "context")]
				s, err := c.StampAfter(*head)
				limit := ToNTP64(c.Now()) + maxDrift
				switch {
				case errors.Is(err, ErrJumped):
					require.True(t, c.State().Jumped)
				case errors.Is(err, ErrAhead):
					require.True(t, c.State().Ahead)
				default:
					require.NoError(t, err)
					require.Greater(t, NTP64(s.Time), *head)
					require.True(t, NTP64(s.Time) <= limit || NTP64(s.Time) == *head+1)
					*head = NTP64(s.Time)
				}
			},
			"confirmed, it goes on": func(t *rapid.T) {
				_, err := c.Confirm()
				require.NoError(t, err)
				for i := range heads {
					s, err := c.StampAfter(heads[i])
					require.NoError(t, err)
					heads[i] = NTP64(s.Time)
				}
			},
			"observe": func(t *rapid.T) {
				s := codec.HybridTimestamp{Time: uint64(ToNTP64(m.Now().Add(time.Duration(step.Draw(t, "ahead"))))), ID: node2}
				if c.Observe(s) == nil {
					require.LessOrEqual(t, NTP64(s.Time), ToNTP64(c.Now())+maxDrift)
				}
			},
			"pass":    func(t *rapid.T) { m.pass(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "by"))) },
			"step":    func(t *rapid.T) { m.move(time.Duration(step.Draw(t, "by"))) },
			"restart": func(t *rapid.T) { c = m.clock(t, e, e) },
			"reboot": func(t *rapid.T) {
				m.boot[0]++
				m.elapsed = 0
				c = m.clock(t, e, e)
			},
		})
	})
}

// A clock that nobody chooses is that of the system, held against its uptime; one that
// somebody chooses is held against what they choose.
func TestOnlyTheSystemsClockIsHeldAgainstItsUptime(t *testing.T) {
	e, chosen := mem.New(), &Uptime{Elapsed: func() time.Duration { return 0 }}
	defer e.Close()
	now := func() time.Time { return time.Unix(1_700_000_000, 0) }
	for name, c := range map[string]struct {
		now          func() time.Time
		uptime, want *Uptime
	}{
		"nothing":   {nil, nil, SystemUptime()},
		"an uptime": {nil, chosen, chosen},
		"a clock":   {now, nil, nil},
		"both":      {now, chosen, chosen},
	} {
		t.Run(name, func(t *testing.T) {
			clock, err := Open(e, e, Options{Node: node1, Now: c.now, Uptime: c.uptime})
			require.NoError(t, err)
			require.NotNil(t, clock.physical.now)
			require.Equal(t, c.want == nil, clock.physical.uptime == nil)
			if c.want != nil {
				require.Equal(t, c.want.Boot, clock.physical.uptime.Boot)
			}
		})
	}
}

// A process that is stopped between the readings of both clocks, for less than a jump,
// reads them again: what it took for a small step would move the anchor.
func TestBothClocksAreReadAtOneMoment(t *testing.T) {
	m, e, stops := newMachine(), mem.New(), 0
	defer e.Close()
	now := func() time.Time {
		wall := m.Now()
		if stops > 0 {
			stops--
			m.pass(MaxDrift / 8)
		}
		return wall
	}
	c, err := Open(e, e, Options{Node: node1, Now: now, Uptime: &Uptime{Boot: m.boot, Elapsed: func() time.Duration { return m.elapsed }}})
	require.NoError(t, err)
	stops = 3
	require.Equal(t, m.Now().Add(3*MaxDrift/8), c.Now())
	stops = 1
	require.Equal(t, m.Now().Add(MaxDrift/8), c.Now())
	require.Zero(t, stops)
}

// A confirmation sets a clock back that has run ahead of what is allowed, and no other.
func TestAConfirmationKeepsWhatWasObserved(t *testing.T) {
	m, e := newMachine(), mem.New()
	defer e.Close()
	c := m.clock(t, e, e)
	seen := at(MaxDrift, node2)
	require.NoError(t, c.Observe(seen))
	_, err := c.Confirm()
	require.NoError(t, err)
	m.pass(time.Second)
	require.Greater(t, stamped(t, c), NTP64(seen.Time))
	require.Greater(t, stamped(t, m.clock(t, e, e)), NTP64(seen.Time), "after a restart, too")
}

// A clock that knows of nothing before it takes the physical clock as it is, whatever
// the rows say.
func TestANewClockReadsNoRows(t *testing.T) {
	m, e := newMachine(), mem.New()
	defer e.Close()
	last := stamped(t, m.clock(t, e, e))
	c := New(e, Options{Node: node1, Now: m.Now, Uptime: &Uptime{Boot: m.boot, Elapsed: func() time.Duration { return m.elapsed }}})
	m.move(-time.Hour)
	require.Equal(t, m.Now(), c.Now())
	require.Less(t, stamped(t, c), last)
	require.Panics(t, func() { New(e, Options{}) })
}
