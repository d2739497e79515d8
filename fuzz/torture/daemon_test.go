package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/rpc"
)

// program is what serves a store: the real daemon, or one with a defect.
type program struct {
	path string
	env  []string // besides that of the test
	args []string // besides those of command
	// framings are what its clients use; none: all.
	framings []rpc.Framing
	// start starts a command of it; nil: nothing is between the two.
	start func(*exec.Cmd) error
}

// command is that of the real daemon, which leaves the jobs of chores to them. One with a defect
// reads the directory alone.
func (p program) command(dir string) *exec.Cmd {
	cmd := enginetest.EndWithParent(exec.Command(p.path, append([]string{"serve", "--dir", dir, "--cache-size", "8MiB", "--job-workers-off", choresQueue}, p.args...)...))
	cmd.Env = append(os.Environ(), p.env...)
	return cmd
}

// served is a process that serves, or has.
type served struct {
	cmd    *exec.Cmd
	socket string
	log    string // path
	wait   func() error
	ended  chan struct{} // closed when it has
}

// serve starts the program on a directory. What it logs is beside that.
func (p program) serve(dir string) (*served, error) {
	d := &served{cmd: p.command(dir), socket: filepath.Join(dir, "stoa.sock"), log: dir + ".log"}
	log, err := os.Create(d.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	d.cmd.Stdout, d.cmd.Stderr = log, log
	begin := p.start
	if begin == nil {
		begin = (*exec.Cmd).Start
	}
	if err := begin(d.cmd); err != nil {
		return nil, err
	}
	d.wait, d.ended = sync.OnceValue(d.cmd.Wait), make(chan struct{})
	go func() {
		_ = d.wait()
		close(d.ended)
	}()
	return d, nil
}

// dial connects as soon as the daemon listens.
func (d *served) dial(f rpc.Framing) (*rpc.Client, error) {
	for deadline := time.Now().Add(5 * time.Minute); ; {
		c, err := rpc.Dial(context.Background(), d.socket, rpc.WithFraming(f), rpc.WithDialTimeout(time.Second))
		if err == nil {
			return c, nil
		}
		select {
		case <-d.ended:
			return nil, fmt.Errorf("the daemon ended instead of serving: %s", d.tail())
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("no daemon within 30 s: %w; its log: %s", err, d.tail())
		}
	}
}

// kill ends the process as kill -9 does. It returns an error if it has panicked
// before, or ended by itself.
func (d *served) kill() error {
	_ = d.cmd.Process.Kill() // it has ended
	_ = d.wait()
	text, err := os.ReadFile(d.log)
	if err == nil && (bytes.Contains(text, []byte("panic")) || d.cmd.ProcessState.Exited()) {
		return fmt.Errorf("the daemon ended before it was killed: %s", d.tail())
	}
	return err
}

// stop ends the process as an operator does.
func (d *served) stop() error {
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if err := d.wait(); err != nil {
		return fmt.Errorf("the daemon did not shut down: %w: %s", err, d.tail())
	}
	return nil
}

// over reports whether the process has ended, or does within that time.
func (d *served) over(within time.Duration) bool {
	select {
	case <-d.ended:
	case <-time.After(within):
	}
	select {
	case <-d.ended:
		return true
	default:
		return false
	}
}

// fate says whether a daemon that does not answer runs, or how it has ended.
func (d *served) fate() string {
	if !d.over(time.Second) {
		return "runs"
	}
	return fmt.Sprintf("has ended, %s: %s", d.cmd.ProcessState, d.tail())
}

// tail is the end of the log.
func (d *served) tail() string {
	text, err := os.ReadFile(d.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// errNoStore is what verifyStore returns where there is none, or one whose creation
// was broken off.
var errNoStore = errors.New("there is no store")

// errHole is what verifyStore returns where nothing is wrong but what a power cut may
// leave: a hole in what was not synced, or a manifest whose name was not.
var errHole = errors.New("a hole in what was not synced")

// holeOnly reports whether all that verify has found is what was not synced.
func holeOnly(said []byte) bool {
	found := regexp.MustCompile(`(?m)^(left  the (log|manifest) ends |marks  CURRENT names MANIFEST-[0-9]+, whose name was not on disk yet: )`).FindAll(said, -1)
	total := regexp.MustCompile(`(?m): ([0-9]+) findings?$`).FindSubmatch(said)
	return len(found) > 0 && total != nil && string(total[1]) == strconv.Itoa(len(found))
}

// verifyStore runs `stoa verify --full` of the real program.
func verifyStore(dir string) error {
	path, err := stoaBinary()
	if err != nil {
		return err
	}
	out, err := enginetest.EndWithParent(exec.Command(path, "verify", "--full", dir)).CombinedOutput()
	if err != nil && bytes.Contains(out, []byte("engine: not a database")) {
		return errNoStore
	}
	if err != nil && holeOnly(out) {
		return errHole
	}
	if err != nil {
		return wrongf("verify --full: %v: %s", err, out[:min(len(out), 4000)])
	}
	return nil
}

// realDaemon is the program that is built of cmd/stoa.
func realDaemon(t testing.TB) program {
	t.Helper()
	path, err := stoaBinary()
	if errors.Is(err, errNoRocks) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return program{path: path}
}

func dialUnix(path string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
}
