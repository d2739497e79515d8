// Package socket makes the Unix socket that a daemon listens at: [Listen] makes it
// for its own user only from the first moment, and keeps other daemons from the path
// by a lock beside it; [Free] looks before anything is made; [Activated] takes one that
// systemd made.
package socket

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/stoadb/stoa/rpc/internal/socketpath"
)

// Errors of Listen.
var (
	// ErrOptions is returned for options that make no sense.
	ErrOptions = errors.New("server: bad options")
	// ErrTaken is returned when a daemon serves the path already.
	ErrTaken = errors.New("server: socket is taken")
	// ErrNotSocket is returned when there is something else at the path.
	ErrNotSocket = errors.New("server: not a socket")
	// ErrDir is returned when the directory of the socket is not one, or
	// when others can write to it, and so put a socket of theirs in its place.
	ErrDir = errors.New("server: unsafe socket directory")
)

// Options say who reaches a socket. The zero Options are the
// defaults.
type Options struct {
	// Mode is the mode of the socket; 0: 0600, and 0660 with a Group.
	Mode os.FileMode
	// Group is the name or the number of the group that the socket belongs to;
	// empty: the server's own. Its members must also be able to search the
	// directory, and be among those whom the server lets in.
	Group string
}

// Socket is a listening Unix socket with a file, and the lock that keeps other
// daemons from the path.
type Socket struct {
	*net.UnixListener
	path string
	id   fileID
	lock *pathLock
	once sync.Once
	err  error
}

// fileID tells a file from another that takes its place.
type fileID struct{ dev, ino uint64 }

// Listen listens at path. Its directory is made, for the server's user only, if
// there is none. A socket that a dead daemon left is replaced: only while the
// lock beside it is held, and only if nobody answers. From the first moment the
// socket has no more than its mode.
func Listen(path string, o Options) (*Socket, error) {
	if err := socketpath.Check(path); err != nil {
		return nil, err
	}
	gid, mode, err := o.resolve()
	if err != nil {
		return nil, err
	}
	if err := prepareDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	lock, err := lockPath(path)
	if err != nil {
		return nil, err
	}
	s, err := listenLocked(path, gid, mode)
	if err != nil {
		lock.release()
		return nil, err
	}
	s.lock = lock
	return s, nil
}

// Free returns what would keep Listen from path as things are, before anything is made
// for a daemon that would then not run: a socket that is taken, something else at the
// path, a directory to which others can write. It makes nothing; Listen looks again.
func Free(path string) error {
	if err := socketpath.Check(path); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil // nobody listens there
	}
	if err := prepareDir(dir); err != nil {
		return err
	}
	lock, err := lockPath(path)
	if err != nil {
		return err
	}
	defer lock.release()
	return removeStale(path)
}

func (o Options) resolve() (gid int, mode os.FileMode, err error) {
	mode = o.Mode
	if mode&^0o777 != 0 {
		return 0, 0, fmt.Errorf("%w: socket mode %o", ErrOptions, mode)
	}
	if mode == 0 {
		mode = 0o600
		if o.Group != "" {
			mode = 0o660
		}
	}
	if o.Group == "" {
		return -1, mode, nil
	}
	if gid, err = strconv.Atoi(o.Group); err == nil && gid >= 0 {
		return gid, mode, nil
	}
	g, err := user.LookupGroup(o.Group)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: socket group: %w", ErrOptions, err)
	}
	gid, err = strconv.Atoi(g.Gid)
	return gid, mode, err
}

// prepareDir makes dir, or returns ErrDir if others can write to it.
func prepareDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%w: %w", ErrDir, err)
	}
	return safeDir(dir, false)
}

