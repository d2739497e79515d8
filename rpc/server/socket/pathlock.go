package socket

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lockSuffix ends the name of the lock file beside a socket.
const lockSuffix = ".lock"

// pathLock is a lock on the path of a socket: a file beside it that is locked as
// long as the daemon lives, and removed after. It names the daemon's process.
type pathLock struct{ file *os.File }

// lockPath locks path, or returns ErrTaken.
func lockPath(path string) (*pathLock, error) {
	name := path + lockSuffix
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, fmt.Errorf("server: lock %s: %w", path, err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			defer f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, fmt.Errorf("%w: %s serves %s; stop it, or choose another path", ErrTaken, holder(f), path)
			}
			return nil, fmt.Errorf("server: lock %s: %w", path, err)
		}
		if !sameFile(f, name) { // its last holder removed it meanwhile
			f.Close()
			continue
		}
		l := &pathLock{file: f}
		if err := l.sign(); err != nil {
			l.release()
			return nil, fmt.Errorf("server: lock %s: %w", path, err)
		}
		return l, nil
	}
}

func sameFile(f *os.File, name string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(name)
	return err == nil && os.SameFile(held, there)
}

func (l *pathLock) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// holder names the process that holds a lock file.
func holder(f *os.File) string {
	b := make([]byte, 16)
	n, _ := f.ReadAt(b, 0)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n]))); err == nil {
		return "process " + strconv.Itoa(pid)
	}
	return "another process"
}

// release removes the file while it is still locked, so that nobody can have
// locked the one that is removed.
func (l *pathLock) release() {
	os.Remove(l.file.Name())
	l.file.Close()
}
