package locks

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel send SIGTERM to a command when this process is killed, and
// so renews its lock no more.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
