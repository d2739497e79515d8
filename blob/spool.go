package blob

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/engine"
)

// spool is a private directory for uploads whose id is not known before their
// end. Their files have no name from the moment they are open, so that the
// operating system removes them whatever happens.
//
// It is found through the directory that it is in, held open: if that is moved, the spool
// is what moves with it, and never one in another directory that takes the place.
type spool struct {
	dir       string   // empty: there is none
	above     *os.Root // the directory that dir is in
	keep      int64    // bytes of the disk that stay free; not positive: none
	freeBytes func(dir *os.File) (free int64, err error)
}

// spoolPrefix begins the names that files of the spool have for a moment.
const spoolPrefix = "upload-"

// spoolCheck is after how many bytes the free space of the disk is looked at
// again.
const spoolCheck = 16 << 20

// prepare makes the directory, and removes what a process that ended in the
// wrong moment has left there.
func (s *spool) prepare() error {
	if s.dir == "" {
		return nil
	}
	above, err := os.OpenRoot(filepath.Dir(s.dir))
	if err != nil {
		return fmt.Errorf("blob: spool: %w", err)
	}
	s.above = above
	if err := s.makeDir(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(s.above.FS(), s.name())
	if err != nil {
		return fmt.Errorf("blob: spool: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), spoolPrefix) || !e.Type().IsRegular() {
			continue
		}
		if err := s.above.Remove(filepath.Join(s.name(), e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("blob: spool: %w", err)
		}
	}
	return nil
}

// close gives the directory above free. Nothing is spooled after it.
func (s *spool) close() error {
	if s.above == nil {
		return nil
	}
	return s.above.Close()
}

// name is that of the directory in the one above.
func (s *spool) name() string { return filepath.Base(s.dir) }

// makeDir makes the directory unless it is there, and returns ErrOptions if what
// is there is not one, or not private.
func (s *spool) makeDir() error {
	if err := s.above.Mkdir(s.name(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("blob: spool: %w", err)
	}
	st, err := s.above.Lstat(s.name())
	switch {
	case err != nil:
		return fmt.Errorf("blob: spool: %w", err)
	case !st.IsDir():
		return fmt.Errorf("%w: the spool %s is not a directory", ErrOptions, s.dir)
	case st.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: the spool %s has mode %04o, so that others can reach it; chmod 0700 it", ErrOptions, s.dir, st.Mode().Perm())
	}
	return nil
}

// create opens a file for an upload of that size; nil: not known.
func (s *spool) create(size *uint64) (*spoolFile, error) {
	if s.dir == "" {
		return nil, errNoSpool
	}
	need := int64(spoolCheck)
	if size != nil {
		need = int64(*size)
	}
	if err := s.makeDir(); err != nil {
		return nil, err
	}
	if err := s.admit(need); err != nil {
		return nil, err
	}
	name := filepath.Join(s.name(), spoolPrefix+rand.Text())
	f, err := s.above.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, spoolFailed(err)
	}
	if err := s.above.Remove(name); err != nil {
		f.Close()
		return nil, spoolFailed(err)
	}
	return &spoolFile{spool: s, f: f, admitted: spoolCheck}, nil
}

// admit returns engine.ErrNoSpace if that many bytes would have to be written to
// what stays free.
func (s *spool) admit(need int64) error {
	free, err := s.free()
	if err != nil {
		return err
	}
	if free-need < s.keep {
		return fmt.Errorf("%w: the disk of the spool has %d MiB free, of which %d are kept, and an upload needs %d; free some, or declare the id of the blob",
			engine.ErrNoSpace, free>>20, s.keep>>20, (need+1<<20-1)>>20)
	}
	return nil
}

// free returns how much of the disk is free; a lot where none is kept.
func (s *spool) free() (int64, error) {
	if s.keep <= 0 || s.dir == "" {
		return math.MaxInt64, nil
	}
	dir, err := s.above.Open(s.name())
	if err != nil {
		return 0, fmt.Errorf("blob: spool: %w", err)
	}
	defer dir.Close()
	free, err := s.freeBytes(dir)
	if err != nil {
		return 0, fmt.Errorf("blob: free space of the spool: %w", err)
	}
	return free, nil
}

// spares returns engine.ErrNoSpace if a blob that a peer sends would take so much of the disk that
// less than twice of what stays free were left: that is for what users write.
func (s *spool) spares(size uint64) error {
	free, err := s.free()
	if err != nil || s.keep <= 0 {
		return err
	}
	if need := 2 * int64(size); free-need < 2*s.keep { // once in the log, once in its table
		return fmt.Errorf("%w: the disk has %d MiB free, of which %d are not for blobs of others, and this one takes up to %d; free some",
			engine.ErrNoSpace, free>>20, 2*s.keep>>20, (need+1<<20-1)>>20)
	}
	return nil
}

// spoolFailed returns err, engine.ErrNoSpace if the disk is full.
func spoolFailed(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: the disk of the spool is full; free some space", engine.ErrNoSpace)
	}
	return fmt.Errorf("blob: spool: %w", err)
}

// spoolFile is a file without a name: written from the first byte to the last,
// and then read so.
type spoolFile struct {
	spool    *spool
	f        *os.File
	admitted int64 // bytes that may be written before the disk is looked at again
}

// Write writes to the file while enough of the disk is free.
func (s *spoolFile) Write(p []byte) (int, error) {
	if s.admitted < int64(len(p)) {
		if err := s.spool.admit(spoolCheck); err != nil {
			return 0, err
		}
		s.admitted = spoolCheck
	}
	s.admitted -= int64(len(p))
	n, err := s.f.Write(p)
	if err != nil {
		return n, spoolFailed(err)
	}
	return n, nil
}

func (s *spoolFile) rewind() error {
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return spoolFailed(err)
	}
	return nil
}

// Read reads on from where the file was written or rewound to.
func (s *spoolFile) Read(p []byte) (int, error) {
	n, err := s.f.Read(p)
	if err != nil && err != io.EOF {
		return n, spoolFailed(err)
	}
	return n, err
}

func (s *spoolFile) close() { s.f.Close() }

// freeBytes returns what a user without privileges may still write to the file
// system of dir.
func freeBytes(dir *os.File) (int64, error) {
	var st unix.Statfs_t
	for {
		err := unix.Fstatfs(int(dir.Fd()), &st)
		if err == unix.EINTR {
			continue
		}
		return int64(st.Bavail) * int64(st.Bsize), err
	}
}
