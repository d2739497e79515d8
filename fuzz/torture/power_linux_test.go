package torture

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stoadb/stoa/engine/enginetest"
)

// power is the supply of a machine with a disk and a program. It goes off whenever
// the program has ended.
type power struct {
	rand *rand.Rand
	top  string // what the disk holds
	disk *disk
	on   *supervisor
	last *cut
	cuts int
	did  losses // all cuts
	// fault is that of the supervisor.
	fault func(action, string) injury
}

// supply has the harness's machine lose its power after each kill.
func supply(h *harness) *power {
	p := &power{rand: rand.New(rand.NewPCG(h.rand.Uint64(), 1)), top: filepath.Dir(h.dir)}
	h.program.start = p.start
	h.cut = p.fail
	h.replace() // by workers that expect it
	return p
}

// start starts a program whose calls are answered here.
func (p *power) start(cmd *exec.Cmd) error {
	d, err := readDisk(p.top, foreign)
	if err != nil {
		return err
	}
	launched, take, err := supervised(cmd)
	if err != nil {
		return err
	}
	*cmd = *launched
	if err := cmd.Start(); err != nil {
		return err
	}
	listener, err := take()
	if err == nil {
		p.disk = d
		p.on, err = supervise(listener, cmd.Process.Pid, p.top, d, p.fault)
	}
	if err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return nil
}

// settle waits until nobody changes the disk any more. The program has ended.
func (p *power) settle() error {
	if <-p.on.done; p.on.wrong != nil {
		return fmt.Errorf("the supervisor: %w", p.on.wrong)
	}
	if err := p.disk.differs(p.top, foreign); err != nil {
		return fmt.Errorf("the supervisor has missed a call: %w", err)
	}
	return nil
}

// fail leaves of the disk what a power cut does. The program has ended.
func (p *power) fail() error {
	if err := p.settle(); err != nil {
		return err
	}
	p.cuts++
	p.last = newCut(p.rand)
	err := p.last.do(p.disk, p.top)
	p.did.add(p.last.losses)
	return err
}

// The power of a machine goes off while its daemon is used in every way: what was
// acknowledged as synced is there, and the store verifies.
func TestPowerCutsUnderMixedLoadLoseNothing(t *testing.T) {
	d, seed := realDaemon(t), seedOf(t)
	cuts := *cutFlag
	if cuts == 0 {
		cuts = max(6, enginetest.Scale(8))
	}
	h := newHarness(t, d, seed)
	p := supply(h)
	err := h.run(cuts)
	if errors.Is(err, errNoSupervisor) {
		t.Skip("SKIPPED: no power cut was made:", err)
	}
	t.Logf("%d power cuts, %d of them before the daemon listened; %d changes of directories undone, %d writes dropped, %d torn, %d sectors or pages lost, %d stores left with a hole; %d writes acknowledged and recounted",
		p.cuts, h.opening, p.did.undone, p.did.dropped, p.did.torn, p.did.holes, h.holes, h.total())
	if err != nil {
		t.Fatalf("%s=%d: after cut %d (%v): %v", seedEnv, seed, p.cuts, p.last, err)
	}
	if h.total() == 0 || p.did.dropped == 0 && cuts >= 50 { // a few cuts may find everything synced
		t.Fatal("nothing was written, or nothing was lost")
	}
}

// The harness finds a daemon that does not sync: a kill does not show that, a power
// cut does.
func TestDaemonThatDoesNotSyncIsCaught(t *testing.T) {
	enginetest.SkipUnderRace(t, ofTheHarness)
	realDaemon(t) // or there is no engine
	seed := seedOf(t)
	h := newHarness(t, program{path: os.Args[0], env: []string{defectEnv + "=unsynced"}}, seed)
	p := supply(h)
	err := h.run(30)
	if errors.Is(err, errNoSupervisor) {
		t.Skip("SKIPPED: no power cut was made:", err)
	}
	demandCaught(t, err, "(?i)no context|not.?found") // what was lost may be what a worker began with
	t.Logf("caught after %d power cuts: %.300s", p.cuts, err)
}
