package torture

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
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
	"github.com/stoadb/stoa/rpc/server"
	"github.com/stoadb/stoa/rpc/server/socket"
)

// parts say how the parts of a daemon work, besides what they are put together by.
type parts struct {
	dag        dag.Options
	kv         kv.Options
	storage    kvstorage.Options
	namespaces namespace.Options
	server     server.Options
}

// serveEngine serves an engine that keeps its rows on disk until it is interrupted.
func serveEngine(e engine.Engine, disk *rocks.Engine, path string, o parts) error {
	o.dag.Node = disk.NodeID()
	contexts, err := dag.Open(e, o.dag)
	if err != nil {
		return err
	}
	substrate, err := kv.Open(e, o.kv)
	if err != nil {
		return err
	}
	storage, err := kvstorage.New(substrate, o.storage)
	if err != nil {
		return err
	}
	policies, err := policy.New(substrate, policy.Options{})
	if err != nil {
		return err
	}
	if err := coordinate(&o.server, substrate, policies, o.kv.Log); err != nil {
		return err
	}
	defer o.server.Locks.Close()
	defer o.server.Jobs.Close()
	namespaces, err := namespace.Open(e, o.namespaces)
	if err != nil {
		return err
	}
	blobs, err := blob.Open(e, blob.Options{SpoolDir: filepath.Join(filepath.Dir(path), "stoa.spool")})
	if err != nil {
		return err
	}
	o.server.Dag, o.server.KV, o.server.Namespaces, o.server.Blobs = contexts, storage, namespaces, blobs
	o.server.Records, o.server.Policies = policies.Records(), policies
	srv, err := server.New(e, o.server)
	if err != nil {
		return err
	}
	ln, err := socket.Listen(path, socket.Options{})
	if err != nil {
		return err
	}
	ctx, forget := signal.NotifyContext(context.Background(), os.Interrupt)
	defer forget()
	err = srv.Serve(ctx, ln)
	return errors.Join(err, blobs.Close(), namespaces.Close(), substrate.Close(), contexts.Close())
}

// coordinate makes what agents coordinate by. Nobody does the jobs of any queue.
func coordinate(o *server.Options, substrate *kv.Store, policies *policy.Store, log *slog.Logger) (err error) {
	if o.Events, err = event.New(substrate, event.Options{}); err != nil {
		return err
	}
	if o.Settings, err = setting.New(substrate, setting.Options{Log: log}); err != nil {
		return err
	}
	if o.Limits, err = limit.New(substrate, limit.Options{}); err != nil {
		return err
	}
	if o.Sessions, err = session.New(policies.Records(), session.Options{}); err != nil {
		return err
	}
	if o.Locks, err = lock.New(substrate, lock.Options{Config: o.Settings.Locks, Limits: o.Limits, Events: o.Events, Log: log}); err != nil {
		return err
	}
	if o.Buckets, err = bucket.New(substrate, bucket.Options{}); err != nil {
		return err
	}
	if o.Streams, err = stream.New(substrate, stream.Options{}); err != nil {
		return err
	}
	if o.Jobs, err = job.New(substrate, job.Options{Log: log}); err == nil {
		o.Approvals, err = approval.New(policies.Records(), approval.Options{Locks: o.Locks})
	}
	return err
}
