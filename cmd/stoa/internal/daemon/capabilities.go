package daemon

import (
	"errors"
	"log/slog"
	"slices"

	"github.com/stoadb/stoa/blob"
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
	"github.com/stoadb/stoa/rpc/server"
)

// capabilityOptions say how the capabilities run.
type capabilityOptions struct {
	clock   kv.Clock // nil: that of the machine
	storage kvstorage.Options
	off     []string    // queues whose jobs workers outside do
	blobs   *blob.Store // has the long outputs of tasks
	log     *slog.Logger
}

// capabilities are the key-values of a store, and what stands on them.
type capabilities struct {
	substrate *kv.Store
	storage   *kvstorage.Storage
	policies  *policy.Store
	events    *event.Store
	settings  *setting.Store
	limits    *limit.Store
	sessions  *session.Store
	locks     *lock.Store
	approvals *approval.Store
	jobs      *job.Store
	buckets   *bucket.Store
	streams   *stream.Store
	blobs     *blob.Store
}

// openCapabilities opens those of a store. They are to be closed before what they were given.
func openCapabilities(db engine.Engine, o capabilityOptions) (_ *capabilities, err error) {
	c := &capabilities{blobs: o.blobs}
	if c.substrate, err = kv.Open(db, kv.Options{Clock: o.clock, Log: o.log}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if c.storage, err = kvstorage.New(c.substrate, o.storage); err != nil {
		return nil, err
	}
	if c.policies, err = policy.New(c.substrate, policy.Options{}); err != nil {
		return nil, err
	}
	if c.events, err = event.New(c.substrate, event.Options{}); err != nil {
		return nil, err
	}
	if c.settings, err = setting.New(c.substrate, setting.Options{Log: o.log}); err != nil {
		return nil, err
	}
	if c.limits, err = limit.New(c.substrate, limit.Options{}); err != nil {
		return nil, err
	}
	if c.buckets, err = bucket.New(c.substrate, bucket.Options{Log: o.log}); err != nil {
		return nil, err
	}
	if c.streams, err = stream.New(c.substrate, stream.Options{Log: o.log}); err != nil {
		return nil, err
	}
	if c.sessions, err = session.New(c.policies.Records(), session.Options{}); err != nil {
		return nil, err
	}
	c.locks, err = lock.New(c.substrate, lock.Options{Config: c.settings.Locks, Limits: c.limits, Events: c.events, Log: o.log,
		NoSweep: slices.Contains(o.off, job.DeadlockDetect)})
	if err != nil {
		return nil, err
	}
	return c, c.openTasks(o.off, o.log)
}

// served puts them into what a server serves.
func (c *capabilities) served(o *server.Options) {
	o.KV, o.Records, o.Policies, o.Locks, o.Limits = c.storage, c.policies.Records(), c.policies, c.locks, c.limits
	o.Settings, o.Events, o.Jobs, o.Sessions, o.Approvals = c.settings, c.events, c.jobs, c.sessions, c.approvals
	o.Buckets, o.Streams = c.buckets, c.streams
}

// Close ends what they do by themselves, and closes the key-values.
func (c *capabilities) Close() error {
	if c.jobs != nil {
		c.jobs.Close()
	}
	if c.locks != nil {
		c.locks.Close()
	}
	return c.substrate.Close()
}
