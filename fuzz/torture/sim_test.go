package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/rpc"
)

// span is a harness whose daemons go by a clock of their own, for so many hours of it.
type span struct {
	*harness
	time     *reckoning
	settings settings
	terms    []*terms
	stamps   *stamps
	guests   *guests
	begun    time.Duration // when the store was new, by what has elapsed
	restored bool          // by the round before
	defect   string        // of the daemon; "": none
	rates    []uint64      // how many times too fast the clock runs
	most     time.Duration // how long a daemon serves, by the clock of the machine

	did struct{ rounds, kills, stops, steps, checkpoints, restores, compactions, stores int }
	saw struct{ expired, spent, behind, bases, late int }
}

// The time of day begins long ago: `stoa verify`, which goes by the clock of the
// machine, takes no stamp for one from the future.
const longAgo = 60 * 24 * time.Hour

// newSpan makes one of a store that there is not yet.
func newSpan(t testing.TB, seed uint64) *span {
	t.Helper()
	s := &span{harness: newHarness(t, program{path: os.Args[0]}, seed)}
	path := filepath.Join(filepath.Dir(s.dir), "clock")
	clock, err := newSimClock(path, time.Now().Add(-longAgo))
	require.NoError(t, err)
	s.time = &reckoning{clock: clock}
	s.program.env = []string{clockEnv + "=" + path, ""}
	s.rest = 10 * time.Millisecond
	s.rates, s.most = []uint64{60, 120, 300, 600}, 1800*time.Millisecond
	s.renew()
	return s
}

// renew begins with an empty store.
func (s *span) renew() {
	s.count()
	s.replace()
	s.did.stores++
	s.terms, s.begun = nil, s.time.clock.Elapsed()
	s.time.outlives = 0
	var list []named
	for i, w := range s.workers {
		t, ok := w.worker.(timed)
		if ok {
			t.keepTime(s.time)
		}
		if ok || i%2 == 0 { // of the others one is enough
			list = append(list, w)
		}
	}
	r := func() *rand.Rand { return rand.New(rand.NewPCG(s.rand.Uint64(), 2)) }
	for i := range 2 {
		w := newTerms(r(), byte(i), s.time)
		s.terms = append(s.terms, w)
		list = append(list, named{"Kv times to live", w})
	}
	s.stamps = newStamps(r(), 0, s.time, func() time.Duration { return s.settings.BaseAge })
	s.guests = newGuests(r(), s.time)
	s.workers = append(list, named{"Dag stamps and snapshots", s.stamps}, named{"invitations", s.guests})
}

// count adds what the workers of a store have seen to the totals.
func (s *span) count() {
	for _, w := range s.terms {
		s.saw.spent += w.spent
		if w.watch != nil {
			s.saw.expired += w.watch.expired
		}
	}
	if s.stamps != nil {
		s.saw.behind += s.stamps.behind
		s.saw.bases += s.stamps.bases
		s.saw.late += s.guests.late
	}
}

// finish recounts once more, and stops the daemon as an operator would.
func (s *span) finish() error {
	s.time.begins()
	s.time.clock.run(s.rates[0])
	err := s.end()
	s.time.ended()
	for _, w := range s.terms {
		err = errors.Join(err, w.Close())
	}
	return err
}

// quicken has less happen in the same time of the clock.
func (s *span) quicken() { s.rates, s.most = []uint64{600, 1200}, 800*time.Millisecond }

// storeHours is for how long a store is used, of the simulated clock.
const storeHours = 12 * time.Hour

// run serves until so much has elapsed.
func (s *span) run(hours time.Duration) error {
	for s.time.clock.Elapsed() < hours || s.did.rounds < 2 {
		s.did.rounds++
		s.settings = drawSettings(s.rand)
		s.settings.Defect = s.defect
		s.program.env[1] = settingsEnv + "=" + s.settings.String()
		if err := s.round(); err != nil {
			return fmt.Errorf("round %d, %s elapsed, settings %s: %w", s.did.rounds, s.time.clock.Elapsed(), s.settings, err)
		}
		if s.time.clock.Elapsed()-s.begun > storeHours {
			if err := s.finish(); err != nil {
				return err
			}
			s.renew()
		}
	}
	err := s.finish()
	s.count()
	return err
}

