package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/session"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/server"
	"github.com/stoadb/stoa/rpc/server/socket"
)

// offlineStore answers the calls of a client from a directory, in this process: it is a
// daemon that only reads, goes on behind damage, and that nobody else reaches. So a
// command reads a directory as it reads a daemon.
type offlineStore struct {
	p     *Process
	close []func() error // the last first

	mu   sync.Mutex
	lost int             // places that could not be read
	told map[string]bool // those places
}

// serveOffline serves a directory to the client that it returns, until the command is
// done.
func (p *Process) serveOffline(dir string, sealed *SealFlags) (*rpc.Client, error) {
	o := &offlineStore{p: p}
	client, err := o.serve(dir, sealed)
	if err != nil {
		return nil, errors.Join(err, o.end())
	}
	p.offline = append(p.offline, o)
	return client, nil
}

func (o *offlineStore) serve(dir string, sealed *SealFlags) (*rpc.Client, error) {
	source, err := o.p.OpenSource(dir, sealed)
	if err != nil {
		return nil, err
	}
	o.close = append(o.close, source.Close)
	LockSecrets(source)
	return o.serveSource(source)
}

// serveSource serves what a source reads, which the caller closes.
func (o *offlineStore) serveSource(source *inspect.Source) (_ *rpc.Client, err error) {
	db := engine.ReadOnly(source.Lenient(o.tell))
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	settings := server.Options{Info: server.Info{Version: BuildVersion().Version, Engine: source.Facts.How, NodeID: source.Facts.NodeID,
		SchemaVersion: source.Facts.Schema}}
	if settings.Dag, err = dag.View(db, dag.Options{Damaged: o.lose}); err != nil {
		return nil, err
	}
	o.close = append(o.close, settings.Dag.Close)
	if damage := settings.Dag.ClockDamage(); damage != nil {
		if err := o.lose(column.Generic, hlc.RowKey(), fmt.Errorf("%w; no context needs it to be read", damage)); err != nil {
			return nil, err
		}
	}
	substrate, err := kv.Open(db, kv.Options{Log: log})
	if err != nil {
		return nil, err
	}
	o.close = append(o.close, substrate.Close)
	if settings.KV, err = kvstorage.New(substrate, kvstorage.Options{}); err != nil {
		return nil, err
	}
	policies, err := policy.New(substrate, policy.Options{})
	if err != nil {
		return nil, err
	}
	settings.Records, settings.Policies = policies.Records(), policies
	if settings.Settings, err = setting.New(substrate, setting.Options{Log: log}); err != nil {
		return nil, err
	}
	if settings.Events, err = event.New(substrate, event.Options{}); err != nil {
		return nil, err
	}
	locks, err := lock.New(substrate, lock.Options{Log: log})
	if err != nil {
		return nil, err
	}
	o.close = append(o.close, func() error {
		locks.Close()
		return nil
	})
	settings.Locks = locks
	if settings.Limits, err = limit.New(substrate, limit.Options{}); err != nil {
		return nil, err
	}
	if settings.Buckets, err = bucket.New(substrate, bucket.Options{Log: log}); err != nil {
		return nil, err
	}
	if settings.Streams, err = stream.New(substrate, stream.Options{Log: log}); err != nil {
		return nil, err
	}
	if settings.Sessions, err = session.New(policies.Records(), session.Options{}); err != nil {
		return nil, err
	}
	if settings.Jobs, err = job.New(substrate, job.Options{Log: log}); err != nil {
		return nil, err
	}
	o.close = append(o.close, func() error {
		settings.Jobs.Close()
		return nil
	})
	if settings.Approvals, err = approval.New(policies.Records(), approval.Options{}); err != nil {
		return nil, err
	}
	if settings.Namespaces, err = namespace.View(db, namespace.Options{Damaged: o.lose}); err != nil {
		return nil, err
	}
	o.close = append(o.close, settings.Namespaces.Close)
	private, err := os.MkdirTemp("", "stoa-*") // for this user only
	if err != nil {
		return nil, fmt.Errorf("a directory for a socket: %w", err)
	}
	o.close = append(o.close, func() error { return os.RemoveAll(private) })
	if settings.Blobs, err = blob.Open(db, blob.Options{SpoolDir: filepath.Join(private, SpoolName)}); err != nil {
		return nil, err
	}
	o.close = append(o.close, settings.Blobs.Close)
	return o.listen(db, settings, filepath.Join(private, SocketName))
}

// listen serves db at a socket, and connects to it.
func (o *offlineStore) listen(db engine.Engine, settings server.Options, path string) (*rpc.Client, error) {
	srv, err := server.New(db, settings)
	if err != nil {
		return nil, err
	}
	ln, err := socket.Listen(path, socket.Options{})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, ln) }()
	o.close = append(o.close, func() error {
		stop()
		return <-served
	})
	client, err := rpc.Dial(ctx, path, rpc.WithCallTimeout(0))
	if err == nil {
		o.close = append(o.close, client.Close)
	}
	return client, err
}

// tell tells of a place that cannot be read, and counts it.
func (o *offlineStore) tell(f inspect.Finding) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if place := f.Column + f.Key; o.told[place] {
		return nil // a row that is not there because it cannot be read
	} else if o.told == nil {
		o.told = map[string]bool{place: true}
	} else {
		o.told[place] = true
	}
	o.lost++
	return o.p.Warn(f)
}

// lose is tell for damage that a service finds.
func (o *offlineStore) lose(col column.Column, key []byte, err error) error {
	return o.tell(inspect.NewFinding("unreadable", col, key, err.Error()))
}

// end gives back everything.
func (o *offlineStore) end() error {
	var errs []error
	for i := len(o.close) - 1; i >= 0; i-- {
		if err := o.close[i](); !errors.Is(err, engine.ErrClosed) { // the command has closed its client
			errs = append(errs, err)
		}
	}
	o.close = nil
	return errors.Join(errs...)
}

// EndOffline ends what a command has read of directories, and returns how the command
// ends that has ended with err: damage that was met goes before that something is not
// there.
func (p *Process) EndOffline(err error) error {
	lost := 0
	for _, o := range p.offline {
		if ending := o.end(); err == nil {
			err = ending
		}
		lost += o.lost
	}
	if len(p.offline) == 0 {
		return err
	}
	if errors.Is(err, engine.ErrReadOnly) {
		return Refused(fmt.Errorf("a directory is only read: %w", err), "`stoa serve` it: a daemon writes, and takes ops that waited")
	}
	if lost == 0 || err != nil && Explain(err).Code != ExitNotFound {
		return err
	}
	if err != nil {
		f := *Explain(err)
		f.Code, f.Hint = ExitDamage, Count(lost, "place")+" could not be read, and it may have been there; `stoa salvage` copies what can be read"
		return &f
	}
	return DamageFound(lost, "place", "could not be read")
}
