package locks

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// passedOn are the signals that a child gets when this process does.
var passedOn = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// child is a command that runs beside this process.
type child struct {
	*process
	killAfter time.Duration // SIGTERM; 0: never
}

// process is a command with what has to be known of it by several goroutines.
type process struct {
	cmd *exec.Cmd

	mu      sync.Mutex
	running bool
	ending  bool // end was called
	kill    *time.Timer
}

func newChild(cmd *exec.Cmd, killAfter time.Duration) child {
	return child{&process{cmd: cmd}, killAfter}
}

// run runs the command to its end, and returns how it has ended: nil, or a failure that
// has its exit code.
func (c child) run() error {
	// Where a child dies with its parent, the parent is the thread that has started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dieWithParent(c.cmd)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)
	if err := c.start(); err != nil {
		return cli.Fail(cli.ExitNoExec, err, "")
	}
	ended := make(chan error, 1)
	go func() { ended <- c.cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if !typed(s) {
				_ = c.cmd.Process.Signal(s)
			}
		case err := <-ended:
			c.stopped()
			return exitOf(err)
		}
	}
}

func (c child) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.cmd.Start()
	if c.running = err == nil; c.running && c.ending {
		c.terminate()
	}
	return err
}

func (c child) stopped() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = false
	if c.kill != nil {
		c.kill.Stop()
	}
}

// end tells the command to end, as soon as it runs.
func (c child) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending = true; c.running {
		c.terminate()
	}
}

// terminate sends SIGTERM, and SIGKILL later. The caller holds mu.
func (c child) terminate() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	if c.killAfter > 0 {
		c.kill = time.AfterFunc(c.killAfter, func() { _ = c.cmd.Process.Kill() })
	}
}

// typed reports whether a signal comes from the keyboard: then the terminal has sent it to
// all processes in the foreground, to the command as well, and many take a second Ctrl-C for
// an order to stop without any cleaning up.
func typed(s os.Signal) bool {
	if s != syscall.SIGINT && s != syscall.SIGQUIT {
		return false
	}
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	foreground, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground == unix.Getpgrp()
}

// exitOf is how a command ends whose child has ended with err.
func exitOf(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return cli.Exit(exitSignal + int(status.Signal()))
	}
	return cli.Exit(exit.ExitCode())
}
