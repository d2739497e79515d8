//go:build cgo

package stream

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

// benchHost is a stream with some entries on disk, and a consumer of it.
func benchHost(b *testing.B, entries int) (*host, *Consumer) {
	db, err := rocks.Open(b.TempDir(), rocks.Options{})
	require.NoError(b, err)
	h := openHost(b, db, kvtest.New())
	b.Cleanup(func() {
		h.end()
		require.NoError(b, db.Close())
	})
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", MaxAckPending: MaxUnacked})
	for entries > 0 {
		list := make([]Message, min(entries, MaxBatch))
		for i := range list {
			list[i] = Message{"orders.1", make([]byte, 100)}
		}
		_, err := h.Publish(ctx, engine.WAL, "s", AppendOptions{}, list...)
		require.NoError(b, err)
		entries -= len(list)
	}
	return h, c
}

// An entry of a stream that is applied to a record, in one batch that also acknowledges it.
func BenchmarkProject(b *testing.B) {
	h, c := benchHost(b, b.N)
	within, end := context.WithCancel(ctx)
	b.ResetTimer()
	n := 0
	err := c.Project(within, engine.WAL, func(w *kv.Work, e Entry) error {
		if n++; n == b.N {
			defer end()
		}
		return count(h.bound)(w, e)
	})
	require.ErrorIs(b, err, context.Canceled)
}

// An entry that is fetched and acknowledged with a hundred others.
func BenchmarkFetchAndAck(b *testing.B) {
	_, c := benchHost(b, b.N)
	b.ResetTimer()
	for done := 0; done < b.N; {
		list, err := c.Fetch(ctx, engine.WAL, FetchOptions{Limit: 100})
		require.NoError(b, err)
		refs := make([]Ref, len(list))
		for i := range list {
			refs[i] = list[i].Ref()
		}
		n, err := c.Ack(ctx, engine.WAL, refs...)
		require.NoError(b, err)
		done += n
	}
}
