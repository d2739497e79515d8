package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a server that a subject runs in, started and stopped here.
type process struct {
	cmd  *exec.Cmd
	out  strings.Builder
	done chan error
}

const startTimeout = 30 * time.Second

// start runs a command until ready returns nil.
func start(ready func(context.Context) error, name string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(name, args...), done: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("bench: starting %s: %w", name, err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return p, nil
		}
		select {
		case failed := <-p.done:
			p.done <- failed
			return nil, fmt.Errorf("bench: %s ended at once: %v: %s", name, failed, p.out.String())
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("bench: %s is not ready after %s: %w", name, startTimeout, err), p.stop())
		case <-time.After(20 * time.Millisecond):
		}
	}
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

// resident returns the part of the process's memory that is not backed by
// files, in bytes.
func (p *process) resident() (int64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if kib, ok := strings.CutPrefix(lines.Text(), "RssAnon:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(kib), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("bench: /proc/PID/status has no RssAnon")
}
