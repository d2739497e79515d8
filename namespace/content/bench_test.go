package content_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/namespace/content"
)

// line returns n deltas of 10 actions each, one on top of the other, and their envelopes.
func line(b *testing.B, w *world, n int) (deltas []dag.Offer, envelopes [][]byte) {
	for i := range n {
		var actions []codec.Action
		for k := range 10 {
			actions = append(actions, put(fmt.Sprintf("key %06d", i*7919%100_000+k), fmt.Sprintf("value %d", i)))
		}
		require.True(b, w.nodes[0].commit(actions...))
	}
	for a, err := range w.nodes[0].dag.Since(bg, w.context, nil, dag.SinceOptions{}) {
		require.NoError(b, err)
		deltas = append(deltas, dag.Offer{Delta: a.Delta})
	}
	for e, err := range w.nodes[0].content.Since(bg, w.context, nil) {
		require.NoError(b, err)
		envelopes = append(envelopes, append([]byte{}, e...))
	}
	return deltas, envelopes
}

// Catching up with a line of deltas in batches of 256: bare, and signed and sealed. Both take in the
// same deltas, in memory.
func BenchmarkCatchUp(b *testing.B) {
	const n = 2000
	w := newWorld(b, 1, "Z", "K")
	defer w.close()
	deltas, envelopes := line(b, w, n)
	b.Run("bare", func(b *testing.B) {
		for range b.N {
			db := mem.New()
			s, err := dag.Open(db, dag.Options{Node: codec.NodeID{Lo: 1}, Now: w.clock})
			require.NoError(b, err)
			require.NoError(b, s.CreateContext(w.context, codec.ApplicationMeta{}))
			for i := 0; i < n; i += 256 {
				_, err := s.AddMany(bg, deltas[i:min(i+256, n)], engine.Synced)
				require.NoError(b, err)
			}
			require.NoError(b, s.Close())
			require.NoError(b, db.Close())
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/delta")
	})
	b.Run("signed", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			k := w.join("K")
			k.follow()
			w.nodes[0].govern(k, -1)
			b.StartTimer()
			for i := 0; i < n; i += 256 {
				answers, err := k.content.Offer(bg, w.context, envelopes[i:min(i+256, n)])
				require.NoError(b, err)
				require.Equal(b, content.Counts, answers[0].Kind)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/delta")
	})
}
