package main

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/seal"
	"github.com/stoadb/stoa/rpc"
)

// sourceFlags are the flags of commands that read a directory, or the store of
// a daemon through its socket.
type sourceFlags struct {
	socket   string
	seal     sealFlags
	building bool // what is there of a store that is being built counts as whole
}

const sourceLong = `DIR is a directory of the store (default $STOA_DIR, else ` + defaultDir + `). It is not changed:
it is opened read-only, or beside the daemon that has it open. --socket asks a
daemon instead.`

func (f *sourceFlags) register(fs *pflag.FlagSet) {
	f.seal.register(fs)
	fs.StringVar(&f.socket, "socket", "", "read through the daemon that listens there, instead of a directory")
}

// open opens what the flags and the arguments name.
func (f *sourceFlags) open(p *process, args []string) (*inspect.Source, error) {
	if f.socket != "" {
		if len(args) > 0 {
			return nil, bad(errors.New("--socket and DIR exclude each other"), "")
		}
		return p.throughSocket(f.socket)
	}
	return p.openAsIs(p.directory(args), &f.seal, f.building)
}

// directory returns the directory that a command line names.
func (p *process) directory(args []string) string {
	switch {
	case len(args) > 0:
		return args[0]
	case p.getenv("STOA_DIR") != "":
		return p.getenv("STOA_DIR")
	}
	return defaultDir
}

func (p *process) throughSocket(path string) (*inspect.Source, error) {
	c, err := rpc.Dial(p.ctx, socketAt(path))
	if err != nil {
		return nil, err
	}
	s, err := inspect.Through(p.ctx, c)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return s, nil
}

// openSource opens a directory, or a socket: either may be named.
func (p *process) openSource(path string, sealed *sealFlags) (*inspect.Source, error) {
	return p.openAsIs(path, sealed, false)
}

// openAsIs is openSource; building takes what is there of a store that is being built for
// a whole one.
func (p *process) openAsIs(path string, sealed *sealFlags, building bool) (*inspect.Source, error) {
	if st, err := os.Stat(path); err == nil && st.Mode()&os.ModeSocket != 0 {
		return p.throughSocket(path)
	}
	key, err := sealed.key(p.credentials())
	if err != nil {
		return nil, err
	}
	s, err := inspect.OpenDir(path, inspect.Options{Key: key, Building: building})
	if err != nil {
		return nil, cannotRead(path, err)
	}
	if s.Facts.Unfinished != "" && !building {
		note := inspect.Finding{Code: "unfinished", Reason: path + " is what " + s.Facts.Unfinished + " has left: a part"}
		if err := p.warn(note); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// cannotRead gives an error of opening a directory to read it its exit code and
// hint.
func cannotRead(dir string, err error) error {
	if failed := isUnfinished(dir, err); failed != nil {
		return failed
	}
	f := *explain(err)
	switch {
	case errors.Is(err, seal.ErrWrongKey):
		return sealFailure(err)
	case errors.Is(err, engine.ErrCorrupt):
		f.hint = salvageHint(dir)
	case errors.Is(err, engine.ErrNotDatabase):
		f.code, f.hint = exitOpen, "name a directory of the store"
	default:
		f.code, f.hint = exitOpen, ""
	}
	return &f
}

func salvageHint(dir string) string { return "`stoa salvage " + dir + " NEW` copies what can be read" }

// records is a store to read records from: a daemon's, or one in a directory.
type records interface {
	engine.Reader
	Close() error
}

// recordFlags are the flags of commands that only read: what a daemon has, or what is in
// a directory.
type recordFlags struct {
	daemonFlags
	offline string
	seal    sealFlags
	reads   bool // the command may read a directory, and has the flags for it
}

func (f *recordFlags) register(fs *pflag.FlagSet) {
	f.reads = true
	f.daemonFlags.register(fs)
	f.seal.register(fs)
	fs.StringVar(&f.offline, "offline", "", "read this directory instead of asking a daemon")
}

// registerFor is register for a command that reads a directory too, if offline says so.
func (f *recordFlags) registerFor(fs *pflag.FlagSet, offline bool) {
	if offline {
		f.register(fs)
		return
	}
	f.daemonFlags.register(fs)
}

func (f *recordFlags) open(p *process) (records, error) {
	if f.offline != "" {
		s, err := p.openSource(f.offline, &f.seal)
		if err == nil {
			lockSecrets(s)
		}
		return s, err
	}
	c, err := f.dial(p)
	if err != nil {
		return nil, err
	}
	return remote{c.Store(p.ctx), c}, nil
}

// remote is the store of a daemon, and the connection to it.
type remote struct {
	*rpc.Store
	io.Closer
}

// lockSecrets makes reading a secret of a sealed store whose key is not at hand an error
// that says so.
func lockSecrets(s *inspect.Source) {
	if s.Facts.Sealed && !s.Facts.Opened {
		s.Reader = seal.LockedReader(s.Reader)
	}
}

// dial connects to the daemon, or to what answers for it from a directory.
func (f *recordFlags) dial(p *process) (*rpc.Client, error) {
	if f.offline != "" {
		return p.serveOffline(f.offline, &f.seal)
	}
	c, err := f.daemonFlags.dial(p)
	if errors.Is(err, rpc.ErrNoDaemon) && f.reads {
		failed := *explain(err)
		failed.hint += "; --offline DIR reads a directory without one"
		return nil, &failed
	}
	return c, err
}
