package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/fault"
)

// Checkpoint makes a copy of the store in a directory that must not exist, below one that is
// safe for it.
func (a *admin) Checkpoint(dir string) error {
	if !filepath.IsAbs(dir) {
		return badField("dir", "not an absolute path")
	}
	dir = filepath.Clean(dir)
	if _, err := os.Lstat(dir); err == nil {
		return badField("dir", "it exists; name a directory that does not")
	}
	parent, err := a.s.openParent(dir)
	if err != nil {
		return err
	}
	defer parent.Close()
	at := filepath.Join(byDescriptor(parent), filepath.Base(dir))
	switch err := a.s.eng.Checkpoint(at); {
	case err == nil:
		a.s.log.Info("checkpoint made", "dir", dir)
		return nil
	case errors.Is(err, engine.ErrPlace):
		return badField("dir", strings.ReplaceAll(err.Error(), at, dir))
	case fault.Describe(err) != nil:
		return err
	default:
		return badDir(err)
	}
}

// openParent opens the directory that a copy is to be in: files in it are then made there,
// whatever the path leads to by then. It belongs to the daemon's own user, who alone can write to it
// (or what is in it, as in /tmp), or is one that the options name, or below that.
func (s *Server) openParent(dir string) (*os.File, error) {
	path := filepath.Dir(dir)
	parent, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, badDir(err)
	}
	fail := func(format string, args ...any) (*os.File, error) {
		parent.Close()
		return nil, badField("dir", fmt.Sprintf(format, args...))
	}
	if within := s.o.CheckpointDir; within != "" {
		if ok, err := isWithin(parent, path, within); err != nil || !ok {
			return fail("copies are made below %s alone (stoa serve --checkpoint-dir)", within)
		}
		return parent, nil
	}
	info, err := parent.Stat()
	if err != nil {
		return fail("%s", err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fail("%s belongs to uid %d, and not to the daemon's user, uid %d: name a directory below one that does, or have stoa serve --checkpoint-dir name one", path, st.Uid, os.Geteuid())
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
		return fail("others can write to %s (mode %#o): chmod go-w it, or name another", path, info.Mode().Perm())
	}
	return parent, nil
}

// isWithin reports whether a directory that is open is another, or below it.
func isWithin(open *os.File, path, other string) (bool, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false, err
	}
	within, err := filepath.EvalSymlinks(other)
	if err != nil {
		return false, err
	}
	there, err := os.Stat(real)
	if err != nil {
		return false, err
	}
	has, err := open.Stat()
	if err != nil || !os.SameFile(there, has) {
		return false, err
	}
	rel, err := filepath.Rel(within, real)
	return err == nil && filepath.IsLocal(rel), nil
}

// badDir says what keeps a copy from being made.
func badDir(err error) error {
	switch {
	case errors.Is(err, fs.ErrExist):
		return badField("dir", "it exists; name a directory that does not")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return badField("dir", "the directory that it would be in does not exist")
	case errors.Is(err, fs.ErrPermission):
		return badField("dir", "the daemon has no permission to make it")
	}
	return err
}
