package rpc

import (
	"context"
	"fmt"
	"iter"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// recordWatching are the arguments of Watch.
type recordWatching struct {
	recordSet
	record.WatchOptions
}

var recordWatch = op.NewStream(op.Method{Number: 808, Name: "Record.Watch", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *record.Store, a *recordWatching) iter.Seq2[record.Event, error] {
		if err := kvwire.CheckAfter(a.Start, a.After); err != nil {
			return func(yield func(record.Event, error) bool) { yield(record.Event{}, err) }
		}
		return s.Watch(ctx, a.Tenant, a.Collection, a.WatchOptions)
	}, func(e *record.Event) int { return docBytes(&e.Doc) }, op.StreamQueue)

// Watch yields what happens to the records of a collection until ctx ends, or to the one
// that has the id, unless that is "". It begins, tells and resumes as [KV.Watch] does:
// with what is there, unless [FromNow] or [After] says otherwise. There are no prefixes
// of ids.
func (r *Records) Watch(ctx context.Context, collection, id string, with ...WatchOption) iter.Seq2[RecordEvent, error] {
	o := caller.Watched(with)
	if len(o.Prefixes) > 0 {
		return func(yield func(RecordEvent, error) bool) {
			yield(RecordEvent{}, fmt.Errorf("%w: records are watched by their id, not by a prefix", ErrRequest))
		}
	}
	w := caller.Resuming[RecordEvent]{
		Begin: func(ctx context.Context, from kv.WatchStart, after uint64) iter.Seq2[RecordEvent, error] {
			return streamed(ctx, r.c, recordWatch, recordWatching{recordSet{r.tenant, collection}, record.WatchOptions{ID: id, Start: from, After: after}})
		},
		About:        func(e *RecordEvent) (kv.EventKind, uint64) { return e.Kind, e.Revision },
		Again:        RecordEvent{Kind: EventResync},
		WatchOptions: o,
	}
	return w.Events(ctx)
}
