package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/rpc"
)

// DefaultDir is where data lies if nothing says otherwise; the others are in it.
const (
	DefaultDir = "./stoa-data"
	SocketName = "stoa.sock"
	SpoolName  = "stoa.spool" // uploads whose id is not known yet
)

// DaemonFlags are the flags of commands that talk to a daemon.
type DaemonFlags struct {
	Socket, dir string
	user        string // who runs the daemon
	timeout     time.Duration
	Flag        string // which names the socket; empty: --socket
}

// named returns the flag, or the argument, that names the socket.
func (f *DaemonFlags) named() string {
	if f.Flag == "" {
		return "--socket"
	}
	return f.Flag
}

// Register adds the flags to those of a command.
func (f *DaemonFlags) Register(fs *pflag.FlagSet) {
	fs.StringVar(&f.Socket, "socket", "", "the daemon's socket (default $STOA_SOCKET, else "+SocketName+" in the directory)")
	fs.StringVar(&f.dir, "dir", "", "the daemon's directory (default $STOA_DIR, else "+DefaultDir+")")
	fs.StringVar(&f.user, "daemon-user", "", "who runs the daemon, if neither this user nor root (default $STOA_DAEMON_USER)")
	fs.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long a call for single records may take; 0: as long as it takes")
}

// again returns what a command line has, after a space, to reach the same daemon; nothing
// where it goes by the environment.
func (f *DaemonFlags) again() string {
	switch {
	case f.Socket != "":
		return " --socket " + Quoted(f.Socket)
	case f.dir != "":
		return " --dir " + Quoted(f.dir)
	}
	return ""
}

// path returns where the socket is, and what says so.
func (f *DaemonFlags) path(p *Process) (path, because string) {
	switch {
	case f.Socket != "":
		return socketAt(f.Socket), f.named()
	case f.dir != "":
		return filepath.Join(f.dir, SocketName), "--dir"
	case p.Getenv("STOA_SOCKET") != "":
		return socketAt(p.Getenv("STOA_SOCKET")), "STOA_SOCKET"
	case p.Getenv("STOA_DIR") != "":
		return filepath.Join(p.Getenv("STOA_DIR"), SocketName), "STOA_DIR"
	}
	return filepath.Join(DefaultDir, SocketName), "the default"
}

// socketAt returns the socket that a path means: itself, or the one in a directory.
func socketAt(path string) string {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return filepath.Join(path, SocketName)
	}
	return path
}

// Dial connects to the daemon.
func (f *DaemonFlags) Dial(p *Process) (*rpc.Client, error) {
	path, because := f.path(p)
	if f.timeout < 0 {
		return nil, Bad(fmt.Errorf("--timeout: %s is less than 0", f.timeout), "")
	}
	client, err := p.DialDaemon(path, f.user, rpc.WithCallTimeout(f.timeout))
	if err != nil {
		if dir, wdErr := os.Getwd(); wdErr == nil && !filepath.IsAbs(path) {
			because += ", from " + dir
		}
		err = fmt.Errorf("%w (looked there because of %s)", err, because)
		if errors.Is(err, rpc.ErrNoDaemon) && f.Flag != "" {
			return nil, Fail(ExitOpen, err, "start one there with `stoa serve`, or name another socket: "+f.Flag)
		}
		return nil, err
	}
	return client, nil
}
