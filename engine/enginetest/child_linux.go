package enginetest

import (
	"os/exec"
	"syscall"
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
