package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a server that a subject runs in, started and stopped here.
type process struct {
	cmd    *exec.Cmd
	out    said          // what it says, on stderr and where nobody reads that on stdout
	done   chan struct{} // closed when it has ended
	failed error         // how; to be read once done is closed
}

// said keeps what a process says. It is safe for concurrent use.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write is io.Writer's. It never fails.
func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// String returns all of it.
func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// of returns the last line that has this in it.
func (s *said) of(part string) (line string) {
	for l := range strings.Lines(s.String()) {
		if strings.Contains(l, part) {
			line = strings.TrimSpace(l)
		}
	}
	return line
}

const startTimeout = 30 * time.Second

// run starts a command, which ends with this process at the latest.
func (p *process) run() error {
	p.done = make(chan struct{})
	p.cmd.Stderr = &p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("bench: starting %s: %w", p.cmd.Path, err)
	}
	go func() {
		p.failed = p.cmd.Wait()
		close(p.done)
	}()
	return nil
}

// start runs a command until ready returns nil.
func start(ready func(context.Context) error, name string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(name, args...)}
	p.cmd.Stdout = &p.out
	if err := p.run(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return p, nil
		}
		select {
		case <-p.done:
			return nil, fmt.Errorf("bench: %s ended at once: %v: %s", name, p.failed, p.out.String())
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("bench: %s is not ready after %s: %w", name, startTimeout, err), p.stop())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// StartServer starts a command, which is a peer's server, until ready returns nil. cpu
// returns the CPU time that it has used; stop ends it.
func StartServer(ready func(context.Context) error, name string, args ...string) (cpu func() (time.Duration, error), stop func() error, err error) {
	p, err := start(ready, name, args...)
	if err != nil {
		return nil, nil, err
	}
	return p.cpu, p.stop, nil
}

// stop ends the process and waits for it.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(startTimeout):
		return errors.Join(errors.New("bench: killed a process that did not stop"), p.cmd.Process.Kill())
	}
}

// cpu returns the CPU time that the process has used. Its clock ticks every
// 10 ms.
func (p *process) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The fields after the command's name, which may hold anything, in
	// parentheses; see proc(5). 14 and 15 are user and system time.
	_, after, ok := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	if !ok || len(fields) < 13 {
		return 0, errors.New("bench: /proc/PID/stat has another form")
	}
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux
	return time.Duration(user+system) * tick, errors.Join(err1, err2)
}

// pid returns the number of the process.
func (p *process) pid() int { return p.cmd.Process.Pid }

// writtenBy returns how many bytes a process has sent to storage so far.
func writtenBy(pid int) (int64, error) { return ProcNumber(pid, "io", "write_bytes:") }

// ProcNumber returns the number behind a name in a file of a process under /proc, in the unit that it has
// there; see proc(5).
func ProcNumber(pid int, file, name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		}
	}
	return 0, fmt.Errorf("bench: /proc/PID/%s has no %s", file, name)
}

// bytesOnDisk returns how much a directory, or a file, takes on the disk.
func bytesOnDisk(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		var s unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &s)
		}
		if errors.Is(err, fs.ErrNotExist) { // a file of a compaction that is gone
			return nil
		}
		size += s.Blocks * 512
		return err
	})
	return size, err
}

// resident returns the part of the process's memory that is not backed by
// files, in bytes.
func (p *process) resident() (int64, error) { return residentOf(p.pid()) }

func residentOf(pid int) (int64, error) {
	kib, err := ProcNumber(pid, "status", "RssAnon:")
	return kib << 10, err
}
