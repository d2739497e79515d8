package siege

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/rpc"
)

var (
	takes   = flag.Duration("time", 0, "how long all attacks take together; 0: there is none")
	only    = flag.String("only", "", "attacks, with commas between them, and + between those that are made at once; empty: all, and mixtures")
	seeding = flag.Uint64("seed", uint64(time.Now().UnixNano()), "what mixtures are drawn by")
)

// What the daemon is to keep to, whoever attacks it.
const (
	slower      = 10                     // times its undisturbed p99 at most
	slowest     = 250 * time.Millisecond // of any p99
	statusLimit = time.Second            // of what root asks
	memoryLimit = 1 << 30                // the daemon's GOMEMLIMIT
	memorySlack = 256 << 20              // what it may take beside it
)

// attempts is how often an attack is made again beside which the user who means well was
// served too slowly: the machine has others.
const attempts = 3

func tenantOf(uid int) string { return fmt.Sprint("tenant-", uid) }

// castle is a daemon under siege.
type castle struct {
	t      *testing.T
	socket string // in a directory that all may search
	self   string // this program, that all may run
	daemon *exec.Cmd
	log    *os.File

	modest *process
	steady time.Duration // p99 of the user who means well while nobody attacks, at worst
}

// process is one that the castle has started, as a user.
type process struct {
	*exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	said *bytes.Buffer // on standard error
}

// start starts this program as a user.
func (c *castle) start(role string, uid uint32) *process {
	p := &process{Cmd: enginetest.EndWithParent(exec.Command(c.self)), said: new(bytes.Buffer)}
	p.Env = []string{roleEnv + "=" + role, socketEnv + "=" + c.socket, "TMPDIR=/tmp", "GOMAXPROCS=2"}
	p.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: uid}
	p.Dir, p.Stderr = "/", p.said
	var err error
	p.in, err = p.StdinPipe()
	require.NoError(c.t, err)
	out, err := p.StdoutPipe()
	require.NoError(c.t, err)
	p.out = json.NewDecoder(out)
	require.NoError(c.t, p.Start())
	return p
}

// end asks the process to end, and waits for it.
func (p *process) end() error {
	p.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(30*time.Second, func() { p.Process.Kill() })
	defer timer.Stop()
	if err := p.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, p.said)
	}
	return nil
}

// measure returns how the user who means well was served since the last time.
func (c *castle) measure() (s served) {
	fmt.Fprintln(c.modest.in)
	require.NoError(c.t, c.modest.out.Decode(&s), "%s", c.modest.said)
	return s
}

// watchman is root, who asks how the daemon is, anew each time.
type watchman struct {
	path   string
	pid    int
	worst  atomic.Int64 // nanoseconds
	peak   atomic.Int64 // bytes
	failed atomic.Value // string
	stop   context.CancelFunc
	done   sync.WaitGroup
}

func watch(path string, pid int) *watchman {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watchman{path: path, pid: pid, stop: cancel}
	w.done.Go(func() {
		for ctx.Err() == nil {
			begun := time.Now()
			if err := w.ask(ctx); err != nil && ctx.Err() == nil {
				w.failed.CompareAndSwap(nil, err.Error())
			}
			w.worst.Store(max(w.worst.Load(), int64(time.Since(begun))))
			time.Sleep(200 * time.Millisecond)
		}
	})
	w.done.Go(func() {
		for ctx.Err() == nil {
			w.peak.Store(max(w.peak.Load(), residentOf(pid)))
			time.Sleep(20 * time.Millisecond)
		}
	})
	return w
}

func (w *watchman) ask(ctx context.Context) error {
	c, err := rpc.Dial(ctx, w.path, rpc.WithDaemonUser(uidDaemon))
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Status(ctx)
	return err
}

