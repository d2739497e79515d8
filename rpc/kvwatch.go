package rpc

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
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

var kvWatch = op.NewStream(op.Method{Number: 210, Name: "Kv.Watch", Role: access.Reader, Tenant: true}, watchKV,
	func(e *kvstorage.Event) int { return itemBytes(&e.Item) }, op.StreamQueue)

// watchKV leaves out what a client does not know that does not ask for it: that there is
// an EventSynced without a state.
func watchKV(ctx context.Context, s *kvstorage.Storage, a *kvWatching) iter.Seq2[kvstorage.Event, error] {
	return func(yield func(kvstorage.Event, error) bool) {
		if err := kvwire.CheckAfter(a.Start, a.After); err != nil {
			yield(kvstorage.Event{}, err)
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
type WatchOption = caller.WatchOption

// WithPrefix watches keys that begin with prefix. Given more than once, at most
// [kv.MaxPrefixes] times, it watches those that begin with any.
func WithPrefix(prefix string) WatchOption {
	return func(o *caller.WatchOptions) { o.Prefixes = append(o.Prefixes, []byte(prefix)) }
}

// FromNow watches what changes from now on, without what is there.
func FromNow() WatchOption { return func(o *caller.WatchOptions) { o.Start = kv.FromNow } }

// After watches what has changed since a revision, such as that of the last event that a
// watch before has yielded after [EventSynced].
func After(revision uint64) WatchOption {
	return func(o *caller.WatchOptions) { o.Start, o.After = kv.FromRevision, revision }
}

// Once has a watch end with the connection, with its error, where it would resume.
func Once() WatchOption { return func(o *caller.WatchOptions) { o.Once = true } }

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
	o := caller.Watched(with)
	r := caller.Resuming[Event]{
		Begin: func(ctx context.Context, from kv.WatchStart, after uint64) iter.Seq2[Event, error] {
			at := o.WatchOptions
			at.Start, at.After = from, after
			return streamed(ctx, k.c, kvWatch, kvWatching{k.tenant, at, true})
		},
		About:        func(e *Event) (kv.EventKind, uint64) { return e.Kind, e.Revision },
		Wants:        func(e *Event) bool { return !keyed(e.Kind) || o.Matches([]byte(e.Item.Key)) }, // an older daemon knows one prefix only
		Again:        Event{Kind: EventResync},
		WatchOptions: o,
	}
	return r.Events(ctx)
}

// keyed reports whether an event is about something that is stored.
func keyed(k kv.EventKind) bool { return k == EventPut || k == EventDelete || k == EventExpire }
