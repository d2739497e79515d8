package rpc

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// kvWatching are the arguments of Watch.
type kvWatching struct {
	Tenant string
	kv.WatchOptions
	AlwaysSynced bool // tell kv.EventSynced where no state comes too
}

// TenantName returns the tenant.
func (a *kvWatching) TenantName() *string { return &a.Tenant }

var kvWatch = op.NewStream(op.Method{Number: 210, Name: "Kv.Watch", Access: op.AccessTenant}, watchKV,
	func(e *kvstorage.Event) int { return itemBytes(&e.Item) }, kvQueue)

// watchKV leaves out what a client does not know that does not ask for it: that there is
// an EventSynced without a state.
func watchKV(ctx context.Context, s *kvstorage.Storage, a *kvWatching) iter.Seq2[kvstorage.Event, error] {
	return func(yield func(kvstorage.Event, error) bool) {
		if a.After != 0 && a.Start != kv.FromRevision {
			yield(kvstorage.Event{}, &op.FieldError{Field: "after", Reason: "it goes with KV_WATCH_START_REVISION only"})
			return
		}
		stateComes := a.Start == kv.FromState
		for e, err := range s.Watch(ctx, a.Tenant, a.WatchOptions) {
			stateComes = stateComes || e.Kind == kv.EventResync
			if err == nil && e.Kind == kv.EventSynced && !stateComes && !a.AlwaysSynced {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// WatchOption says what is watched, from where on. Without any, that is all keys, after
// what they have.
type WatchOption func(*watchOptions)

type watchOptions struct {
	kv.WatchOptions
	once bool
}

// WithPrefix watches keys that begin with prefix. Given more than once, at most
// [kv.MaxPrefixes] times, it watches those that begin with any.
func WithPrefix(prefix string) WatchOption {
	return func(o *watchOptions) { o.Prefixes = append(o.Prefixes, []byte(prefix)) }
}

// FromNow watches what changes from now on, without what is there.
func FromNow() WatchOption { return func(o *watchOptions) { o.Start = kv.FromNow } }

// After watches what has changed since a revision, such as that of the last event that a
// watch before has yielded after [EventSynced].
func After(revision uint64) WatchOption {
	return func(o *watchOptions) { o.Start, o.After = kv.FromRevision, revision }
}

// Once has a watch end with the connection, with its error, where it would resume.
func Once() WatchOption { return func(o *watchOptions) { o.once = true } }

// Watch yields what happens to the keys of the tenant until ctx ends. First, unless
// [FromNow] or [After] says otherwise, come [EventPut] of what is there; [EventSynced] says
// that what follows are changes, in their order. A watch has begun once it yields: every
// change from then on is told. (A daemon whose features lack kv-synced yields EventSynced
// only after what was there.)
//
// When the connection is lost it waits for the daemon and goes on behind the last change
// that it has yielded, with another EventSynced when it has caught up. Where that can't be,
// since what it had yielded was not yet whole or the daemon no longer has the changes
// since, it yields [EventResync]: what is there follows, up to EventSynced, and keys that
// are not in it are gone. A watch that does not begin returns its error.
func (k *KV) Watch(ctx context.Context, with ...WatchOption) iter.Seq2[Event, error] {
	var o watchOptions
	for _, set := range with {
		set(&o)
	}
	return func(yield func(Event, error) bool) {
		w := watch{kv: k, at: o.WatchOptions}
		for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
			heard := false
			err := w.follow(ctx, func(e Event) bool { heard = true; return yield(e, nil) })
			switch {
			case err == nil:
				return
			case o.once || !w.begun || ctx.Err() != nil || !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrBusy):
				yield(Event{}, err)
				return
			case heard:
				wait = firstRetry
			}
			if !w.lost(yield) {
				return
			}
			select {
			case <-ctx.Done():
				yield(Event{}, ctx.Err())
				return
			case <-time.After(wait):
			}
		}
	}
}

// How long a watch that has lost its daemon waits before it looks for it again.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// watch is how far a watch has come.
type watch struct {
	kv     *KV
	at     kv.WatchOptions // where it goes on
	begun  bool
	within bool // what was there is being told: where it is cut off, it can't go on
}

// follow passes on what a stream yields until that ends, with its error, or tell has
// enough.
func (w *watch) follow(ctx context.Context, tell func(Event) bool) error {
	w.within = w.at.Start == kv.FromState
	for e, err := range stream(ctx, w.kv.c, kvWatch, kvWatching{w.kv.tenant, w.at, true}) {
		if err != nil {
			return err
		}
		w.begun = true
		switch e.Kind {
		case EventResync:
			w.within = true
		case EventSynced:
			w.within = false
		}
		if !w.within {
			w.at.Start, w.at.After = kv.FromRevision, e.Revision
		}
		keyed := e.Kind == EventPut || e.Kind == EventDelete || e.Kind == EventExpire
		if keyed && !w.at.Matches([]byte(e.Item.Key)) {
			continue // an older daemon knows one prefix only
		}
		if !tell(e) {
			return nil
		}
	}
	return nil
}

// lost has the next stream begin where the last one was cut off, and reports whether the
// receiver goes on.
func (w *watch) lost(yield func(Event, error) bool) bool {
	if !w.within {
		return true
	}
	w.at.Start, w.at.After = kv.FromState, 0
	return yield(Event{Kind: EventResync}, nil)
}
