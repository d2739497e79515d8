package torture

import (
	"bytes"
	"os"
	"syscall"
)

// endedInOrder is the outcome of a daemon that was asked to end.
const endedInOrder outcome = "ended in order"

// ending says how a daemon ended that was not well off, and returns an error if it
// should not have ended so.
func ending(d *served) (outcome, error) {
	said, err := os.ReadFile(d.log)
	if err != nil {
		return "", err
	}
	state := d.cmd.ProcessState
	status, _ := state.Sys().(syscall.WaitStatus) // it is one here
	switch {
	case assertion.Match(said) && (status.Signaled() || status.ExitStatus() == 2):
		return aborted, nil
	case bytes.Contains(said, []byte("panic")) || bytes.Contains(said, []byte("fatal error")):
		return "", wrongf("the daemon ended with %s: %s", state, d.tail())
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		return died, nil
	case status.Exited() && status.ExitStatus() == 0:
		return endedInOrder, nil
	case status.Signaled() || !bytes.Contains(said, []byte("stoa: ")):
		return "", wrongf("the daemon ended with %s, and has not said why: %s", state, d.tail())
	}
	return notStopped, nil
}
