package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/rpc"
)

// defectOfDisk is what one call meets, and perhaps those after it.
type defectOfDisk string

const (
	failsOnce   defectOfDisk = "eio"    // EIO, and then all is well
	failsFull   defectOfDisk = "full"   // a write makes a half, or it is ENOSPC; so is the next call
	failsAlways defectOfDisk = "sticky" // EIO from then on
	failsDead   defectOfDisk = "kill"   // the process dies; a write has made a half, one time in two
)

var defectsOfDisk = []defectOfDisk{failsOnce, failsFull, failsAlways, failsDead}

// meter counts the calls that change something of a store, and has one fail.
type meter struct {
	defect defectOfDisk
	at     int // the call, from 0; negative: none
	calls  int
	met    string // what the call was
}

// fault is that of a supervisor.
func (m *meter) fault(does action, path string) (in injury) {
	n := m.calls
	m.calls++
	if m.at < 0 || n < m.at {
		return in
	}
	if n == m.at {
		m.met = fmt.Sprintf("%s %s", does, filepath.Base(path))
	}
	writes := does == callWrite || does == callWriteAt
	switch {
	case m.defect == failsAlways, m.defect == failsOnce && n == m.at:
		in.errno = unix.EIO
	case m.defect == failsFull && n == m.at && writes:
		in.half = true
	case m.defect == failsFull && n <= m.at+1:
		in.errno = unix.ENOSPC
	case m.defect == failsDead && n == m.at && n%2 == 0:
		in.kill, in.half = true, true
	case m.defect == failsDead:
		in.kill, in.errno = true, unix.EIO
	}
	return in
}

// task is what the daemon does when a call fails: so many writes of a worker, and
// what else there is to do.
type task struct {
	name   string
	made   func(*rand.Rand, byte) worker
	uses   int
	begun  bool // the store is there; else it is made
	copies bool // a checkpoint is made, too
}

// tasks returns what `make torture` does with each defect.
func tasks() []task {
	return []task{
		{"store", newRows, 12, false, false}, {"dag", newBranch, 8, true, false}, {"governance", newCouncil, 8, true, false},
		{"kv", newRegisters, 12, true, false}, {"blobs", newBlobs, 4, true, true},
		{"records", newIntents, 8, true, false}, {"decisions", newUses, 6, true, false}, {"locks", newHolds, 8, true, false}, {"reviews", newVotes, 8, true, false},
	}
}

// outcome is what a daemon did about a call that failed.
type outcome string

const (
	wentOn     outcome = "went on"
	refused    outcome = "refused writes"
	recovered  outcome = "refused writes, and took them again once reopened"
	notStarted outcome = "did not start, and said why"
	notStopped outcome = "ended in order with an error"
	aborted    outcome = "was aborted by RocksDB's assertions"
	died       outcome = "was killed"
)

// trial is one task with one call that fails.
type trial struct {
	task    task
	meter   *meter
	program program
	power   *power
	worker  worker
	dir     string
	begun   string // a store to begin with
	seed    uint64
	cut     bool // the power goes off in the end
	copied  string
	acks    int
	outcome outcome
}

func (t *trial) String() string {
	return fmt.Sprintf("-fault %s/%s/%d (call %d of %d was %s; the daemon %s; %d writes were acknowledged)",
		t.task.name, t.meter.defect, t.meter.at, t.meter.at, t.meter.calls, t.meter.met, t.outcome, t.acks)
}

// errStuck is what is wrong with a daemon that does not go on.
var errStuck = errors.New("the daemon does not end within a minute of being asked to")

// run does it all, and returns what is wrong.
func (t *trial) run() error {
	top := filepath.Dir(t.dir)
	if err := os.RemoveAll(top); err != nil {
		return err
	}
	if err := os.Mkdir(top, 0o700); err != nil {
		return err
	}
	if t.task.begun {
		if err := os.CopyFS(t.dir, os.DirFS(t.begun)); err != nil {
			return err
		}
		if err := os.Chmod(t.dir, 0o700); err != nil {
			return err
		}
	}
	r := rand.New(rand.NewPCG(t.seed, uint64(t.meter.at)))
	t.worker = t.task.made(rand.New(rand.NewPCG(t.seed, 0)), 0)
	if w, ok := t.worker.(forgetful); ok {
		w.expectCuts()
	}
	t.power = &power{rand: r, top: top, fault: t.meter.fault}
	p := t.program
	p.start = t.power.start
	d, err := p.serve(t.dir)
	if err != nil {
		return err
	}
	if err := errors.Join(t.use(d), t.end(d)); err != nil {
		return err
	}
	if t.cut {
		err = t.power.fail()
	} else {
		err = t.power.settle()
	}
	if err != nil {
		return err
	}
	return t.recount()
}

