package server

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

const whatKVStreams = "streams of key-values"

// kvQueue is how many bytes of items wait on a stream.
const kvQueue = 256 << 10

// Scan is Kv.Scan.
func (t *kvService) Scan(r *stoav1.KvScanRequest, stream grpc.ServerStreamingServer[stoav1.KvScanResponse]) error {
	tenant, err := t.tenant(stream.Context(), r)
	if err != nil {
		return err
	}
	return t.s.pacedStream(stream.Context(), &t.s.kvStreams, func(ctx context.Context, wait *peerWait) error {
		return pass(t.s, ctx, wait, kvQueue, func(ctx context.Context, q *queue[*stoav1.KvItem]) error {
			items := t.storage().All(ctx, tenant, string(r.GetPrefix()))
			if r.GetKeysOnly() {
				items = t.storage().Keys(ctx, tenant, string(r.GetPrefix()))
			}
			for i, err := range items {
				if err != nil {
					return err
				}
				m := kvwire.FromListed(&i, !r.GetKeysOnly())
				if !q.put(ctx, m, kvwire.ItemBytes(m)) {
					break
				}
			}
			return nil
		}, func(items []*stoav1.KvItem) error { return stream.Send(&stoav1.KvScanResponse{Items: items}) })
	})
}

// Watch is Kv.Watch.
func (t *kvService) Watch(r *stoav1.KvWatchRequest, stream grpc.ServerStreamingServer[stoav1.KvWatchResponse]) error {
	tenant, err := t.tenant(stream.Context(), r)
	if err != nil {
		return err
	}
	o, err := watchOptions(r)
	if err != nil {
		return err
	}
	return t.s.pacedStream(stream.Context(), &t.s.kvStreams, func(ctx context.Context, wait *peerWait) error {
		return pass(t.s, ctx, wait, kvQueue, func(ctx context.Context, q *queue[*stoav1.KvEvent]) error {
			stateComes := o.Start == kv.FromState
			for e, err := range t.storage().Watch(ctx, tenant, o) {
				if err != nil {
					return err
				}
				stateComes = stateComes || e.Kind == kv.EventResync
				if e.Kind == kv.EventSynced && !stateComes && !r.GetAlwaysSynced() {
					continue // a client that does not know that there is one without a state
				}
				m := kvwire.FromEvent(&e)
				if !q.put(ctx, m, kvwire.ItemBytes(m.GetItem())) {
					break
				}
			}
			return nil
		}, func(events []*stoav1.KvEvent) error { return stream.Send(&stoav1.KvWatchResponse{Events: events}) })
	})
}

func watchOptions(r *stoav1.KvWatchRequest) (kv.WatchOptions, error) {
	o := kv.WatchOptions{Prefix: r.GetPrefix(), Prefixes: r.GetPrefixes(), After: r.GetAfter()}
	switch r.GetStart() {
	case stoav1.KvWatchStart_KV_WATCH_START_UNSPECIFIED, stoav1.KvWatchStart_KV_WATCH_START_STATE:
		o.Start = kv.FromState
	case stoav1.KvWatchStart_KV_WATCH_START_NOW:
		o.Start = kv.FromNow
	case stoav1.KvWatchStart_KV_WATCH_START_REVISION:
		o.Start = kv.FromRevision
	default:
		return o, badField("start", fmt.Sprintf("no start %d", int32(r.GetStart())))
	}
	if o.After != 0 && o.Start != kv.FromRevision {
		return o, badField("after", "it goes with KV_WATCH_START_REVISION only")
	}
	return o, nil
}
