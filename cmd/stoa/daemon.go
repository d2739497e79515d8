package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/rpc"
)

// defaultDir is where data lies if nothing says otherwise; the others are in it.
const (
	defaultDir = "./stoa-data"
	socketName = "stoa.sock"
	spoolName  = "stoa.spool" // uploads whose id is not known yet
)

// daemonFlags are the flags of commands that talk to a daemon.
type daemonFlags struct {
	socket, dir string
	timeout     time.Duration
	flag        string // which names the socket; empty: --socket
}

// named returns the flag, or the argument, that names the socket.
func (f *daemonFlags) named() string {
	if f.flag == "" {
		return "--socket"
	}
	return f.flag
}

func (f *daemonFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.socket, "socket", "", "the daemon's socket (default $STOA_SOCKET, else "+socketName+" in the directory)")
	fs.StringVar(&f.dir, "dir", "", "the daemon's directory (default $STOA_DIR, else "+defaultDir+")")
	fs.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long a call for single records may take; 0: as long as it takes")
}

// again returns what a command line has, after a space, to reach the same daemon; nothing
// where it goes by the environment.
func (f *daemonFlags) again() string {
	switch {
	case f.socket != "":
		return " --socket " + quoted(f.socket)
	case f.dir != "":
		return " --dir " + quoted(f.dir)
	}
	return ""
}

// path returns where the socket is, and what says so.
func (f *daemonFlags) path(p *process) (path, because string) {
	switch {
	case f.socket != "":
		return socketAt(f.socket), f.named()
	case f.dir != "":
		return filepath.Join(f.dir, socketName), "--dir"
	case p.getenv("STOA_SOCKET") != "":
		return socketAt(p.getenv("STOA_SOCKET")), "STOA_SOCKET"
	case p.getenv("STOA_DIR") != "":
		return filepath.Join(p.getenv("STOA_DIR"), socketName), "STOA_DIR"
	}
	return filepath.Join(defaultDir, socketName), "the default"
}

// socketAt returns the socket that a path means: itself, or the one in a directory.
func socketAt(path string) string {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return filepath.Join(path, socketName)
	}
	return path
}

// dial connects to the daemon.
func (f *daemonFlags) dial(p *process) (*rpc.Client, error) {
	path, because := f.path(p)
	if f.timeout < 0 {
		return nil, bad(fmt.Errorf("--timeout: %s is less than 0", f.timeout), "")
	}
	client, err := rpc.Dial(p.ctx, path, rpc.WithCallTimeout(f.timeout))
	if err != nil {
		if dir, wdErr := os.Getwd(); wdErr == nil && !filepath.IsAbs(path) {
			because += ", from " + dir
		}
		err = fmt.Errorf("%w (looked there because of %s)", err, because)
		if errors.Is(err, rpc.ErrNoDaemon) && f.flag != "" {
			return nil, &failure{exitOpen, err, "start one there with `stoa serve`, or name another socket: " + f.flag}
		}
		return nil, err
	}
	return client, nil
}
