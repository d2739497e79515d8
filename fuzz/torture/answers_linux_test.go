package torture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errUnknownCall is returned for a call that a disk cannot be told of.
var errUnknownCall = errors.New("the model of the disk does not know this call")

// onPaths makes a call that names files.
func (s *supervisor) onPaths(r *notification, c call) (int64, error) {
	name, err := s.path(r, c, 0)
	if err != nil && !(errors.Is(err, errElsewhere) && (c.does == callRename || c.does == callLink)) {
		return 0, err
	}
	next := 1 // the first argument behind the path
	if c.at {
		next = 2
	}
	other := ""
	if c.does == callRename || c.does == callLink {
		var second error
		if other, second = s.path(r, c, next); second != nil || err != nil {
			if errors.Is(err, errElsewhere) && errors.Is(second, errElsewhere) {
				return 0, errElsewhere
			}
			return 0, fmt.Errorf("%w: from %q or to %q is not below the same directory: %w", errUnknownCall, name, other, errors.Join(err, second))
		}
		next *= 2
	}
	if in := s.hurt(c.does, name); in.errno != 0 {
		return 0, in.errno
	}
	from, err := s.disk.at(name)
	if err != nil {
		return 0, err
	}
	path := filepath.Join(s.top, name)
	switch c.does {
	case callOpen:
		return s.open(r, from, path, int(r.args[next]), uint32(r.args[next+1]))
	case callRemove:
		return 0, s.remove(r, c, from, path)
	case callMkdir:
		if err := unix.Mkdir(path, uint32(r.args[next])); err != nil {
			return 0, err
		}
		return 0, s.made(from, path, newDir())
	}
	to, err := s.disk.at(other)
	if err != nil {
		return 0, err
	}
	changed := entryChange{to: from.dir.entries[from.name]}
	if c.does == callRename {
		if r.nr == unix.SYS_RENAMEAT2 && r.args[next] != 0 {
			return 0, fmt.Errorf("%w: a rename with flags %#x", errUnknownCall, r.args[next])
		}
		err = unix.Rename(path, filepath.Join(s.top, other))
		changed[from] = nil
	} else {
		err = unix.Link(path, filepath.Join(s.top, other))
	}
	if err == nil {
		s.disk.change(changed)
	}
	return 0, err
}

// made tells the disk of a file or a directory.
func (s *supervisor) made(at place, path string, n *node) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return fmt.Errorf("look at %s, which was made: %w", path, os.ErrNotExist)
	}
	s.disk.nodes[st.Ino] = n
	s.disk.change(entryChange{at: n})
	return nil
}

// open opens a file, and gives it to the process.
func (s *supervisor) open(r *notification, at place, path string, flags int, mode uint32) (int64, error) {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, mode)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	if n := at.dir.entries[at.name]; n == nil {
		if err := s.made(at, path, &node{}); err != nil {
			return 0, err
		}
	} else if flags&unix.O_TRUNC != 0 {
		n.edit(edit{})
	}
	// SECCOMP_ADDFD_FLAG_SEND would answer as well. But a signal to this thread in the
	// middle of that answers 0, and nothing is given.
	give := addFile{id: r.id, from: uint32(fd), fileFlags: uint32(flags & unix.O_CLOEXEC)}
	theirs, err := s.ioctl(unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&give))
	if errors.Is(err, unix.ENOENT) {
		return 0, errGone
	} else if err != nil {
		return 0, fmt.Errorf("give %s to the daemon: %s", path, err)
	}
	return int64(theirs), nil
}

func (s *supervisor) remove(r *notification, c call, at place, path string) error {
	flags := 0
	if c.at {
		flags = int(r.args[2])
	} else if r.nr == removesDir {
		flags = unix.AT_REMOVEDIR
	}
	if err := unix.Unlinkat(unix.AT_FDCWD, path, flags); err != nil {
		return err
	}
	s.disk.change(entryChange{at: nil})
	return nil
}

// onFile makes a call on an open file.
func (s *supervisor) onFile(r *notification, c call) (int64, error) {
	fd, err := unix.PidfdGetfd(s.process, int(int32(r.args[0])), 0)
	if errors.Is(err, unix.ESRCH) {
		return 0, errGone
	}
	if errors.Is(err, unix.EBADF) {
		return 0, err
	}
	if err != nil {
		return 0, fmt.Errorf("take a file of the daemon: %s", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	n := s.disk.nodes[st.Ino]
	if kind := st.Mode & unix.S_IFMT; n == nil || st.Dev != s.device || kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return 0, errElsewhere
	}
	if c.does == callOther {
		return 0, fmt.Errorf("%w: number %d on a file of the store", errUnknownCall, r.nr)
	}
	var in injury
	if s.fault != nil {
		path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err != nil {
			return 0, fmt.Errorf("look for the path of a file: %w", os.ErrNotExist)
		}
		in = s.hurt(c.does, path)
	}
	switch {
	case in.errno != 0 && c.does == callSync:
		n.failSync()
		return 0, in.errno
	case in.errno != 0:
		return 0, in.errno
	case c.does == callSync:
		s.disk.sync(n)
		return 0, nil
	case c.does == callTruncate:
		if err := unix.Ftruncate(fd, int64(r.args[1])); err != nil {
			return 0, err
		}
		n.edit(edit{at: int64(r.args[1])})
		return 0, nil
	}
	return s.write(r, c, fd, n, in.half)
}

func (s *supervisor) write(r *notification, c call, fd int, n *node, half bool) (int64, error) {
	data, err := s.memory(int(r.pid), r.args[1], int(r.args[2]))
	if err != nil {
		return 0, err
	}
	if half {
		data = data[:(len(data)+1)/2]
	}
	at, done := int64(0), 0
	if c.does == callWriteAt {
		at = int64(r.args[3])
		done, err = unix.Pwrite(fd, data, at)
	} else if done, err = unix.Write(fd, data); err == nil {
		at, err = unix.Seek(fd, 0, unix.SEEK_CUR)
		at -= int64(done)
	}
	if err != nil {
		return 0, err
	}
	n.edit(edit{at, data[:done]})
	return int64(done), nil
}
