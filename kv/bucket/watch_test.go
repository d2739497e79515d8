package bucket_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	. "github.com/stoadb/stoa/kv/bucket"
)

// A bucket with more revisions than a watch puts in order at a time is told in order all the
// same.
func TestT59ManyKeysAreToldInOrder(t *testing.T) {
	h := open(t)
	b := made(t, h, Config{Name: "b", History: 2})
	const keys = 40_000 // twice
	for range 2 {
		for from := 0; from < keys; from += 1000 {
			require.NoError(t, h.KV.Update(ctx, engine.WAL, func(w *kv.Work) error {
				in, err := b.In(w)
				for n := from; n < from+1000 && err == nil; n++ {
					_, err = in.Put(fmt.Sprint("k", n*7919%keys), nil, PutOptions{})
				}
				return err
			}))
		}
	}
	for _, history := range []bool{false, true} {
		last, n := uint64(0), 0
		for e, err := range b.Watch(ctx, WatchOptions{History: history}) {
			require.NoError(t, err)
			if e.Kind == EventInitDone {
				break
			}
			require.Greater(t, e.Revision, last)
			last, n = e.Revision, n+1
		}
		require.EqualValues(t, 2*keys, last)
		if history {
			require.Equal(t, 2*keys, n)
		} else {
			require.Equal(t, keys, n)
		}
	}
}
