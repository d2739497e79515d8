package cli

import (
	"errors"
	"io"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/rpc"
)

// ReadFlags are the flags of commands that only read: what a daemon has, or what is in
// a directory.
type ReadFlags struct {
	DaemonFlags
	Offline string
	Seal    SealFlags
	reads   bool // the command may read a directory, and has the flags for it
}

// Register adds the flags to those of a command.
func (f *ReadFlags) Register(fs *pflag.FlagSet) {
	f.reads = true
	f.DaemonFlags.Register(fs)
	f.Seal.Register(fs)
	fs.StringVar(&f.Offline, "offline", "", "read this directory instead of asking a daemon")
}

// registerFor is Register for a command that reads a directory too, if offline says so.
func (f *ReadFlags) registerFor(fs *pflag.FlagSet, offline bool) {
	if offline {
		f.Register(fs)
		return
	}
	f.DaemonFlags.Register(fs)
}

// Remote is the store of a daemon, and the connection to it.
type Remote struct {
	*rpc.Store
	io.Closer
}

// Dial connects to the daemon, or to what answers for it from a directory.
func (f *ReadFlags) Dial(p *Process) (*rpc.Client, error) {
	if f.Offline != "" {
		return p.serveOffline(f.Offline, &f.Seal)
	}
	c, err := f.DaemonFlags.Dial(p)
	if errors.Is(err, rpc.ErrNoDaemon) && f.reads {
		failed := *Explain(err)
		failed.Hint += "; --offline DIR reads a directory without one"
		return nil, &failed
	}
	return c, err
}
