package buckettest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/subject"
)

func t35RevisionsCountBucketWide(t *testing.T, h *Host) {
	b, other := h.Made(bucket.Config{}), h.Made(bucket.Config{Name: "other"})
	require.EqualValues(t, 1, h.Write(b, "a", "x"))
	require.EqualValues(t, 1, h.Write(other, "a", "x"))
	require.EqualValues(t, 2, h.Write(b, "b", "x"))
	require.EqualValues(t, 3, h.Write(b, "a", "y"))
	e, err := b.Get(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, "3 put y", Said(e))
}

func t36T37CreateAndUpdate(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{History: 5})
	create := func(key string) error { _, err := b.Create(ctx, key, []byte("c"), bucket.PutOptions{}); return err }
	update := func(key string, revision uint64) error {
		_, err := b.Update(ctx, key, []byte("u"), revision, bucket.PutOptions{})
		return err
	}
	require.NoError(t, create("a"))
	require.EqualValues(t, 1, h.Refused(create("a"), bucket.CodeExists).Revision)
	_, err := b.Delete(ctx, "a", bucket.DeleteOptions{})
	require.NoError(t, err)
	require.NoError(t, create("a"), "after a deletion")
	_, err = b.Purge(ctx, "a", bucket.DeleteOptions{})
	require.NoError(t, err)
	require.NoError(t, create("a"), "after a purge")

	require.EqualValues(t, 5, h.Refused(update("a", 4), bucket.CodeRevisionMismatch).Revision)
	require.NoError(t, update("a", 5))
	require.NoError(t, update("new", 0))
	h.Refused(update("new", 0), bucket.CodeRevisionMismatch)
	_, err = b.Delete(ctx, "new", bucket.DeleteOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 8, h.Refused(update("new", 0), bucket.CodeRevisionMismatch).Revision, "0 after a deletion")
	require.NoError(t, update("new", 8))
}

func t38T39DeleteAndPurge(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{History: 5})
	h.Write(b, "a", "x")
	h.Refused(func() error {
		_, err := b.Delete(ctx, "a", bucket.DeleteOptions{Expect: true, Revision: 9})
		return err
	}(), bucket.CodeRevisionMismatch)
	revision, err := b.Delete(ctx, "a", bucket.DeleteOptions{Expect: true, Revision: 1})
	require.NoError(t, err)
	require.EqualValues(t, 2, revision)
	_, err = b.Get(ctx, "a")
	e := h.Refused(err, bucket.CodeNotFound)
	require.EqualValues(t, 2, e.Revision)
	require.Equal(t, "a", e.Key)
	require.Equal(t, []string{"1 put x", "2 delete"}, h.Told(b, "a"))
	revision, err = b.Delete(ctx, "never", bucket.DeleteOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 3, revision)
	h.Write(b, "a", "y")
	_, err = b.Purge(ctx, "a", bucket.DeleteOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"5 purge"}, h.Told(b, "a"))
	h.Write(b, "c", "z")
	require.Equal(t, []string{"c"}, h.Listed(b))
}

func t40T41HistoryAndRevisions(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{History: 64})
	for n := range 70 {
		h.Write(b, "a", fmt.Sprint(n))
	}
	list := h.Told(b, "a")
	require.Len(t, list, 64)
	require.Equal(t, "7 put 6", list[0])
	_, err := b.Delete(ctx, "a", bucket.DeleteOptions{})
	require.NoError(t, err)
	require.Equal(t, "8 put 7", h.Told(b, "a")[0], "markers count")
	h.Write(b, "b", "of another")
	e, err := b.At(ctx, "a", 20)
	require.NoError(t, err)
	require.Equal(t, "20 put 19", Said(e))
	for _, revision := range []uint64{0, 7, 72, 99} { // gone, another key's, none yet
		_, err = b.At(ctx, "a", revision)
		h.Refused(err, bucket.CodeNotFound)
	}
	_, err = h.Alter(ctx, bucket.Config{Name: "b", History: 3})
	require.NoError(t, err)
	b = h.Bucket("b")
	require.Equal(t, []string{"69 put 68", "70 put 69", "71 delete"}, h.Told(b, "a"), "at once")
	require.True(t, h.Clock.Until(func() bool { s, err := b.Status(ctx); return err == nil && s.Values == 4 }))
	_, err = h.Alter(ctx, bucket.Config{Name: "b", History: 5})
	require.NoError(t, err)
	require.Equal(t, []string{"69 put 68", "70 put 69", "71 delete"}, h.Told(h.Bucket("b"), "a"))
}

