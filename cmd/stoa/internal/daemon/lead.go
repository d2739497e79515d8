package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/rpc/server"
)

// errLead is why a daemon ends whose place another has taken.
var errLead = errors.New("another daemon has taken the lead of the store")

// led reports whether the store is one that one of several daemons leads.
func (s *settings) led() bool { return s.more != nil && s.engine == s.more.Name }

// lead waits until this daemon leads the store. Meanwhile who connects is told which one does, unless systemd has made
// the socket, which would be closed then. It returns nil without an error if ctx has ended that.
func (s *settings) lead(ctx context.Context, activated bool, log *slog.Logger) (st *store, err error) {
	if !s.sealKey.IsZero() {
		return nil, cli.Bad(fmt.Errorf("--engine %s keeps secrets as they are: it takes no key to seal them with", s.engine), "")
	}
	if err := s.makeDirectory(); err != nil {
		return nil, err
	}
	var leader atomic.Pointer[string]
	stop := func() error { return nil }
	if !activated {
		if stop, err = s.wait(ctx, &leader, log); err != nil {
			return nil, err
		}
	}
	led, err := s.more.Open(ctx, cli.EngineOptions{Address: s.address(), Log: log, Leads: func(address string) {
		log.Info("waiting: another daemon leads the store", "leader", address)
		leader.Store(&address)
	}})
	if waited := stop(); err == nil && waited != nil {
		err = errors.Join(waited, led.Close())
	}
	switch {
	case err != nil && ctx.Err() != nil:
		log.Info("stopped while it waited for the lead of the store")
		return nil, nil
	case err != nil:
		return nil, err
	}
	log.Info("this daemon leads the store now", "address", s.address())
	return &store{Engine: led, node: led.Node, lastClose: "shared", info: s.info(led.Node, rocks.SchemaVersion), leadLost: led.Lost}, nil
}

// address is where this daemon is, for those who wait: the host, and the socket.
func (s *settings) address() string {
	host, err := os.Hostname()
	if err != nil {
		return s.socket
	}
	return host + ":" + s.socket
}

// wait serves nobody on the socket, and says who leads, until stop is called.
func (s *settings) wait(ctx context.Context, leader *atomic.Pointer[string], log *slog.Logger) (stop func() error, err error) {
	nothing := mem.New()
	spool, err := blob.Open(nothing, blob.Options{SpoolDir: filepath.Join(s.dir, cli.SpoolName), Logger: log})
	if err != nil {
		return nil, errors.Join(cli.CannotOpen(err), nothing.Close())
	}
	srv, err := server.New(nothing, server.Options{Peers: s.rights, Logger: log, Blobs: spool, Refuse: func() error {
		if at := leader.Load(); at != nil {
			return fmt.Errorf("the daemon at %s leads the store, and this one waits to take its place: ask that one", *at)
		}
		return errors.New("this daemon waits to lead the store, and does not know yet which one does: try again")
	}})
	if err != nil {
		return nil, errors.Join(cli.CannotOpen(err), spool.Close(), nothing.Close())
	}
	ln, err := s.listen(nil, log)
	if err != nil {
		return nil, errors.Join(err, spool.Close(), nothing.Close())
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, ln) }()
	return func() error {
		cancel()
		return errors.Join(<-served, spool.Close(), nothing.Close())
	}, nil
}

// whileLeading returns a context that ends, with the cause errLead, when another daemon leads; lost is
// nil where none can.
func whileLeading(ctx context.Context, lost <-chan struct{}) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-lost:
			cancel(errLead)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}