// safeDir returns ErrDir if others can write to a directory, or if it belongs to one who is neither
// root nor the server's user. With sticky, others may write to it where only who owns a file can move it.
func safeDir(dir string, sticky bool) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDir, err)
	}
	if info.Mode().Perm()&0o022 != 0 && !(sticky && info.Mode()&os.ModeSticky != 0) {
		return fmt.Errorf("%w: others can write to %s (mode %#o): chmod go-w it, or choose another", ErrDir, dir, info.Mode().Perm())
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%w: %s belongs to uid %d", ErrDir, dir, st.Uid)
	}
	return nil
}

// Exposed returns why somebody else may put another socket at a path, that of a directory
// above its own which belongs to another user, or to which others can write; nil: nobody but root can.
// Clients notice by who serves them.
func Exposed(path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return err
	}
	for _, dir := range []string{filepath.Dir(abs), real} {
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if err := safeDir(filepath.Dir(dir), true); err != nil {
				return err
			}
		}
	}
	return nil
}

// listenLocked binds the socket. The lock of path is held.
func listenLocked(path string, gid int, mode os.FileMode) (*Socket, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	ln, err := bind(path)
	if err != nil {
		return nil, fmt.Errorf("server: listen at %s: %w", path, err)
	}
	ln.SetUnlinkOnClose(false) // Close does, if it is still ours
	s := &Socket{UnixListener: ln, path: path}
	if err := s.restrict(gid, mode); err != nil {
		ln.Close()
		os.Remove(path)
		return nil, fmt.Errorf("server: listen at %s: %w", path, err)
	}
	return s, nil
}

// restrict gives the socket its group, and then the mode that the group may
// use.
func (s *Socket) restrict(gid int, mode os.FileMode) error {
	if gid >= 0 {
		if err := os.Lchown(s.path, -1, gid); err != nil {
			return err
		}
	}
	if err := os.Chmod(s.path, mode); err != nil {
		return err
	}
	var err error
	s.id, err = inodeOf(s.path)
	return err
}

// staleTimeout is how long whoever may listen has to accept.
const staleTimeout = 2 * time.Second

// removeStale removes a socket that nobody listens at. The lock of path is held.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("server: %w", err)
	case info.Mode().Type() != os.ModeSocket:
		return fmt.Errorf("%w: %s is something else, and is left alone; choose another path", ErrNotSocket, path)
	}
	conn, err := net.DialTimeout("unix", path, staleTimeout)
	if err == nil {
		conn.Close()
		return fmt.Errorf("%w: somebody listens at %s; stop that daemon, or choose another path", ErrTaken, path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: whether somebody listens at %s is not clear: %w", ErrTaken, path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("server: remove a stale socket: %w", err)
	}
	return nil
}

// Path returns the path of the socket.
func (s *Socket) Path() string { return s.path }

// Close removes the file, unless another one has taken its place, stops
// listening, and gives the path free. Closing again does nothing.
func (s *Socket) Close() error {
	s.once.Do(func() {
		if id, err := inodeOf(s.path); err == nil && id == s.id {
			s.err = os.Remove(s.path)
		}
		s.err = errors.Join(s.err, s.UnixListener.Close())
		s.lock.release()
	})
	return s.err
}

func inodeOf(path string) (fileID, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return fileID{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, fmt.Errorf("server: %s: no inode", path)
	}
	return fileID{dev: uint64(st.Dev), ino: uint64(st.Ino)}, nil
}

// Activated returns the socket that systemd made and listens at for this
// process, or nil if it made none. Its file is systemd's to remove.
func Activated() (net.Listener, error) {
	all, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("server: socket activation: %w", err)
	}
	if len(all) == 0 {
		return nil, nil
	}
	if len(all) > 1 {
		for _, ln := range all {
			if ln != nil {
				ln.Close()
			}
		}
		return nil, fmt.Errorf("%w: systemd passed %d sockets, one is served", ErrOptions, len(all))
	}
	ln, ok := all[0].(*net.UnixListener)
	if !ok {
		if all[0] != nil {
			all[0].Close()
		}
		return nil, fmt.Errorf("%w: the socket that systemd passed is no Unix stream socket", ErrOptions)
	}
	return ln, nil
}
