package locks

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// passedOn are the signals that a command gets when this process does.
var passedOn = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

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
