package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/engine/rocks"
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
	waiting, failed := context.WithCancel(ctx)
	defer failed()
	if !activated {
		stop = s.wait(ctx, &leader, failed, log)
	}
	led, err := s.more.Open(waiting, cli.EngineOptions{Address: s.address(), Log: log, Leads: func(address string) {
		log.Info("waiting: another daemon leads the store", "leader", address)
		leader.Store(&address)
	}})
	waited := stop()
	switch {
	case waited != nil && err == nil:
		return nil, errors.Join(waited, led.Close())
	case waited != nil:
		return nil, waited
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

// wait answers nobody on the socket, and says who leads, until stop is called: it serves a store that nothing is in. If it
// can't, it calls failed, and stop returns why.
func (s *settings) wait(ctx context.Context, leader *atomic.Pointer[string], failed func(), log *slog.Logger) (stop func() error) {
	node := randomNode()
	st := &store{Engine: mem.New(), node: node, info: s.info(node, rocks.SchemaVersion), refuse: func() error {
		if at := leader.Load(); at != nil {
			return fmt.Errorf("the daemon at %s leads the store, and this one waits to take its place: ask that one", *at)
		}
		return errors.New("this daemon waits to lead the store, and does not know yet which one does: try again")
	}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() {
		err := s.serveStore(ctx, st, nil, log)
		if err != nil {
			failed()
		}
		served <- err
	}()
	return func() error {
		cancel()
		return errors.Join(<-served, st.Close())
	}
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
