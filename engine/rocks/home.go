package rocks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrMoved is returned, with engine.ErrReadOnly, by writes to a store whose directory
// was moved or removed while it was open. What was acknowledged is in the directory
// that was opened, wherever that is.
var ErrMoved = errors.New("rocks: the directory was moved")

// home is the directory of a store that is open for writing, held open: files go into
// it wherever it is moved, and never into one that is put in its place.
type home struct {
	dir  string // where it was opened
	path string // through which its files are opened; dir where the system has no such path
	file *os.File
	info fs.FileInfo
}

// openHome holds dir, which is there; by its path alone, if plain is set. It returns
// engine.ErrLocked if the store in it is open already, in this process or another.
//
// RocksDB tells that it has a directory open itself by the path alone; a lock on the
// directory does so for all paths.
func openHome(dir string, plain bool) (*home, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	h := &home{dir: dir, path: dir, file: f}
	if h.info, err = f.Stat(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		if err = checkLock(dir); err == nil {
			err = lockedBy(dir, 0)
		}
		return nil, errors.Join(err, f.Close())
	}
	if err != nil || plain { // the file system may have no such locks
		return h, nil
	}
	through := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	if st, err := os.Stat(through); err == nil && os.SameFile(st, h.info) {
		h.path = through
	}
	return h, nil
}

// follows reports whether files of the store go into its directory wherever that is.
func (h *home) follows() bool { return h.path != h.dir }

// renamed says whose files are opened through it.
func (h *home) renamed() renamed { return renamed{there: h.path, known: h.dir} }

// check returns ErrMoved if the path of the store does not lead to its directory any
// more. What the system does not tell is no reason.
func (h *home) check() error {
	there := "another directory is there"
	switch st, err := os.Stat(h.dir); {
	case err == nil && os.SameFile(st, h.info):
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		there = "nothing is there"
	case err != nil:
		return nil
	}
	if h.removed() {
		return fmt.Errorf("%w: %s was removed while it was open", ErrMoved, h.dir)
	}
	where := ""
	if at, err := os.Readlink(h.path); err == nil && h.follows() {
		where = ", and what was opened is at " + at
	}
	return fmt.Errorf("%w: it was opened at %s; %s%s; move it back and reopen, or stop, and serve it where it is", ErrMoved, h.dir, there, where)
}

// removed reports whether the directory is nowhere any more.
func (h *home) removed() bool {
	var st unix.Stat_t
	return h.follows() && unix.Stat(h.path, &st) == nil && st.Nlink == 0
}

// close lets go of the directory, which nothing of the store may need any more. Where it
// was is known further. The lock is given back by itself: a child of this process that is just
// being started has the file too, and would have it for a moment longer.
func (h *home) close() {
	h.path = h.dir
	_ = unix.Flock(int(h.file.Fd()), unix.LOCK_UN) // where there are no such locks, it has none
	_ = h.file.Close()                             // it was only read
}