// round lets time pass, has a daemon serve for a while, ends it in some way, and checks
// what it has left.
func (s *span) round() error {
	if s.rand.IntN(2) == 0 {
		s.time.pass(time.Duration(s.rand.Int64N(int64(40 * time.Minute))))
	}
	if s.rand.IntN(2) == 0 {
		s.step()
	}
	rate := one(s.rand, s.rates...)
	s.time.begins()
	s.time.clock.run(rate)
	d, clients, err := s.serve()
	if err != nil {
		return err
	}
	s.time.serves()
	defer d.kill() // it is dead, or something is wrong
	defer hangUp(clients)
	err = s.recount(clients)
	if err == nil && s.restored {
		s.restored = false
		err = s.resume(clients[0])
	}
	if err != nil {
		return err
	}
	l := s.work(clients)
	err = s.happen(clients[0], time.Now().Add(s.most/4+time.Duration(s.rand.Int64N(int64(s.most*3/4)))), l)
	copied := s.copies()
	switch kind := s.rand.IntN(6); {
	case err != nil:
		err = errors.Join(err, l.end(s.harness))
	case kind < 3: // in the middle of everything
		l.over.Store(true)
		err = errors.Join(d.kill(), l.end(s.harness))
		s.did.kills++
	case kind < 5:
		if err = errors.Join(l.end(s.harness), s.settle(clients[0])); err == nil {
			hangUp(clients)
			err = d.stop()
		}
		s.did.stops++
	default:
		if err = errors.Join(l.end(s.harness), s.freeze(clients[0], rate)); err == nil {
			copied = filepath.Join(filepath.Dir(s.dir), "restored")
			err = errors.Join(os.RemoveAll(copied), clients[0].Checkpoint(context.Background(), copied), d.kill())
		}
		s.did.restores++
	}
	s.time.ended()
	s.time.clock.run(0)
	s.kills++
	for _, w := range s.terms {
		err = errors.Join(err, w.Close())
	}
	if err == nil {
		err = s.check()
	}
	if err == nil && copied != "" {
		err = s.useCopy(copied)
	}
	return err
}