func t42PurgeDeletes(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{History: 3})
	for _, key := range []string{"a", "b", "c"} {
		h.Write(b, key, "x")
	}
	_, err := b.Delete(ctx, "a", bucket.DeleteOptions{})
	require.NoError(t, err)
	h.Clock.Pass(bucket.MarkersKept + time.Second)
	_, err = b.Delete(ctx, "b", bucket.DeleteOptions{})
	require.NoError(t, err)
	n, err := b.PurgeDeletes(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Empty(t, h.Told(b, "a"))
	require.Equal(t, []string{"5 delete"}, h.Told(b, "b"), "a young marker stays, and nothing before it")
	require.Equal(t, []string{"3 put x"}, h.Told(b, "c"))
	n, err = b.PurgeDeletes(ctx, -1)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	s, err := b.Status(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, s.Keys)
	require.EqualValues(t, 1, s.Values)
	require.Equal(t, []string{"c"}, h.Listed(b))
	_, err = b.Update(ctx, "a", nil, 0, bucket.PutOptions{})
	require.NoError(t, err, "nothing is kept of it")
}

func t43T44T45Values(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{History: 2, MaxValue: 4})
	h.Write(b, "a", "1234")
	_, err := b.Put(ctx, "a", []byte("12345"), bucket.PutOptions{})
	e := h.Refused(err, bucket.CodeValueTooLarge)
	require.EqualValues(t, 4, e.Limit)
	require.EqualValues(t, 5, e.Have)
	require.EqualValues(t, 2, h.Write(b, "empty", ""), "no revision was used")
	got, err := b.Get(ctx, "empty")
	require.NoError(t, err)
	require.Equal(t, bucket.OpPut, got.Op)
	require.NotNil(t, got.Value)
	h.Write(b, "a", "5")
	s, err := b.Status(ctx)
	require.NoError(t, err)
	require.Equal(t, bucket.Status{Info: h.Info(b), Revision: 3, Keys: 2, Values: 3, Bytes: uint64(len("a5empty"))}, s)
	_, err = h.Alter(ctx, bucket.Config{Name: "b", History: 2, MaxValue: 1})
	require.NoError(t, err)
	_, err = h.Bucket("b").Put(ctx, "a", []byte("12"), bucket.PutOptions{})
	h.Refused(err, bucket.CodeValueTooLarge)
	e2, err := h.Bucket("b").At(ctx, "a", 1)
	require.NoError(t, err)
	require.Equal(t, "1234", string(e2.Value), "what is there is readable")
}

func t50KeysAreChecked(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{})
	for _, key := range []string{"", ".a", "a.", "a..b", "a b", "a*", "a>", "ü", "$x", "a:b"} {
		_, err := b.Put(ctx, key, nil, bucket.PutOptions{})
		h.Refused(err, bucket.CodeInvalidArgument)
		_, err = b.Get(ctx, key)
		h.Refused(err, bucket.CodeInvalidArgument)
		_, err = b.Delete(ctx, key, bucket.DeleteOptions{})
		h.Refused(err, bucket.CodeInvalidArgument)
		_, err = b.History(ctx, key)
		h.Refused(err, bucket.CodeInvalidArgument)
	}
	for _, key := range []string{"a/b", "a=b", "-_.x"} {
		h.Write(b, key, "x")
	}
}

