package enginetest

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// EndWithParent lets the process that cmd is about to start end when this one does,
// however that ends: a test binary that is killed, or runs into its time limit, runs
// no cleanup.
func EndWithParent(cmd *exec.Cmd) *exec.Cmd {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// The kernel sends it when the thread that started the process ends. Threads of Go
	// stay, but for those that a goroutine was locked to when it ended; no test has such.
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return cmd
}

// EndThisWithParent lets this process end when the one that started it does, as
// EndWithParent does from there: for a process that is started by what a test cannot
// change. It panics if the system refuses that.
func EndThisWithParent() {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0); err != nil {
		panic(err)
	}
}
