package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/stoadb/stoa/rpc"
)

// DialOrServe is Dial; where a directory is named that has a store, and no daemon, it begins one
// there, with the settings of the environment, that nobody else reaches and that ends with done.
func (f *DaemonFlags) DialOrServe(ctx context.Context, p *Process) (client *rpc.Client, done func() error, err error) {
	client, err = f.Dial(p)
	if err == nil {
		return client, client.Close, nil
	}
	path, _ := f.path(p)
	dir, name := filepath.Split(path)
	if !errors.Is(err, rpc.ErrNoDaemon) || name != SocketName {
		return nil, nil, err
	}
	if _, noStore := os.Stat(filepath.Join(dir, "CURRENT")); noStore != nil {
		return nil, nil, err
	}
	return p.serveFor(ctx, filepath.Clean(dir))
}

// serveFor begins a daemon on a directory, for as long as done is not called.
func (p *Process) serveFor(ctx context.Context, dir string) (_ *rpc.Client, done func() error, err error) {
	private, err := os.MkdirTemp("", "stoa-*") // for this user only
	if err != nil {
		return nil, nil, fmt.Errorf("a directory for a socket: %w", err)
	}
	path := filepath.Join(private, SocketName)
	ctx, stop := context.WithCancel(ctx)
	child := p.Self(ctx, "serve", "--json", "--dir", dir, "--socket", path)
	child.Cancel = func() error { return child.Process.Signal(syscall.SIGTERM) }
	dieWithParent(child)
	var said Tail
	child.Stderr = &said
	ended := make(chan error, 1)
	go func() { ended <- RunChild(child) }()
	end := sync.OnceValue(func() error {
		stop()
		<-ended
		return os.RemoveAll(private)
	})
	for {
		client, err := p.DialDaemon(path, "")
		if err == nil {
			return client, func() error { return errors.Join(client.Close(), end()) }, nil
		}
		select {
		case err := <-ended:
			ended <- err // for end
			if failed := said.Failure(); failed != nil {
				return nil, nil, errors.Join(failed, end())
			}
			return nil, nil, errors.Join(Fail(ExitOpen, fmt.Errorf("the daemon that was begun on %s ended (%v): %s", dir, err, said.First()), ""), end())
		case <-ctx.Done():
			return nil, nil, errors.Join(ctx.Err(), end())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