// What is no property of the patch stays; arrays are replaced, null removes.
func t64Merge(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{History: 3, MaxValue: 64})
	_, err := b.Put(ctx, "a", []byte(`{ "deep":{"x":1,"y":[1,2]}, "gone":1, "stays":"s" }`), bucket.PutOptions{TTL: time.Minute})
	require.NoError(t, err)
	before, err := b.Get(ctx, "a")
	require.NoError(t, err)
	revision, err := b.Merge(ctx, "a", []byte(`{"deep":{"y":[3],"z":{}},"gone":null}`), bucket.MergeOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 2, revision)
	e, err := b.Get(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, `{"deep":{"x":1,"y":[3],"z":{}},"stays":"s"}`, string(e.Value))
	require.Equal(t, before.Expires, e.Expires, "it lasts as long as before")
	_, err = b.Merge(ctx, "a", []byte(`{}`), bucket.MergeOptions{Expect: true, Revision: 1})
	require.EqualValues(t, 2, h.Refused(err, bucket.CodeRevisionMismatch).Revision)
	_, err = b.Merge(ctx, "a", []byte(`{"deep":null}`), bucket.MergeOptions{Expect: true, Revision: 2, PutOptions: bucket.PutOptions{TTL: time.Second}})
	require.NoError(t, err)
	e, err = b.Get(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, `{"stays":"s"}`, string(e.Value))
	require.True(t, e.Expires.Before(before.Expires))

	for _, patch := range []string{"", "[]", "null", "{", `{"a":1,"a":2}`} {
		_, err = b.Merge(ctx, "a", []byte(patch), bucket.MergeOptions{})
		require.Equal(t, "patch", h.Refused(err, bucket.CodeInvalidArgument).Field, patch)
	}
	_, err = b.Merge(ctx, "a", []byte(`{"long":"0123456789012345678901234567890123456789012345678901234"}`), bucket.MergeOptions{})
	h.Refused(err, bucket.CodeValueTooLarge)
	_, err = b.Merge(ctx, "none", []byte(`{}`), bucket.MergeOptions{})
	h.Refused(err, bucket.CodeNotFound)
	_, err = b.Merge(ctx, "no key", []byte(`{}`), bucket.MergeOptions{})
	h.Refused(err, bucket.CodeInvalidArgument)
	for _, value := range []string{"", "text", "[]", "1"} {
		at := h.Write(b, "other", value)
		_, err = b.Merge(ctx, "other", []byte(`{}`), bucket.MergeOptions{})
		require.Equal(t, at, h.Refused(err, bucket.CodeValidation).Revision, value)
	}
	_, err = b.Delete(ctx, "a", bucket.DeleteOptions{})
	require.NoError(t, err)
	_, err = b.Merge(ctx, "a", []byte(`{}`), bucket.MergeOptions{})
	h.Refused(err, bucket.CodeNotFound)
}

// What comes of it holds to the schema, or nothing does.
func t64AMergeHoldsToTheSchema(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{Schema: json.RawMessage(`{"type":"object","required":["who"]}`)})
	h.Write(b, "a", `{"who":"ann"}`)
	_, err := b.Merge(ctx, "a", []byte(`{"who":null}`), bucket.MergeOptions{})
	h.Refused(err, bucket.CodeValidation)
	_, err = b.Merge(ctx, "a", []byte(`{"did":"read"}`), bucket.MergeOptions{})
	require.NoError(t, err)
	_, err = b.Merge(ctx, "a", []byte(`{"who":null}`), bucket.MergeOptions{PutOptions: bucket.PutOptions{Raw: true}})
	require.NoError(t, err)
	e, err := b.Get(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, `{"did":"read"}`, string(e.Value))
}

func t32T33ValuesHoldToTheSchema(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{Schema: []byte(NamedSchema)})
	require.EqualValues(t, 1, h.Write(b, "a", `{"name":"x"}`))
	for _, value := range []string{`{"name":5}`, `{}`, `5`, `{`, ""} {
		_, err := b.Put(ctx, "a", []byte(value), bucket.PutOptions{})
		h.Refused(err, bucket.CodeValidation)
	}
	_, err := b.Put(ctx, "a", []byte(`{"name":5}`), bucket.PutOptions{})
	require.Equal(t, "/name", h.Refused(err, bucket.CodeValidation).Pointer)
	revision, err := b.Put(ctx, "a", []byte(`{"name":5}`), bucket.PutOptions{Raw: true})
	require.NoError(t, err)
	require.EqualValues(t, 2, revision, "what was refused used no revision")
	_, err = b.GetTyped(ctx, "a")
	e := h.Refused(err, bucket.CodeValidation)
	require.EqualValues(t, 2, e.Revision)
	require.Equal(t, "a", e.Key)
	_, err = b.Get(ctx, "a")
	require.NoError(t, err)
}

