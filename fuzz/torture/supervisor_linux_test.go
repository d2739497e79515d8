package torture

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// supervisor answers the file calls of a process: it makes them itself, one after the
// other, and tells a disk of those that change something below top. So the order
// that the disk is told of is the order in which they happened, whoever made them:
// RocksDB or the Go code around it.
type supervisor struct {
	listener, process int // files
	pid               int
	device            uint64 // that top is on
	top               string
	disk              *disk
	calls             map[uint32]call
	// fault is asked before each call that changes something below top, by one goroutine
	// only. nil: no call fails.
	fault func(does action, path string) injury
	done  chan struct{} // closed at the end of the process
	wrong error         // what went wrong; to be read once done is closed
}

// injury is how a call fails.
type injury struct {
	errno unix.Errno // 0: it does not
	half  bool       // a write makes one half, and says so
	kill  bool       // the process dies in it
}

// notification and answer are the kernel's struct seccomp_notif and seccomp_notif_resp.
type notification struct {
	id         uint64
	pid, flags uint32
	nr         uint32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type answer struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// addFile is struct seccomp_notif_addfd.
type addFile struct {
	id                         uint64
	flags, from, to, fileFlags uint32
}

// supervise answers the calls of pid until it has ended. Then it closes done.
func supervise(listener, pid int, top string, d *disk, fault func(action, string) injury) (*supervisor, error) {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Stat(top, &st); err != nil {
		return nil, err
	}
	s := &supervisor{listener: listener, process: process, pid: pid, device: st.Dev, top: top, disk: d, calls: calls(), fault: fault, done: make(chan struct{})}
	go func() {
		s.wrong = s.run()
		unix.Close(s.listener)
		unix.Close(s.process)
		close(s.done)
	}()
	return s, nil
}

func (s *supervisor) ioctl(what uintptr, arg unsafe.Pointer) (uintptr, error) {
	for {
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), what, uintptr(arg))
		if errno == 0 {
			return n, nil
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

func (s *supervisor) run() (first error) {
	for {
		poll := []unix.PollFd{{Fd: int32(s.listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return err
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			return first // nobody is left
		}
		var r notification
		if _, err := s.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&r)); errors.Is(err, unix.ENOENT) {
			continue // it was killed meanwhile
		} else if err != nil {
			return errors.Join(first, err)
		}
		a, err := s.answer(&r)
		if err != nil && first == nil {
			first = fmt.Errorf("%s of the daemon: %w", s.calls[r.nr].does, err)
		}
		a.id = r.id
		if _, err := s.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)); err != nil && !errors.Is(err, unix.ENOENT) {
			return errors.Join(first, err)
		}
	}
}

// errGone is returned where the process ended in the middle of a call.
var errGone = errors.New("the process is gone")

// answer makes a call. An error is one of the model, not of the call.
func (s *supervisor) answer(r *notification) (answer, error) {
	c := s.calls[r.nr]
	var value int64
	var err error
	switch c.does {
	case callOpen, callRename, callLink, callRemove, callMkdir:
		value, err = s.onPaths(r, c)
	case callNone:
		err = unix.ENOSYS
	default:
		value, err = s.onFile(r, c)
	}
	var errno unix.Errno
	switch {
	case errors.Is(err, errElsewhere):
		return answer{flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}, nil
	case errors.Is(err, errGone):
		return answer{errno: -int32(unix.EIO)}, nil
	case errors.As(err, &errno):
		return answer{errno: -int32(errno)}, nil
	case err != nil:
		return answer{errno: -int32(unix.EIO)}, err
	}
	return answer{value: value}, nil
}

// errElsewhere marks a call that is not about files below top: the kernel makes it.
var errElsewhere = errors.New("elsewhere")

// path reads the path that is an argument of a call, and returns it as it is below
// top. first is where its directory stands, or the path itself.
func (s *supervisor) path(r *notification, c call, first int) (string, error) {
	dir, at := int32(unix.AT_FDCWD), first
	if c.at {
		dir, at = int32(r.args[first]), first+1
	}
	name, err := s.text(int(r.pid), r.args[at])
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(name) {
		link := fmt.Sprintf("/proc/%d/cwd", s.pid)
		if dir != unix.AT_FDCWD {
			link = fmt.Sprintf("/proc/%d/fd/%d", s.pid, dir)
		}
		from, err := os.Readlink(link)
		if err != nil {
			return "", errGone
		}
		name = filepath.Join(from, name)
	}
	if name, err = s.follow(name); err != nil {
		return "", err
	}
	below, ok := strings.CutPrefix(filepath.Clean(name), s.top+"/")
	if !ok || foreign(below) {
		return "", errElsewhere
	}
	return below, nil
}

// follow returns where a path leads that begins with a directory which the process has
// open, as the engine names its own.
func (s *supervisor) follow(name string) (string, error) {
	rest, ok := strings.CutPrefix(filepath.Clean(name), "/proc/self/fd/")
	fd, below, inside := strings.Cut(rest, "/")
	if !ok || !inside {
		return name, nil
	}
	dir, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", s.pid, fd))
	if err != nil {
		return "", errGone
	}
	return filepath.Join(dir, below), nil
}

// foreign reports whether a name below top is not the daemon's to make.
func foreign(name string) bool { return strings.HasSuffix(name, ".sock") || name == "db.log" }

// text reads a string of the process.
func (s *supervisor) text(pid int, at uint64) (string, error) {
	const page = 4096
	var b []byte
	for {
		part, err := s.memory(pid, at+uint64(len(b)), page-int(at+uint64(len(b)))%page)
		if err != nil {
			return "", err
		}
		if i := bytes.IndexByte(part, 0); i >= 0 {
			return string(append(b, part[:i]...)), nil
		}
		b = append(b, part...)
	}
}

// memory reads n bytes of the process.
func (s *supervisor) memory(pid int, at uint64, n int) ([]byte, error) {
	if n == 0 {
		return []byte{}, nil
	}
	b := make([]byte, n)
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(n)
	got, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(at), Len: n}}, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil, errGone
	case err != nil:
		return nil, fmt.Errorf("read the memory of the daemon: %w", fs.ErrPermission)
	case got != n:
		return nil, fmt.Errorf("read %d bytes of the memory of the daemon, of %d", got, n)
	}
	return b, nil
}

// hurt asks for the fault of a call.
func (s *supervisor) hurt(does action, path string) injury {
	if s.fault == nil {
		return injury{}
	}
	in := s.fault(does, path)
	if in.kill {
		_ = unix.Kill(s.pid, unix.SIGKILL) // it has ended already
	}
	return in
}
