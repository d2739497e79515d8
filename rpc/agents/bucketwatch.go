package agents

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// bucketWatching are the arguments of Watch.
type bucketWatching struct {
	inBucket
	bucket.WatchOptions
}

var bucketWatch = op.NewStream(op.Method{Number: 1305, Name: "Bucket.Watch", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *bucket.Store, a *bucketWatching) iter.Seq2[bucket.Event, error] {
		b, err := a.open(s)
		if err != nil {
			return each[bucket.Event](nil, err)
		}
		return b.Watch(ctx, a.WatchOptions)
	}, func(e *bucket.Event) int { return 64 + bucketEntrySize(&e.Entry) }, op.StreamQueue)

// Watch yields what happens to keys, in order of the revisions and once, until ctx ends; see
// [bucket.Bucket.Watch]. When the connection is lost it waits for the daemon, and goes on behind
// what it has yielded: where that was not all that there was when it began, it says
// bucket.EventResync, and begins anew.
func (b *Bucket) Watch(ctx context.Context, o bucket.WatchOptions) iter.Seq2[bucket.Event, error] {
	r := caller.Resuming[bucket.Event]{About: bucketEventAbout, Again: bucket.Event{Kind: bucket.EventResync}}
	r.Begin = func(ctx context.Context, from kv.WatchStart, after uint64) iter.Seq2[bucket.Event, error] {
		at := o
		switch from {
		case kv.FromState:
			at.UpdatesOnly, at.Resume, at.After = false, false, 0
		case kv.FromRevision:
			at.History, at.UpdatesOnly, at.Resume, at.After = false, false, true, after
		}
		return caller.Stream(ctx, b.c, bucketWatch, bucketWatching{b.in, at})
	}
	if o.UpdatesOnly || o.Resume { // nothing that there is comes first
		r.Start = kv.FromNow
	}
	return r.Events(ctx)
}

// bucketEventAbout is what an event says, as of a watch of the store.
func bucketEventAbout(e *bucket.Event) (kv.EventKind, uint64) {
	switch e.Kind {
	case bucket.EventInitDone:
		return kv.EventSynced, e.Revision
	case bucket.EventResync:
		return kv.EventResync, e.Revision
	}
	return kv.EventPut, e.Revision
}
