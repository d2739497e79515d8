package cli

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel send SIGTERM to a command when this process is killed, which
// holds for it no more what it runs under.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
