package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/pflag"
	"github.com/tikv/client-go/v2/config"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine/tikv"
)

// flags are those of serve that only this program has.
type flags struct {
	pd               []string
	prefix           string
	ca, cert, secret string
	keep, ttl        time.Duration
	twoPhase         bool
}

func (f *flags) register(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.pd, "pd", nil, "with --engine tikv: the addresses of PD, HOST:PORT with commas between them")
	fs.StringVar(&f.prefix, "tikv-prefix", "", "with --engine tikv: what all keys of the store begin with (default stoa/); a cluster may hold several stores")
	fs.StringVar(&f.ca, "pd-ca-file", "", "with --engine tikv: the certificates of those that may sign for the cluster; with them TLS is spoken")
	fs.StringVar(&f.cert, "pd-cert-file", "", "with --engine tikv: the certificate of this daemon")
	fs.StringVar(&f.secret, "pd-key-file", "", "with --engine tikv: the private key of that")
	fs.DurationVar(&f.keep, "tikv-keep", 10*time.Minute, "with --engine tikv: how long old versions of rows stay; negative: TiDB says what may go")
	fs.BoolVar(&f.twoPhase, "tikv-two-phase", false, "with --engine tikv: commit in two phases always; for stores that are not TiKV's and whose readers miss commits in one (unistore)")
	fs.DurationVar(&f.ttl, "lead-ttl", 6*time.Second, "with --engine tikv: how long after the last word of the daemon that leads another takes its place")
}

// connect opens the store on the cluster that the flags name.
func (f *flags) connect(log *slog.Logger) (*tikv.Engine, error) {
	if len(f.pd) == 0 {
		return nil, cli.Bad(errors.New("--engine tikv wants the addresses of PD"), "as in: stoa-tikv serve --engine tikv --pd pd1:2379,pd2:2379,pd3:2379")
	}
	o := tikv.Options{Prefix: f.prefix, Keep: f.keep, TwoPhase: f.twoPhase, Logger: log}
	if f.ca != "" || f.cert != "" || f.secret != "" {
		o.Security = config.NewSecurity(f.ca, f.cert, f.secret, nil)
	}
	e, err := tikv.Open(f.pd, o)
	if err != nil {
		return nil, cli.CannotOpen(err)
	}
	return e, nil
}

// engine is the engine, as serve takes it, of a store that connect opens.
func (f *flags) engine(connect func(*slog.Logger) (*tikv.Engine, error)) *cli.Engine {
	return &cli.Engine{Name: "tikv", Flags: f.register, Open: func(ctx context.Context, o cli.EngineOptions) (*cli.LedEngine, error) {
		e, err := connect(o.Log)
		if err != nil {
			return nil, err
		}
		lease, err := e.Lead(ctx, tikv.LeadOptions{Address: o.Address, TTL: f.ttl, Waits: func(l tikv.Leader) { o.Leads(l.Address) }})
		if err != nil {
			return nil, errors.Join(cli.CannotOpen(err), e.Close())
		}
		s := &led{e, lease}
		node, err := e.Node(ctx)
		if err != nil {
			return nil, errors.Join(cli.CannotOpen(err), s.Close())
		}
		return &cli.LedEngine{Engine: s, Node: node, Lost: lease.Lost()}, nil
	}}
}

// led is an engine that gives the lead back when it is closed.
type led struct {
	*tikv.Engine
	lease *tikv.Lease
}

// Close gives the lead back, and closes the engine.
func (l *led) Close() error { return errors.Join(l.lease.Close(), l.Engine.Close()) }
