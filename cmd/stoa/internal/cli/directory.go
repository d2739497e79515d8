package cli

import (
	"errors"
	"io"
	"os"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/seal"
)

// WithOffline opens a directory that no daemon has open, for writing, does what
// is asked, and prints that it is done.
func (p *Process) WithOffline(dir string, do func(*rocks.Engine) error, done any, text func(io.Writer)) error {
	e, err := OpenOffline(dir, rocks.Options{MustExist: true})
	if err != nil {
		return err
	}
	if err := errors.Join(do(e), e.Close()); err != nil {
		return err
	}
	return p.Emit(done, text)
}

// OpenOffline opens a directory for writing.
func OpenOffline(dir string, o rocks.Options) (*rocks.Engine, error) {
	e, err := rocks.Open(dir, o)
	if err == nil {
		return e, nil
	}
	if failed := Unfinished(dir, err); failed != nil {
		return nil, failed
	}
	failed := *Explain(CannotOpen(err))
	switch {
	case errors.Is(err, engine.ErrLocked):
		failed.Hint = "a daemon has it open: --socket goes through it"
	case errors.Is(err, engine.ErrNotDatabase) && o.MustExist:
		failed.Hint = "name a directory of the store"
	case errors.Is(err, engine.ErrNotDatabase):
		failed.Hint = "name a directory of the store, or one that is new"
	case errors.Is(err, engine.ErrCorrupt):
		failed.Hint = salvageHint(dir)
	}
	return nil, &failed
}

// OpenSource opens a directory, or a socket: either may be named.
func (p *Process) OpenSource(path string, sealed *SealFlags) (*inspect.Source, error) {
	return p.OpenAsIs(path, sealed, false)
}

// OpenAsIs is OpenSource; building takes what is there of a store that is being built for
// a whole one.
func (p *Process) OpenAsIs(path string, sealed *SealFlags, building bool) (*inspect.Source, error) {
	if st, err := os.Stat(path); err == nil && st.Mode()&os.ModeSocket != 0 {
		return p.ThroughSocket(path)
	}
	key, err := sealed.Key(p.Credentials())
	if err != nil {
		return nil, err
	}
	s, err := inspect.OpenDir(path, inspect.Options{Key: key, Building: building})
	if err != nil {
		return nil, CannotRead(path, err)
	}
	if s.Facts.Unfinished != "" && !building {
		note := inspect.Finding{Code: "unfinished", Reason: path + " is what " + s.Facts.Unfinished + " has left: a part"}
		if err := p.Warn(note); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// ThroughSocket reads what a daemon has; the path may be of its directory.
func (p *Process) ThroughSocket(path string) (*inspect.Source, error) {
	c, err := p.DialDaemon(socketAt(path), "")
	if err != nil {
		return nil, err
	}
	s, err := inspect.Through(p.Ctx, c)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return s, nil
}

// LockSecrets makes reading a secret of a sealed store whose key is not at hand an error
// that says so.
func LockSecrets(s *inspect.Source) {
	if s.Facts.Sealed && !s.Facts.Opened {
		s.Reader = seal.LockedReader(s.Reader)
	}
}

// CannotRead gives an error of opening a directory to read it its exit code and
// hint.
func CannotRead(dir string, err error) error {
	if failed := Unfinished(dir, err); failed != nil {
		return failed
	}
	f := *Explain(err)
	switch {
	case errors.Is(err, seal.ErrWrongKey):
		return SealFailure(err)
	case errors.Is(err, engine.ErrCorrupt):
		f.Hint = salvageHint(dir)
	case errors.Is(err, engine.ErrNotDatabase):
		f.Code, f.Hint = ExitOpen, "name a directory of the store"
	default:
		f.Code, f.Hint = ExitOpen, ""
	}
	return &f
}

func salvageHint(dir string) string { return "`stoa salvage " + dir + " NEW` copies what can be read" }

// Unfinished returns the failure of a directory that holds only a part of a store; nil
// if err is another one.
func Unfinished(dir string, err error) error {
	if !errors.Is(err, rocks.ErrUnfinished) {
		return nil
	}
	return Fail(ExitOpen, err, UnfinishedHint(dir))
}

// UnfinishedHint says what to do with a directory that holds only a part of a store.
func UnfinishedHint(dir string) string {
	return "remove " + dir + " and run the command again; `stoa salvage " + dir + " NEW` copies the part that is there"
}
