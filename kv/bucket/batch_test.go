package bucket_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	. "github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/buckettest"
)

// batch makes changes of the tenant t in a batch.
func batch(h *buckettest.Host, list ...Change) error {
	do, err := h.Store.Batch("t", list, false)
	if err != nil {
		return err
	}
	return h.KV.Update(ctx, engine.WAL, do)
}

func at(revision uint64) *uint64 { return &revision }

func TestABatchChangesSeveralBuckets(t *testing.T) {
	h := open(t)
	a, b := h.Made(Config{Name: "a", History: 9, Schema: []byte(buckettest.NamedSchema)}), h.Made(Config{Name: "b", History: 9})
	inA, inB := Name{Bucket: "a"}, Name{Bucket: "b"}
	require.NoError(t, batch(h,
		Change{Name: inA, Op: OpPut, Key: "k", Value: []byte(`{"name":"x"}`)},
		Change{Name: inB, Op: OpPut, Key: "k", Value: []byte("1"), Revision: at(0)},
		Change{Name: inA, Op: OpPut, Key: "raw", Value: []byte(`5`), Raw: true},
		Change{Name: inB, Op: OpPut, Key: "k", Value: []byte("2"), Revision: at(1)},
		Change{Name: inB, Op: OpPut, Key: "short", TTL: time.Second},
		Change{Name: inB, Op: OpDelete, Key: "k", Revision: at(2)},
		Change{Name: inB, Op: OpPut, Key: "p", Value: []byte("3")},
		Change{Name: inB, Op: OpPut, Key: "p", Value: []byte("4")},
		Change{Name: inB, Op: OpPurge, Key: "p", Revision: at(6)},
		Change{Name: inB, Op: OpPut, Key: "q", Value: []byte("5")},
		Change{Name: inB, Op: OpDelete, Key: "q"},
		Change{Name: inB, Op: OpPurge, Key: "q"},
	))
	require.Equal(t, []string{`1 put {"name":"x"}`}, h.Told(a, "k"))
	require.Equal(t, []string{"2 put 5"}, h.Told(a, "raw"))
	require.Equal(t, []string{"1 put 1", "2 put 2", "4 delete"}, h.Told(b, "k"))
	require.Equal(t, []string{"7 purge"}, h.Told(b, "p"))
	require.Equal(t, []string{"10 purge"}, h.Told(b, "q"))
	require.Equal(t, []string{"short"}, h.Listed(b))
	require.True(t, h.Clock.Until(func() bool { return len(h.Listed(b)) == 0 }))
}

func TestABatchThatIsRefusedChangesNothing(t *testing.T) {
	h := open(t)
	b := h.Made(Config{Schema: []byte(buckettest.NamedSchema)})
	name, good := Name{Bucket: "b"}, []byte(`{"name":"x"}`)
	h.Write(b, "there", string(good))
	for want, c := range map[Code][]Change{
		CodeInvalidArgument: {
			{Name: name, Key: "k", Value: good},
			{Name: name, Op: OpExpire, Key: "k"},
			{Name: name, Op: OpDelete, Key: "there", Value: good},
			{Name: name, Op: OpDelete, Key: "there", TTL: time.Second},
			{Name: name, Op: OpPurge, Key: "there", Raw: true},
			{Name: Name{Bucket: "b", Alias: "b"}, Op: OpPut, Key: "k", Value: good},
			{Name: name, Op: OpPut, Key: "a b", Value: good},
		},
		CodeNotFound:  {{Name: Name{Bucket: "none"}, Op: OpPut, Key: "k", Value: good}},
		CodeForbidden: {{Name: Name{Service: "activity", Bucket: "b"}, Op: OpPut, Key: "k", Value: good}},
		CodeRevisionMismatch: {
			{Name: name, Op: OpPut, Key: "there", Value: good, Revision: at(0)},
			{Name: name, Op: OpPut, Key: "there", Value: good, Revision: at(3)},
			{Name: name, Op: OpDelete, Key: "there", Revision: at(3)},
			{Name: name, Op: OpPurge, Key: "there", Revision: at(3)},
		},
		CodeValidation: {{Name: name, Op: OpPut, Key: "there", Value: []byte(`5`)}},
	} {
		for _, last := range c {
			h.Refused(batch(h, Change{Name: name, Op: OpPut, Key: "first", Value: good}, last), want)
		}
	}
	e := h.Refused(batch(h, make([]Change, MaxChanges+1)...), CodeTooMany)
	require.EqualValues(t, MaxChanges, e.Limit)
	require.Equal(t, []string{"there"}, h.Listed(b))
	// Nor does it where what else is to be done fails.
	do, err := h.Store.Batch("t", []Change{{Name: name, Op: OpPut, Key: "first", Value: good}}, false)
	require.NoError(t, err)
	require.ErrorIs(t, h.KV.Update(ctx, engine.WAL, func(w *kv.Work) error {
		require.NoError(t, do(w))
		return kv.ErrBusy
	}), kv.ErrBusy)
	require.Equal(t, []string{"there"}, h.Listed(b))
	require.NoError(t, h.KV.Update(ctx, engine.WAL, do), "it can be run again")
	require.Equal(t, []string{"first", "there"}, h.Listed(b))
}