// use has the daemon do the task as far as it does.
func (t *trial) use(d *served) error {
	c, err := d.dial(rpc.FramingGRPC)
	if err != nil {
		t.outcome = notStarted // end looks why
		return nil
	}
	defer c.Close()
	t.outcome = wentOn
	for range t.task.uses {
		err := t.worker.use(c)
		switch {
		case err == nil:
			t.acks++
			continue
		case isWrong(err):
			return err
		}
		if !t.mend(c) {
			return nil
		}
		if err := recount(t.worker, c); err != nil {
			if isWrong(err) {
				return fmt.Errorf("in the daemon that met the fault: %w", err)
			}
			return nil
		}
	}
	if t.task.copies {
		path := filepath.Join(filepath.Dir(t.dir), "copy")
		if err := c.Checkpoint(context.Background(), path); err == nil {
			t.copied = path
		}
	}
	_ = c.Flush(context.Background()) // refused, it changes nothing
	return nil
}

// mend reports whether a daemon that has failed to make a write takes writes, after
// a reopening if need be.
func (t *trial) mend(c *rpc.Client) bool {
	t.outcome = refused
	s, err := c.Status(context.Background())
	if err != nil {
		return false
	}
	if s.GetHealth().GetWritable() {
		return true
	}
	h, err := c.Reopen(context.Background())
	if err != nil || !h.Writable {
		return false
	}
	t.outcome = recovered
	return true
}

// assertion is what RocksDB says, or the C++ that it is written in, when it gives up.
var assertion = regexp.MustCompile(`Assertion .* failed|terminate called|SIGABRT`)

// end ends the daemon, and looks at how it ended.
func (t *trial) end(d *served) error {
	_ = d.cmd.Process.Signal(os.Interrupt) // it has ended
	ended := make(chan error, 1)
	go func() { ended <- d.wait() }()
	stuck := error(nil)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		stuck = fmt.Errorf("%w: %s", errStuck, d.tail())
		_ = d.cmd.Process.Kill() // it has ended now
		<-ended
	}
	if <-t.power.on.done; t.power.on.wrong != nil { // and it writes to t.meter no more
		return fmt.Errorf("the supervisor: %w", t.power.on.wrong)
	}
	said, err := os.ReadFile(d.log)
	if err != nil || stuck != nil {
		return errors.Join(err, stuck)
	}
	state := d.cmd.ProcessState
	status, _ := state.Sys().(syscall.WaitStatus) // it is one here
	switch {
	case t.meter.defect == failsDead && status.Signaled() && status.Signal() == syscall.SIGKILL && t.meter.met != "":
		t.outcome = died
	case assertion.Match(said) && (status.Signaled() || status.ExitStatus() == 2):
		t.outcome = aborted
	case bytes.Contains(said, []byte("panic")) || bytes.Contains(said, []byte("fatal error")) || status.Signaled():
		return wrongf("the daemon ended with %s: %s", state, d.tail())
	case t.outcome == notStarted && (status.ExitStatus() == 0 || !bytes.Contains(said, []byte("stoa: "))):
		return wrongf("the daemon ended instead of serving, with %s and without saying why: %s", state, d.tail())
	case status.ExitStatus() != 0 && t.outcome != notStarted:
		if len(bytes.TrimSpace(said)) == 0 {
			return wrongf("the daemon ended with %s, and has not said why", state)
		}
		t.outcome = notStopped
	}
	return nil
}

// recount starts a daemon on what is left, on a disk that has been mended.
func (t *trial) recount() error {
	err := verifyStore(t.dir)
	if errors.Is(err, errHole) && t.cut {
		err = nil
	}
	if _, gone := os.Stat(t.dir); errors.Is(err, errNoStore) || os.IsNotExist(gone) {
		if t.acks > 0 {
			return wrongf("there is no store any more")
		}
	} else if err != nil {
		return err
	}
	if t.copied != "" {
		if err := verifyStore(t.copied); err != nil {
			return fmt.Errorf("the checkpoint: %w", err)
		}
	}
	d, err := t.program.serve(t.dir)
	if err != nil {
		return err
	}
	defer d.kill() // it is dead, or something is wrong
	c, err := d.dial(rpc.FramingFrames)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := recount(t.worker, c); err != nil {
		return err
	}
	if err := t.worker.use(c); err != nil {
		return fmt.Errorf("the daemon that was started anew: %w", err)
	}
	return d.stop()
}
