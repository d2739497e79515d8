package cli

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Child returns the program at a path, called by words, which runs under something that this
// process holds, as a lock or a lease. When ctx ends it gets SIGTERM, and SIGKILL after
// killAfter (0: never); where this process is killed it gets SIGTERM, on Linux. [RunChild]
// runs it.
func (p *Process) Child(ctx context.Context, path string, words []string, killAfter time.Duration) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, words[1:]...)
	cmd.Args[0] = words[0]
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = killAfter
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Stdin, p.Stdout, p.Stderr
	cmd.Env = append(cmd.Env, p.Env...)
	dieWithParent(cmd)
	return cmd
}

// Self returns a command that runs this program again; ctx ends it.
func (p *Process) Self(ctx context.Context, args ...string) *exec.Cmd {
	child := exec.CommandContext(ctx, "/proc/self/exe", args...)
	if _, err := os.Stat(child.Path); err != nil {
		if path, err := os.Executable(); err == nil {
			child.Path = path
		}
	}
	child.Args[0] = os.Args[0]
	child.Env = p.Env
	return child
}

// RunChild runs a program to its end, and returns what [exec.Cmd.Wait] does, or a failure where
// it can't be executed. Signals of these kinds that this process gets are passed on, unless
// the terminal has sent them to the program, too.
func RunChild(cmd *exec.Cmd, passedOn ...os.Signal) error {
	// Where a child dies with its parent, the parent is the thread that has started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 16)
	if len(passedOn) > 0 { // to ask for none is to ask for all
		signal.Notify(signals, passedOn...)
		defer signal.Stop(signals)
	}
	if err := cmd.Start(); err != nil {
		return Fail(ExitNoExec, err, "")
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if !typed(s) {
				_ = cmd.Process.Signal(s)
			}
		case err := <-ended:
			return err
		}
	}
}

// typed reports whether a signal comes from the keyboard: then the terminal has sent it to
// all processes in the foreground, to the program as well, and many take a second Ctrl-C for
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