// A value of few bytes that is held to a schema in too many ways is refused by the bucket, as by
// the plan of a contract.
func t32AValueOfTooManyWaysIsRefused(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{Schema: []byte(`{"anyOf":[{"items":{"$ref":"#"},"maxItems":0},{"items":{"$ref":"#"},"type":"array","maxItems":0}],"type":["array"]}`)})
	_, err := b.Put(ctx, "a", []byte(strings.Repeat("[", 100)+"1"+strings.Repeat("]", 100)), bucket.PutOptions{})
	require.Contains(t, h.Refused(err, bucket.CodeValidation).Reason, "steps")
}

func t55T56T57KeysByFilters(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{})
	for _, key := range []string{"own1.a", "own1.a.b", "own2.a", "cat.own1", "cat.own1.x", "cat.own1.y.z", "dog.own2.x", "x"} {
		h.Write(b, key, "v")
	}
	for filter, want := range map[string][]string{
		"own1.*": {"own1.a"}, "cat.own1.>": {"cat.own1.x", "cat.own1.y.z"}, "cat.own1": {"cat.own1"}, "*.*.x": {"cat.own1.x", "dog.own2.x"},
		"*.a": {"own1.a", "own2.a"}, "c*.x": nil, "*": {"x"}, "none": nil, "x": {"x"},
	} {
		require.Equal(t, want, h.Listed(b, filter), filter)
	}
	require.Len(t, h.Listed(b), 8)
	require.Equal(t, []string{"dog.own2.x", "own2.a"}, h.Listed(b, "own2.>", "dog.>", "*.own2.*"))
	_, err := b.Delete(ctx, "dog.own2.x", bucket.DeleteOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"cat.own1.x"}, h.Listed(b, "*.*.x"))
	for _, filter := range []string{"a..b", ">.a", "a.>.b", ""} {
		for _, err := range b.Keys(ctx, filter) {
			h.Refused(err, bucket.CodeInvalidArgument)
		}
	}
}

func t54ByItsIdentifier(t *testing.T, h *Host) {
	ids := subject.NewIDs(rand.Reader)
	b := h.Made(bucket.Config{})
	var last string
	for range 100 {
		id, err := ids.New(h.Clock.Now())
		require.NoError(t, err)
		require.Greater(t, id, last)
		last = id
		h.Write(b, "notes."+id, id)
	}
	e, err := b.Get(ctx, "notes."+last)
	require.NoError(t, err)
	require.Equal(t, last, string(e.Value))
	require.Equal(t, []string{"notes." + last}, h.Listed(b, "*."+last))
}

// A list is what there was when it began, and holds up nobody.
func t58AListIsOfOneMoment(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{})
	const keys = 20_000
	for from := 0; from < keys; from += bucket.MaxChanges {
		var list []bucket.Change
		for n := from; n < from+bucket.MaxChanges; n++ {
			list = append(list, bucket.Change{Name: bucket.Name{Bucket: "b"}, Op: bucket.OpPut, Key: fmt.Sprintf("k%05d", n), Value: []byte("x")})
		}
		do, err := h.Store.Batch(tenant, list, true)
		require.NoError(t, err)
		require.NoError(t, h.KV.Update(ctx, engine.WAL, do))
	}
	n := 0
	for key, err := range b.Keys(ctx) {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("k%05d", n), key)
		if n++; n == 1 {
			_, err = b.Delete(ctx, fmt.Sprintf("k%05d", keys-1), bucket.DeleteOptions{})
			require.NoError(t, err)
			h.Write(b, "k99999", "x")
		}
	}
	require.Equal(t, keys, n)
}
