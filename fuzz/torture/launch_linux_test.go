package torture

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/engine/enginetest"
)

// launchEnv makes this program one that gives itself up to be supervised and then
// becomes the program that its arguments name.
const launchEnv = "STOA_TORTURE_LAUNCH"

// launchSocket is where a launched program finds the socket over which it sends the
// file that its calls are read from.
const launchSocket = 3

// errNoSupervisor is why nothing can be supervised.
var errNoSupervisor = errors.New("this system lets no process answer the calls of another (seccomp, SECCOMP_RET_USER_NOTIF)")

// supervised returns a command that runs cmd with all its file calls answered here,
// and what takes them once it has started.
func supervised(cmd *exec.Cmd) (*exec.Cmd, func() (listener int, err error), error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "launch")
	ours := os.NewFile(uintptr(pair[0]), "supervise")
	c := enginetest.EndWithParent(exec.Command(os.Args[0], cmd.Args...))
	c.Args[1] = cmd.Path
	env := cmd.Env
	if env == nil {
		env = os.Environ()
	}
	c.Env = append(slices.Clone(env), launchEnv+"=1")
	c.Stdout, c.Stderr = cmd.Stdout, cmd.Stderr
	c.ExtraFiles = []*os.File{theirs}
	take := func() (int, error) {
		defer ours.Close()
		theirs.Close()
		return receive(ours)
	}
	return c, take, nil
}

// receive takes the file that launch sends.
func receive(ours *os.File) (int, error) {
	conn, err := net.FileConn(ours)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	said, rights := make([]byte, 200), make([]byte, 200)
	n, rn, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(said, rights)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rn])
	if err != nil || len(messages) != 1 {
		return 0, fmt.Errorf("%w: %s", errNoSupervisor, said[:n])
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

// launch is the program that launchEnv makes of this. It returns only if something
// goes wrong.
func launch(args []string) error {
	runtime.LockOSThread() // what is set for one thread the program inherits from it
	listener, err := listen()
	if err != nil {
		_ = unix.Sendmsg(launchSocket, []byte(err.Error()), nil, nil, 0) // it is an error already
		return err
	}
	if err := unix.Sendmsg(launchSocket, []byte("ok"), unix.UnixRights(listener), nil, 0); err != nil {
		return err
	}
	unix.CloseOnExec(launchSocket)
	unix.CloseOnExec(listener)
	env := slices.DeleteFunc(os.Environ(), func(s string) bool { return s == launchEnv+"=1" })
	return syscall.Exec(args[0], args, env)
}

// listen has the calls of this thread, and of those that it makes, wait for an answer,
// and returns the file that they are read from.
func listen() (int, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	filter := callFilter()
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}
