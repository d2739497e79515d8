package bucket_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	. "github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/buckettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

func TestRows(t *testing.T) { buckettest.Run(t, buckettest.InProcess) }

func open(t testing.TB) *buckettest.Host { return buckettest.Open(t, buckettest.InProcess) }

// made is a bucket that is made, as the process has it.
func made(t testing.TB, h *buckettest.Host, c Config) *Bucket {
	_, err := h.Create(ctx, c)
	require.NoError(t, err)
	b, err := h.Store.Open("t", c.Name)
	require.NoError(t, err)
	return b
}

func TestBucketsAreMadeAndDropped(t *testing.T) {
	h := open(t)
	b := made(t, h, Config{Name: "one", Service: "activity", Alias: "activity"})
	h.Write(h.Bucket("one"), "a", "x")
	_, err := h.Create(ctx, Config{Name: "one"})
	h.Refused(err, CodeExists)
	_, err = h.Store.Create(ctx, "other", Config{Name: "one"})
	require.NoError(t, err)
	for _, c := range []Config{{}, {Name: "a.b"}, {Name: "a", History: 65}, {Name: "a", History: -1}, {Name: "a", TTL: -1}, {Name: "a", TTL: 5}, {Name: "a", MaxValue: MaxValue + 1}, {Name: "a", Schema: []byte(`{"type":5}`)}} {
		_, err := h.Create(ctx, c)
		h.Refused(err, CodeInvalidArgument)
	}
	_, err = h.Store.OpenFor("t", "billing", "one")
	h.Refused(err, CodeForbidden)
	_, err = h.Store.OpenFor("t", "activity", "one")
	require.NoError(t, err)
	h.Restart()
	list, err := h.List(ctx)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, b.Info, list[0])
	require.NoError(t, h.Drop(ctx, "one"))
	_, err = h.Store.Open("t", "one")
	h.Refused(err, CodeNotFound)
	h.Refused(h.Drop(ctx, "one"), CodeNotFound)
	h.Refused(h.Store.Drop(ctx, "nobody", "one"), CodeNotFound)
	old := made(t, h, Config{Name: "one"})
	require.Empty(t, h.Listed(h.Bucket("one")), "it is another")
	require.NoError(t, h.Drop(ctx, "one"))
	_, err = old.Put(ctx, "a", nil, PutOptions{})
	h.Refused(err, CodeNotFound)
	_, err = old.Get("a")
	require.Equal(t, "bucket", h.Refused(err, CodeNotFound).Field)
}

func TestChangesOfSeveralBucketsLandTogether(t *testing.T) {
	h := open(t)
	a, b := made(t, h, Config{Name: "a"}), made(t, h, Config{Name: "b"})
	both := func(last uint64) error {
		return h.KV.Update(ctx, engine.WAL, func(w *kv.Work) error {
			in, err := a.In(w)
			require.NoError(t, err)
			if _, err := in.Put("k", []byte("x"), PutOptions{}); err != nil {
				return err
			}
			if in, err = b.In(w); err != nil {
				return err
			}
			_, err = in.Update("k", []byte("x"), last, PutOptions{})
			return err
		})
	}
	require.NoError(t, both(0))
	h.Refused(both(0), CodeRevisionMismatch)
	require.Equal(t, []string{"1 put x"}, h.Told(h.Bucket("a"), "k"))
}

// What is put in a unit of work is checked as what is put by itself.
func TestT50KeysAreCheckedInAUnitOfWork(t *testing.T) {
	h := open(t)
	b := made(t, h, Config{Name: "b"})
	h.Refused(h.KV.Update(ctx, engine.WAL, func(w *kv.Work) error {
		in, err := b.In(w)
		require.NoError(t, err)
		_, err = in.Put("a b", nil, PutOptions{})
		return err
	}), CodeInvalidArgument)
}
