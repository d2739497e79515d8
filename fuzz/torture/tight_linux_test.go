package torture

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/engine/enginetest"
)

// memories are what the daemon may have of it, in MiB.
var memories = []int{24, 32, 40, 48, 56, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512}

// What a daemon with little memory does besides.
const (
	killedEarly outcome = "was killed by the kernel before it served"
	killedLate  outcome = "was killed by the kernel at work"
	tooSlow     outcome = "was too slow"
)

// tight is a harness whose daemon is in a cgroup.
type tight struct {
	*harness
	rounds int
	frugal bool // the daemon is told that it has little memory
	most   int  // MiB
	writes int  // that are to be acknowledged
	met    map[string]int
	worst  map[bool]int // by frugal: the largest memory with which it was killed or too slow
	kills  int
}

// frugally is how a daemon is told that it has little memory.
var (
	frugally    = []string{"--cache-size", "1MiB", "--row-cache-size", "0", "--max-wal", "8MiB"}
	frugallyEnv = []string{"GOMEMLIMIT=24MiB", "GOGC=50"}
)

func (t *tight) String() string {
	if t.frugal {
		return fmt.Sprintf("%3d MiB, told so", t.most)
	}
	return fmt.Sprintf("%3d MiB", t.most)
}

// run has the daemon do with little memory so many times.
func (t *tight) run(times int) error {
	for t.rounds < times {
		if t.rounds%4 == 0 {
			t.replace()
		}
		t.frugal, t.most = t.rand.IntN(2) == 0, memories[t.rand.IntN(len(memories))]
		t.writes = 500 + t.rand.IntN(1000)
		if t.rand.IntN(8) == 0 {
			t.writes = 10_000
		}
		if *tightFlag == 0 {
			t.frugal, t.most, t.writes = t.rounds == 0, []int{256, 48}[t.rounds%2], 500
		}
		if err := t.round(); err != nil {
			return fmt.Errorf("round %d, %v: %w", t.rounds, t, err)
		}
		t.rounds++
	}
	return nil
}

// round has the daemon work with little memory, and one with all of it recount.
func (t *tight) round() error {
	l, err := limitTo(t.most << 20)
	if err != nil {
		return err
	}
	t.program.start, t.program.args, t.program.env = l.start, nil, nil
	if t.frugal {
		t.program.args, t.program.env = frugally, frugallyEnv
	}
	did, err := t.within(l)
	t.program.start, t.program.args, t.program.env = nil, nil, nil
	if err = errors.Join(err, l.remove()); err != nil {
		return err
	}
	t.met[fmt.Sprintf("%v: the daemon %s", t, did)]++
	if did != wentOn {
		t.worst[t.frugal] = max(t.worst[t.frugal], t.most)
	}
	if err := t.check(); err != nil {
		return err
	}
	d, clients, err := t.serve()
	if err != nil {
		return err
	}
	err = t.harness.recount(clients)
	hangUp(clients)
	return errors.Join(err, d.stop())
}

// within has the daemon serve in a group until it has done its work, or has ended.
func (t *tight) within(l *limits) (outcome, error) {
	d, clients, err := t.serve()
	if err != nil {
		kills, kerr := l.kills()
		if kerr == nil && kills > 0 {
			t.kills++
			return killedEarly, nil
		}
		return "", errors.Join(err, kerr)
	}
	defer d.kill() // it is dead, or something is wrong
	defer hangUp(clients)
	err = t.harness.recount(clients)
	if err == nil {
		t.frail = true
		load := t.work(clients)
		err = load.progress(t.writes)
		slow := err
		err = load.end(t.harness)
		t.frail = false
		if slow != nil && err == nil {
			_ = d.cmd.Process.Kill() // it runs, but hardly
			return tooSlow, nil
		}
	}
	hangUp(clients)
	if err == nil {
		_ = d.cmd.Process.Signal(os.Interrupt) // it has ended
	}
	if isWrong(err) || !d.over(time.Minute) {
		return "", errors.Join(err, fmt.Errorf("%w: %s", errStuck, d.tail()))
	}
	did, ierr := ending(d)
	kills, kerr := l.kills()
	switch {
	case ierr != nil || kerr != nil:
		return "", errors.Join(err, ierr, kerr)
	case did == died && kills > 0:
		t.kills++
		return killedLate, nil
	case did == endedInOrder && err == nil:
		return wentOn, nil
	}
	return "", errors.Join(err, fmt.Errorf("the daemon %s: %s", did, d.tail()))
}

// onDisk returns a directory for temporary files whose files are not memory, as those
// of a group are that are in a tmpfs.
func onDisk(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{os.TempDir(), "/var/tmp"} {
		var s syscall.Statfs_t
		if syscall.Statfs(dir, &s) == nil && s.Type != unix.TMPFS_MAGIC {
			return shortRootIn(t, dir)
		}
	}
	t.Skip("SKIPPED: no memory was scarce: all temporary files are in memory here")
	return ""
}

// The daemon has little memory, and is used in every way, with large blobs and scans:
// it goes on, or the kernel kills it. Everything acknowledged is there, and verifies.
func TestTooLittleMemoryLosesNothing(t *testing.T) {
	enginetest.SkipUnderRace(t, elsewhere)
	p, seed := realDaemon(t), seedOf(t)
	g := &tight{harness: newHarnessIn(t, p, seed, onDisk(t)), met: map[string]int{}, worst: map[bool]int{}}
	g.more = []kind{{"large Blob uploads", newLargeBlobs}, {"large scans", newScans}}
	times := *tightFlag
	if times == 0 {
		times = 2
	}
	err := g.run(times)
	if errors.Is(err, errNoGroup) {
		t.Skip("SKIPPED: no memory was scarce: only root, and not in every container, can limit it:", err)
	}
	for _, what := range slices.Sorted(maps.Keys(g.met)) {
		t.Logf("%6d rounds: %s", g.met[what], what)
	}
	t.Logf("%d rounds, %d of which the kernel ended by killing the daemon; it went on whenever it had more than %d MiB, or %d MiB and was told so; %d writes and scans acknowledged and recounted",
		g.rounds, g.kills, g.worst[false], g.worst[true], g.total())
	if err != nil {
		t.Fatalf("%s=%d: %v", seedEnv, seed, err)
	}
	if g.total() == 0 {
		t.Fatal("nothing was written")
	}
}