// happen has things happen to the daemon, and to its clock, while workers use it.
func (s *span) happen(c *rpc.Client, until time.Time, l *load) error {
	if err := s.probe(c); err != nil {
		return err
	}
	for time.Now().Before(until) && len(l.errs) == 0 {
		time.Sleep(time.Duration(s.rand.Int64N(int64(s.most / 5))))
		var err error
		switch s.rand.IntN(8) {
		case 0, 1, 2:
			if s.rand.IntN(2) == 0 {
				err = s.probe(c)
			}
			s.step()
			if err == nil && s.rand.IntN(4) > 0 {
				err = s.probe(c)
			}
		case 3:
			err = c.Compact(context.Background(), 0, engine.Range{})
			s.did.compactions++
		case 4:
			err = c.Flush(context.Background())
		case 5:
			if s.copies() == "" {
				err = c.Checkpoint(context.Background(), s.copied())
				s.did.checkpoints++
			}
		default:
			err = s.probe(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step steps the time of day: a little, as a time server does, or much, as somebody does
// who sets the clock, or a machine that was suspended.
func (s *span) step() {
	s.did.steps++
	by := []int64{int64(time.Second), int64(time.Minute), int64(10 * time.Minute)}[s.rand.IntN(3)]
	d := time.Duration(s.rand.Int64N(2*by) - by)
	if s.rand.IntN(8) == 0 {
		d = time.Duration(s.rand.Int64N(int64(time.Hour)))
	}
	s.time.step(d)
}

// probe asks the daemon for its time, by a value that it gives a time to live.
func (s *span) probe(c *rpc.Client) error {
	seconds := int64(60)
	m := s.time.before()
	i, err := c.KV("probe").PutJSON(context.Background(), "probe", json.RawMessage(digits(1)), rpc.TTL(time.Duration(seconds)*time.Second))
	if err != nil {
		return err
	}
	t := s.time.after(m)
	at := sinceEpoch(i.Expires) - time.Minute - time.Millisecond
	if at < t.first-time.Millisecond || at > t.last {
		return wrongf("the daemon's time is %s; it should be %s to %s", moments(at), moments(t.first), moments(t.last))
	}
	s.time.was(at, m)
	return nil
}

// settle waits until what is due has been done. No worker is at work.
func (s *span) settle(c *rpc.Client) error {
	for _, w := range s.terms {
		if err := w.settle(c); err != nil {
			return err
		}
	}
	return nil
}

// freeze has the clock stand at a moment at which nothing is due, and all that was has
// been done: a copy of the store is then what is there until its daemon ends.
func (s *span) freeze(c *rpc.Client, rate uint64) error {
	for {
		if err := s.settle(c); err != nil {
			return err
		}
		s.time.clock.run(0)
		now, due := s.time.after(s.time.before()).last, false
		for _, w := range s.terms {
			due = due || w.watch.due(now)
		}
		if !due {
			return nil
		}
		s.time.clock.run(rate)
		time.Sleep(time.Millisecond)
	}
}

func (s *span) copied() string { return filepath.Join(filepath.Dir(s.dir), "copy") }

// copies returns the checkpoint of this round; "" if there is none.
func (s *span) copies() string {
	if _, err := os.Stat(s.copied()); err != nil {
		return ""
	}
	return s.copied()
}

// useCopy verifies a checkpoint that was made under load, and has one that was made of
// all there is take the place of the store, as an operator does after a loss.
func (s *span) useCopy(dir string) error {
	defer os.RemoveAll(s.copied())
	if dir == s.copied() {
		if err := verifyStore(dir); err != nil {
			return fmt.Errorf("a checkpoint: %w", err)
		}
		return nil
	}
	defer os.RemoveAll(dir)
	path, err := stoaBinary()
	if err != nil {
		return err
	}
	if out, err := enginetest.EndWithParent(exec.Command(path, "restore", "--replace", dir, s.dir)).CombinedOutput(); err != nil {
		return wrongf("restore: %v: %s", err, out[:min(len(out), 4000)])
	}
	s.restored = true
	return os.RemoveAll(s.dir + ".replaced")
}

// resume has the daemon sign again in every namespace, as an operator does who knows that
// the copy which took the store's place had all that was signed.
func (s *span) resume(c *rpc.Client) error {
	for ns, err := range c.Namespaces().List(context.Background()) {
		if err != nil {
			return err
		}
		if err := c.Namespaces().Resume(context.Background(), ns.ID); err != nil {
			return err
		}
	}
	return nil
}

// Daemons are used for 72 hours of a clock that runs hundreds of times too fast and is
// stepped, are killed, stopped and started with other settings, and are replaced by
// their copies: what was acknowledged is there, what is due comes due in its time and
// not before, and the store verifies.
func TestSeventyTwoHoursOfAClockThatIsSteppedLoseNothing(t *testing.T) {
	realDaemon(t) // or there is no engine
	seed := seedOf(t)
	hours := max(1, *hoursFlag)
	require.LessOrEqual(t, hours, 1000, "the clock would overtake that of the machine")
	s, begun := newSpan(t, seed), time.Now()
	if *hoursFlag == 0 {
		s.quicken()
	}
	err := s.run(time.Duration(hours) * time.Hour)
	for does, n := range s.acks {
		t.Logf("%9d acknowledged: %s", n, does)
	}
	t.Logf("%s of the clock, which was stepped %d times, in %s: %d rounds, %d of them ended by a kill, %d by a shutdown, %d by the restoring of a checkpoint; %d stores; %d checkpoints under load, %d compactions",
		s.time.clock.Elapsed().Round(time.Second), s.did.steps, time.Since(begun).Round(time.Second), s.did.rounds, s.did.kills, s.did.stops, s.did.restores, s.did.stores, s.did.checkpoints, s.did.compactions)
	t.Logf("%d writes acknowledged and recounted; %d values expired and were told of, %d were looked for after their time; %d commits refused as the clock was behind; %d snapshots with a base; %d invitations refused as expired",
		s.total(), s.saw.expired, s.saw.spent, s.saw.behind, s.saw.bases, s.saw.late)
	if err != nil {
		t.Fatalf("%s=%d: %v", seedEnv, seed, err)
	}
	if s.total() == 0 || *hoursFlag > 0 && (s.saw.expired == 0 || s.saw.bases == 0) { // an hour may have too little for all
		t.Fatal("nothing was written, or nothing came due")
	}
}

// Daemons with a wrong clock do not pass: each has what the test above would not let
// through. How much happens in an hour of a clock that runs a thousand times too fast is the
// machine's to say: usually one store shows the defect, on a busy machine it may take several.
func TestDaemonsWithAWrongClockAreCaught(t *testing.T) {
	enginetest.SkipUnderRace(t, ofTheHarness)
	realDaemon(t) // or there is no engine
	for _, tc := range []struct{ defect, caught string }{
		{"values expire early", "the daemon's time is"},
		{"nothing is swept", "no watch was told"},
		{"stamps are late", "was too early at|the stamp of .* is|it was .* as the refusal of a commit says"},
		{"invitations stay", "an invitation until .* was taken"},
		{"bases are young", "the base of a snapshot is of"},
	} {
		t.Run(tc.defect, func(t *testing.T) {
			seed := seedOf(t)
			s := newSpan(t, seed)
			s.quicken()
			s.defect = tc.defect
			for _, w := range s.terms {
				w.patience = time.Second
			}
			err := s.run(10 * storeHours)
			require.Error(t, err)
			require.Regexp(t, tc.caught, err.Error())
			t.Logf("caught in round %d: %.300s", s.did.rounds, err)
		})
	}
}