// residentOf returns the memory of a process, in bytes; 0 if it is gone.
func residentOf(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// built builds the program.
func built(t *testing.T, dir string) string {
	path := filepath.Join(dir, "stoa")
	out, err := exec.Command("go", "build", "-o", path, "github.com/stoadb/stoa/cmd/stoa").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// raise starts a daemon, and those who are there whatever happens.
func raise(t *testing.T) *castle {
	base, err := os.MkdirTemp("", "siege")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	require.NoError(t, os.Chmod(base, 0o755))
	c := &castle{t: t, self: filepath.Join(base, "siege.test"), socket: filepath.Join(base, "run", "s")}
	c.log, err = os.Create(filepath.Join(base, "log"))
	require.NoError(t, err)
	t.Cleanup(func() { c.log.Close() })
	program, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(c.self, program, 0o755))
	for _, dir := range []string{"run", "data"} {
		require.NoError(t, os.Mkdir(filepath.Join(base, dir), 0o755))
		require.NoError(t, os.Chown(filepath.Join(base, dir), uidDaemon, uidDaemon))
	}
	args := []string{"serve", "--dir", filepath.Join(base, "data", "store"), "--socket", c.socket, "--mode", "0666", "--log-format", "json", "--cache-size", "32MiB", "--row-cache-size", "0B",
		"--peer", fmt.Sprintf("%d=reader,writer", uidAllowed)}
	for _, uid := range []int{uidGreedy, uidModest, uidSecond} {
		args = append(args, "--peer", fmt.Sprintf("%d=tenant:%s", uid, tenantOf(uid)))
	}
	c.daemon = enginetest.EndWithParent(exec.Command(built(t, base), args...))
	c.daemon.SysProcAttr.Credential = &syscall.Credential{Uid: uidDaemon, Gid: uidDaemon}
	c.daemon.Env = []string{fmt.Sprint("GOMEMLIMIT=", memoryLimit)}
	c.daemon.Dir, c.daemon.Stderr = base, c.log
	require.NoError(t, c.daemon.Start())
	t.Cleanup(func() {
		c.daemon.Process.Signal(syscall.SIGTERM)
		c.daemon.Wait()
	})
	require.Eventually(t, func() bool { return (&watchman{path: c.socket}).ask(t.Context()) == nil }, 30*time.Second, 10*time.Millisecond)
	c.modest = c.start(roleModest, uidModest)
	t.Cleanup(func() { c.modest.end() })
	return c
}

// undisturbed returns how the user who means well is served while nobody attacks the daemon,
// beside somebody who takes as much of the machine as attacks do. The worst of it counts.
func (c *castle) undisturbed(long time.Duration) served {
	hog := c.start(roleHog, uidGreedy)
	c.measure()
	time.Sleep(long)
	s := c.measure()
	hog.end()
	c.steady = max(c.steady, s.P99)
	return s
}

// siegeOf is what came of attacks.
type siegeOf struct {
	served
	status time.Duration // the worst of root
	peak   int64         // the most memory
	tried  int64
	faults []string
}

// under makes attacks for a time.
func (c *castle) under(names []string, long time.Duration) (s siegeOf) {
	c.measure()
	w := watch(c.socket, c.daemon.Process.Pid)
	var all []*process
	for _, name := range names {
		all = append(all, c.start(name, attacks[name].uid))
	}
	time.Sleep(long)
	s.served = c.measure()
	w.stop()
	w.done.Wait()
	s.status, s.peak = time.Duration(w.worst.Load()), w.peak.Load()
	if failed, ok := w.failed.Load().(string); ok {
		s.faults = append(s.faults, "root's status failed: "+failed)
	}
	for i, p := range all {
		var o outcome
		p.Process.Signal(syscall.SIGTERM)
		if err := p.out.Decode(&o); err != nil {
			s.faults = append(s.faults, fmt.Sprintf("%s said nothing: %v: %s", names[i], err, p.said))
		}
		if err := p.end(); err != nil {
			s.faults = append(s.faults, fmt.Sprintf("%s: %v", names[i], err))
		}
		if s.tried += o.Tried; o.LetIn > 0 {
			s.faults = append(s.faults, fmt.Sprintf("%s was let in %d times of %d, first by %s", names[i], o.LetIn, o.Tried, o.First))
		}
	}
	return s
}

// judged returns what the daemon has not kept to; slow is what another attempt may show to
// be the machine's.
func (c *castle) judged(s siegeOf) (faults, slow []string) {
	faults = s.faults
	if s.Failed > 0 {
		faults = append(faults, fmt.Sprintf("%d of %d calls of who means well failed: %s", s.Failed, s.Calls, s.Error))
	}
	if s.peak > memoryLimit+memorySlack {
		faults = append(faults, fmt.Sprintf("the daemon took %d MiB", s.peak>>20))
	}
	if most := min(slower*c.steady, slowest); s.P99 > most {
		slow = append(slow, fmt.Sprintf("p99 of who means well was %s, where it is to be %s", s.P99, most))
	}
	if s.Calls == 0 {
		slow = append(slow, "who means well was not served at all")
	}
	if s.status > statusLimit {
		slow = append(slow, fmt.Sprintf("root's status took %s", s.status))
	}
	return faults, slow
}

// TestSiege passes if whatever others do a user who means well is served, root hears how the
// daemon is, memory has its limit, and nobody is let in.
func TestSiege(t *testing.T) {
	if *takes == 0 {
		t.Skip("make siege makes it")
	}
	if os.Geteuid() != 0 {
		fmt.Fprintln(os.Stderr, "siege: SKIPPED: only root can be the users that it takes")
		t.Skip("only root can be other users")
	}
	names := slices.Sorted(maps.Keys(attacks))
	if *only != "" {
		names = strings.Split(*only, ",")
	}
	c := raise(t)
	time.Sleep(time.Second) // who means well has keys by then
	undisturbed := c.undisturbed(3 * time.Second)
	t.Logf("seed %d; undisturbed: %d calls, p50 %s, p99 %s, %d MiB", *seeding, undisturbed.Calls, undisturbed.P50, undisturbed.P99, residentOf(c.daemon.Process.Pid)>>20)

	plan := make([][]string, 0, len(names))
	for _, name := range names {
		at := strings.Split(name, "+")
		for _, a := range at {
			require.Contains(t, attacks, a)
		}
		plan = append(plan, at)
	}
	rnd := rand.New(rand.NewPCG(*seeding, 0))
	if *only == "" {
		for range len(names) / 3 {
			rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			plan = append(plan, slices.Sorted(slices.Values(names[:2+rnd.IntN(3)])))
		}
	}
	each := *takes / time.Duration(len(plan))
	for _, at := range plan {
		name := strings.Join(at, "+")
		for attempt := 1; ; attempt++ {
			s := c.under(at, each)
			faults, slow := c.judged(s)
			t.Logf("%-60s p50 %8s p99 %8s max %8s  status %8s  %4d MiB  %d tried", name, s.P50.Round(10*time.Microsecond), s.P99.Round(10*time.Microsecond), s.Max.Round(time.Millisecond), s.status.Round(time.Millisecond), s.peak>>20, s.tried)
			for _, f := range faults {
				t.Errorf("%s: %s", name, f)
			}
			if len(slow) == 0 || attempt == attempts {
				for _, f := range slow {
					t.Errorf("%s: %s, %d times in turn", name, f, attempts)
				}
				break
			}
			t.Logf("%s: once more: %s; undisturbed p99 is %s meanwhile", name, strings.Join(slow, "; "), c.undisturbed(each).P99)
		}
	}
	time.Sleep(time.Second)
	log, err := c.log.Stat()
	require.NoError(t, err)
	require.Less(t, log.Size(), int64(4<<20), "lines of a log have a limit")
}

// TestEveryFindingHasAnAttack: those of the security review that are made through the socket.
func TestEveryFindingHasAnAttack(t *testing.T) {
	of := map[string]int{}
	for _, a := range attacks {
		of[a.finding]++
	}
	for _, finding := range []string{"01", "02", "03", "04", "05", "07", "08", "10", "12", "16", "18"} {
		require.Positive(t, of[finding], finding)
	}
}
