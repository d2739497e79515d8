package stream

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket"
)

// newest is a projection to a bucket of what was last said of each subject; what is empty ends
// that something is said of it.
func newest(b *bucket.Bucket) Projection {
	return func(w *kv.Work, e Entry) error {
		into, err := b.In(w)
		if err != nil {
			return err
		}
		if len(e.Payload) == 0 {
			_, err = into.Delete(e.Subject, bucket.DeleteOptions{})
		} else {
			_, err = into.Put(e.Subject, fmt.Appendf(nil, "%d %s", e.Number, e.Payload), bucket.PutOptions{})
		}
		return err
	}
}

// A bucket that a stream is projected to is the same as one that it is projected to anew, from its
// first entry on.
func TestT66ABucketFromAStreamIsTheSameFromTheFirstEntryOn(t *testing.T) {
	h := newHost(t)
	buckets, err := bucket.New(h.kv, bucket.Options{})
	require.NoError(t, err)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "newest", Filter: "accounts.*"})
	random := enginetest.Random(t)
	for range 100 {
		_, err := h.Publish(ctx, engine.WAL, "s", AppendOptions{},
			Message{fmt.Sprint("accounts.", random.IntN(9)), bytes.Repeat([]byte("x"), random.IntN(3))}, Message{"other", nil})
		require.NoError(t, err)
	}
	var all [2]map[string]string
	for i, name := range []string{"newest", "anew"} {
		_, err := buckets.Create(ctx, "t", bucket.Config{Name: name})
		require.NoError(t, err)
		b, err := buckets.Open("t", name)
		require.NoError(t, err)
		require.NoError(t, c.Replay(ctx, engine.WAL, Start{}))
		h.project(c, 200, newest(b))
		all[i] = map[string]string{}
		for key, err := range b.Keys(ctx) {
			require.NoError(t, err)
			e, err := b.Get(key)
			require.NoError(t, err)
			all[i][key] = fmt.Sprint(e.Revision, " ", string(e.Value))
		}
	}
	require.NotEmpty(t, all[0])
	require.Equal(t, all[0], all[1])
	require.Zero(t, h.info(c).Dead)
}
