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

// path returns where the socket is, and what says so.
func (f *daemonFlags) path(p *process) (path, because string) {
	switch {
	case f.socket != "":
		return f.socket, f.named()
	case f.dir != "":
		return filepath.Join(f.dir, socketName), "--dir"
	case p.getenv("STOA_SOCKET") != "":
		return p.getenv("STOA_SOCKET"), "STOA_SOCKET"
	case p.getenv("STOA_DIR") != "":
		return filepath.Join(p.getenv("STOA_DIR"), socketName), "STOA_DIR"
	}
	return filepath.Join(defaultDir, socketName), "the default"
}

// dial connects to the daemon.
func (f *daemonFlags) dial(p *process) (*rpc.Client, error) {
	path, because := f.path(p)
	if f.timeout < 0 {
		return nil, bad(fmt.Errorf("--timeout: %s is less than 0", f.timeout), "")
	}
	o := rpc.ClientOptions{CallTimeout: f.timeout}
	if f.timeout == 0 {
		o.CallTimeout = -1
	}
	client, err := rpc.Dial(path, o)
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
