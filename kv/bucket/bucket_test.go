package bucket_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	. "github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

// host is buckets on an engine in memory, with a clock by hand.
type host struct {
	t     testing.TB
	db    engine.Engine
	clock *kvtest.Clock
	kv    *kv.Store
	*Store
}

func open(t testing.TB) *host {
	h := &host{t: t, db: mem.New(), clock: kvtest.New()}
	h.start()
	t.Cleanup(func() {
		h.stop()
		require.NoError(t, h.db.Close())
	})
	return h
}

func (h *host) start() {
	var err error
	h.kv, err = kv.Open(h.db, kv.Options{Clock: h.clock})
	require.NoError(h.t, err)
	h.Store, err = New(h.kv, Options{})
	require.NoError(h.t, err)
}

// stop checks the rows, and ends the process.
func (h *host) stop() {
	h.sound()
	require.NoError(h.t, h.kv.Close())
}

func (h *host) sound() {
	h.t.Helper()
	for f, err := range h.kv.Check(ctx) {
		require.NoError(h.t, err)
		require.Fail(h.t, "the check finds", f.String())
	}
}

// bucket makes a bucket of the tenant t.
func (h *host) bucket(c Config) *Bucket {
	h.t.Helper()
	if c.Name == "" {
		c.Name = "b"
	}
	_, err := h.Create(ctx, "t", c)
	require.NoError(h.t, err)
	return h.open(c.Name)
}

func (h *host) open(name string) *Bucket {
	h.t.Helper()
	b, err := h.Open("t", name)
	require.NoError(h.t, err)
	return b
}

func (h *host) put(b *Bucket, key, value string) uint64 {
	h.t.Helper()
	revision, err := b.Put(ctx, key, []byte(value), PutOptions{})
	require.NoError(h.t, err)
	return revision
}

// history is the revisions of a key, as "1 put x".
func (h *host) history(b *Bucket, key string) (list []string) {
	h.t.Helper()
	entries, err := b.History(key)
	require.NoError(h.t, err)
	for _, e := range entries {
		list = append(list, said(e))
	}
	return list
}

func said(e Entry) string {
	text := fmt.Sprint(e.Revision, " ", e.Op)
	if e.Op == OpPut {
		text += " " + string(e.Value)
	}
	return text
}

func (h *host) refused(err error, code Code) *Error {
	h.t.Helper()
	var e *Error
	require.ErrorAs(h.t, err, &e)
	require.Equal(h.t, code, e.Code, "%v", err)
	return e
}

func (h *host) keys(b *Bucket, filters ...string) (list []string) {
	h.t.Helper()
	for key, err := range b.Keys(ctx, filters...) {
		require.NoError(h.t, err)
		list = append(list, key)
	}
	return list
}

func TestT35RevisionsCountBucketWide(t *testing.T) {
	h := open(t)
	b, other := h.bucket(Config{}), h.bucket(Config{Name: "other"})
	require.EqualValues(t, 1, h.put(b, "a", "x"))
	require.EqualValues(t, 1, h.put(other, "a", "x"))
	require.EqualValues(t, 2, h.put(b, "b", "x"))
	require.EqualValues(t, 3, h.put(b, "a", "y"))
	e, err := b.Get("a")
	require.NoError(t, err)
	require.Equal(t, "3 put y", said(e))
}

func TestT36T37CreateAndUpdate(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{History: 5})
	create := func(key string) error { _, err := b.Create(ctx, key, []byte("c"), PutOptions{}); return err }
	update := func(key string, revision uint64) error {
		_, err := b.Update(ctx, key, []byte("u"), revision, PutOptions{})
		return err
	}
	require.NoError(t, create("a"))
	require.EqualValues(t, 1, h.refused(create("a"), CodeExists).Revision)
	_, err := b.Delete(ctx, "a", DeleteOptions{})
	require.NoError(t, err)
	require.NoError(t, create("a"), "after a deletion")
	_, err = b.Purge(ctx, "a", DeleteOptions{})
	require.NoError(t, err)
	require.NoError(t, create("a"), "after a purge")

	require.EqualValues(t, 5, h.refused(update("a", 4), CodeRevisionMismatch).Revision)
	require.NoError(t, update("a", 5))
	require.NoError(t, update("new", 0))
	h.refused(update("new", 0), CodeRevisionMismatch)
	_, err = b.Delete(ctx, "new", DeleteOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 8, h.refused(update("new", 0), CodeRevisionMismatch).Revision, "0 after a deletion")
	require.NoError(t, update("new", 8))
}

func TestT38T39DeleteAndPurge(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{History: 5})
	h.put(b, "a", "x")
	h.refused(func() error { _, err := b.Delete(ctx, "a", DeleteOptions{Expect: true, Revision: 9}); return err }(), CodeRevisionMismatch)
	revision, err := b.Delete(ctx, "a", DeleteOptions{Expect: true, Revision: 1})
	require.NoError(t, err)
	require.EqualValues(t, 2, revision)
	_, err = b.Get("a")
	e := h.refused(err, CodeNotFound)
	require.EqualValues(t, 2, e.Revision)
	require.Equal(t, "a", e.Key)
	require.Equal(t, []string{"1 put x", "2 delete"}, h.history(b, "a"))
	revision, err = b.Delete(ctx, "never", DeleteOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 3, revision)
	h.put(b, "a", "y")
	_, err = b.Purge(ctx, "a", DeleteOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"5 purge"}, h.history(b, "a"))
	h.put(b, "c", "z")
	require.Equal(t, []string{"c"}, h.keys(b))
}

func TestT40T41HistoryAndRevisions(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{History: 64})
	for n := range 70 {
		h.put(b, "a", fmt.Sprint(n))
	}
	list := h.history(b, "a")
	require.Len(t, list, 64)
	require.Equal(t, "7 put 6", list[0])
	_, err := b.Delete(ctx, "a", DeleteOptions{})
	require.NoError(t, err)
	require.Equal(t, "8 put 7", h.history(b, "a")[0], "markers count")
	h.put(b, "b", "of another")
	e, err := b.At("a", 20)
	require.NoError(t, err)
	require.Equal(t, "20 put 19", said(e))
	for _, revision := range []uint64{0, 7, 72, 99} { // gone, another key's, none yet
		_, err = b.At("a", revision)
		h.refused(err, CodeNotFound)
	}
	_, err = h.Alter(ctx, "t", Config{Name: "b", History: 3})
	require.NoError(t, err)
	b = h.open("b")
	require.Equal(t, []string{"69 put 68", "70 put 69", "71 delete"}, h.history(b, "a"), "at once")
	require.True(t, h.clock.Until(func() bool { s, err := b.Status(); return err == nil && s.Values == 4 }))
	_, err = h.Alter(ctx, "t", Config{Name: "b", History: 5})
	require.NoError(t, err)
	require.Equal(t, []string{"69 put 68", "70 put 69", "71 delete"}, h.history(h.open("b"), "a"))
}

func TestT42PurgeDeletes(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{History: 3})
	for _, key := range []string{"a", "b", "c"} {
		h.put(b, key, "x")
	}
	_, err := b.Delete(ctx, "a", DeleteOptions{})
	require.NoError(t, err)
	h.clock.Pass(MarkersKept + time.Second)
	_, err = b.Delete(ctx, "b", DeleteOptions{})
	require.NoError(t, err)
	n, err := b.PurgeDeletes(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Empty(t, h.history(b, "a"))
	require.Equal(t, []string{"5 delete"}, h.history(b, "b"), "a young marker stays, and nothing before it")
	require.Equal(t, []string{"3 put x"}, h.history(b, "c"))
	n, err = b.PurgeDeletes(ctx, -1)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	s, err := b.Status()
	require.NoError(t, err)
	require.EqualValues(t, 1, s.Keys)
	require.EqualValues(t, 1, s.Values)
	require.Equal(t, []string{"c"}, h.keys(b))
	_, err = b.Update(ctx, "a", nil, 0, PutOptions{})
	require.NoError(t, err, "nothing is kept of it")
}

func TestT43T44T45Values(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{History: 2, MaxValue: 4})
	h.put(b, "a", "1234")
	_, err := b.Put(ctx, "a", []byte("12345"), PutOptions{})
	e := h.refused(err, CodeValueTooLarge)
	require.EqualValues(t, 4, e.Limit)
	require.EqualValues(t, 5, e.Have)
	require.EqualValues(t, 2, h.put(b, "empty", ""), "no revision was used")
	got, err := b.Get("empty")
	require.NoError(t, err)
	require.Equal(t, OpPut, got.Op)
	require.NotNil(t, got.Value)
	h.put(b, "a", "5")
	s, err := b.Status()
	require.NoError(t, err)
	require.Equal(t, Status{Info: b.Info, Revision: 3, Keys: 2, Values: 3, Bytes: uint64(len("a5empty"))}, s)
	_, err = h.Alter(ctx, "t", Config{Name: "b", History: 2, MaxValue: 1})
	require.NoError(t, err)
	_, err = h.open("b").Put(ctx, "a", []byte("12"), PutOptions{})
	h.refused(err, CodeValueTooLarge)
	e2, err := h.open("b").At("a", 1)
	require.NoError(t, err)
	require.Equal(t, "1234", string(e2.Value), "what is there is readable")
}

// What is no property of the patch stays; arrays are replaced, null removes.
func TestT64Merge(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{History: 3, MaxValue: 64})
	_, err := b.Put(ctx, "a", []byte(`{ "deep":{"x":1,"y":[1,2]}, "gone":1, "stays":"s" }`), PutOptions{TTL: time.Minute})
	require.NoError(t, err)
	before, err := b.Get("a")
	require.NoError(t, err)
	revision, err := b.Merge(ctx, "a", []byte(`{"deep":{"y":[3],"z":{}},"gone":null}`), MergeOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 2, revision)
	e, err := b.Get("a")
	require.NoError(t, err)
	require.Equal(t, `{"deep":{"x":1,"y":[3],"z":{}},"stays":"s"}`, string(e.Value))
	require.Equal(t, before.Expires, e.Expires, "it lasts as long as before")
	_, err = b.Merge(ctx, "a", []byte(`{}`), MergeOptions{Expect: true, Revision: 1})
	require.EqualValues(t, 2, h.refused(err, CodeRevisionMismatch).Revision)
	_, err = b.Merge(ctx, "a", []byte(`{"deep":null}`), MergeOptions{Expect: true, Revision: 2, PutOptions: PutOptions{TTL: time.Second}})
	require.NoError(t, err)
	e, err = b.Get("a")
	require.NoError(t, err)
	require.Equal(t, `{"stays":"s"}`, string(e.Value))
	require.True(t, e.Expires.Before(before.Expires))

	for _, patch := range []string{"", "[]", "null", "{", `{"a":1,"a":2}`} {
		_, err = b.Merge(ctx, "a", []byte(patch), MergeOptions{})
		require.Equal(t, "patch", h.refused(err, CodeInvalidArgument).Field, patch)
	}
	_, err = b.Merge(ctx, "a", []byte(`{"long":"0123456789012345678901234567890123456789012345678901234"}`), MergeOptions{})
	h.refused(err, CodeValueTooLarge)
	_, err = b.Merge(ctx, "none", []byte(`{}`), MergeOptions{})
	h.refused(err, CodeNotFound)
	_, err = b.Merge(ctx, "no key", []byte(`{}`), MergeOptions{})
	h.refused(err, CodeInvalidArgument)
	for _, value := range []string{"", "text", "[]", "1"} {
		at := h.put(b, "other", value)
		_, err = b.Merge(ctx, "other", []byte(`{}`), MergeOptions{})
		require.Equal(t, at, h.refused(err, CodeValidation).Revision, value)
	}
	_, err = b.Delete(ctx, "a", DeleteOptions{})
	require.NoError(t, err)
	_, err = b.Merge(ctx, "a", []byte(`{}`), MergeOptions{})
	h.refused(err, CodeNotFound)
}

// What comes of it holds to the schema, or nothing does.
func TestT64AMergeHoldsToTheSchema(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{Schema: json.RawMessage(`{"type":"object","required":["who"]}`)})
	h.put(b, "a", `{"who":"ann"}`)
	_, err := b.Merge(ctx, "a", []byte(`{"who":null}`), MergeOptions{})
	h.refused(err, CodeValidation)
	_, err = b.Merge(ctx, "a", []byte(`{"did":"read"}`), MergeOptions{})
	require.NoError(t, err)
	_, err = b.Merge(ctx, "a", []byte(`{"who":null}`), MergeOptions{PutOptions: PutOptions{Raw: true}})
	require.NoError(t, err)
	e, err := b.Get("a")
	require.NoError(t, err)
	require.Equal(t, `{"did":"read"}`, string(e.Value))
}

func TestT46T47TimesToLiveOfABucket(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{TTL: 2 * time.Second, History: 3})
	h.put(b, "a", "x")
	h.put(b, "rewritten", "x")
	h.clock.Pass(1500 * time.Millisecond)
	h.put(b, "rewritten", "y")
	_, err := b.Get("a")
	require.NoError(t, err)
	h.clock.Pass(time.Second)
	_, err = b.Get("a")
	h.refused(err, CodeNotFound)
	_, err = b.Get("rewritten")
	require.NoError(t, err)
	h.clock.Pass(time.Second + time.Millisecond) // nothing expires early
	_, err = b.Get("rewritten")
	h.refused(err, CodeNotFound)
	require.Empty(t, h.history(b, "rewritten"))

	late := h.bucket(Config{Name: "late"})
	h.put(late, "old", "x")
	h.clock.Pass(time.Minute)
	h.put(late, "new", "x")
	_, err = h.Alter(ctx, "t", Config{Name: "late", TTL: 30 * time.Second})
	require.NoError(t, err)
	late = h.open("late")
	require.True(t, h.clock.Until(func() bool { _, err := late.Get("old"); return errors.Is(err, ErrNotFound) }))
	e, err := late.Get("new")
	require.NoError(t, err)
	require.Equal(t, e.Created.Add(30*time.Second), e.Expires)
	_, err = h.Alter(ctx, "t", Config{Name: "late"})
	require.NoError(t, err)
	require.True(t, h.clock.Until(func() bool { e, err := late.Get("new"); return err == nil && e.Expires.IsZero() }))
}

func TestT49TimesToLiveOfKeys(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{History: 2})
	revision, err := b.Create(ctx, "a", []byte("x"), PutOptions{TTL: 10 * time.Second})
	require.NoError(t, err)
	h.clock.Pass(6 * time.Second)
	revision, err = b.Update(ctx, "a", []byte("y"), revision, PutOptions{})
	require.NoError(t, err)
	e, err := b.Get("a")
	require.NoError(t, err)
	require.Equal(t, h.kv.Now().Add(4*time.Second+time.Millisecond), e.Expires, "an update keeps it")
	expires, err := b.Touch(ctx, "a", 10*time.Second, engine.WAL)
	require.NoError(t, err)
	e, err = b.Get("a")
	require.NoError(t, err)
	require.Equal(t, expires, e.Expires)
	require.Equal(t, revision, e.Revision, "the value has the revision that it had")
	h.clock.Pass(9 * time.Second)
	_, err = b.Get("a")
	require.NoError(t, err)
	revision, err = b.Update(ctx, "a", []byte("z"), revision, PutOptions{TTL: time.Hour})
	require.NoError(t, err)
	h.clock.Pass(time.Minute)
	_, err = b.Get("a")
	require.NoError(t, err)
	_, err = b.Touch(ctx, "a", 0, engine.WAL)
	require.NoError(t, err)
	_, err = b.Update(ctx, "a", []byte("z"), revision, PutOptions{})
	require.NoError(t, err)
	e, err = b.Get("a")
	require.NoError(t, err)
	require.Zero(t, e.Expires)
	_, err = b.Touch(ctx, "none", time.Second, engine.WAL)
	h.refused(err, CodeNotFound)
	short := h.bucket(Config{Name: "short", TTL: time.Minute})
	_, err = short.Put(ctx, "a", nil, PutOptions{TTL: time.Hour})
	h.refused(err, CodeInvalidArgument)
}

func TestT50KeysAreChecked(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{})
	for _, key := range []string{"", ".a", "a.", "a..b", "a b", "a*", "a>", "ü", "$x", "a:b"} {
		_, err := b.Put(ctx, key, nil, PutOptions{})
		h.refused(err, CodeInvalidArgument)
		_, err = b.Get(key)
		h.refused(err, CodeInvalidArgument)
		_, err = b.Delete(ctx, key, DeleteOptions{})
		h.refused(err, CodeInvalidArgument)
		_, err = b.History(key)
		h.refused(err, CodeInvalidArgument)
	}
	for _, key := range []string{"a/b", "a=b", "-_.x"} {
		h.put(b, key, "x")
	}
}

func TestT55T56T57KeysByFilters(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{})
	for _, key := range []string{"own1.a", "own1.a.b", "own2.a", "cat.own1", "cat.own1.x", "cat.own1.y.z", "dog.own2.x", "x"} {
		h.put(b, key, "v")
	}
	for filter, want := range map[string][]string{
		"own1.*": {"own1.a"}, "cat.own1.>": {"cat.own1.x", "cat.own1.y.z"}, "cat.own1": {"cat.own1"}, "*.*.x": {"cat.own1.x", "dog.own2.x"},
		"*.a": {"own1.a", "own2.a"}, "c*.x": nil, "*": {"x"}, "none": nil, "x": {"x"},
	} {
		require.Equal(t, want, h.keys(b, filter), filter)
	}
	require.Len(t, h.keys(b), 8)
	require.Equal(t, []string{"dog.own2.x", "own2.a"}, h.keys(b, "own2.>", "dog.>", "*.own2.*"))
	_, err := b.Delete(ctx, "dog.own2.x", DeleteOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"cat.own1.x"}, h.keys(b, "*.*.x"))
	for _, filter := range []string{"a..b", ">.a", "a.>.b", ""} {
		for _, err := range b.Keys(ctx, filter) {
			h.refused(err, CodeInvalidArgument)
		}
	}
}

func TestBucketsAreMadeAndDropped(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{Name: "one", Service: "activity", Alias: "activity"})
	h.put(b, "a", "x")
	_, err := h.Create(ctx, "t", Config{Name: "one"})
	h.refused(err, CodeExists)
	_, err = h.Create(ctx, "other", Config{Name: "one"})
	require.NoError(t, err)
	for _, c := range []Config{{}, {Name: "a.b"}, {Name: "a", History: 65}, {Name: "a", History: -1}, {Name: "a", TTL: -1}, {Name: "a", TTL: 5}, {Name: "a", MaxValue: MaxValue + 1}, {Name: "a", Schema: []byte(`{"type":5}`)}} {
		_, err := h.Create(ctx, "t", c)
		h.refused(err, CodeInvalidArgument)
	}
	_, err = h.OpenFor("t", "billing", "one")
	h.refused(err, CodeForbidden)
	_, err = h.OpenFor("t", "activity", "one")
	require.NoError(t, err)
	h.stop()
	h.start()
	list, err := h.List(ctx, "t")
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, b.Info, list[0])
	require.NoError(t, h.Drop(ctx, "t", "one"))
	_, err = h.Open("t", "one")
	h.refused(err, CodeNotFound)
	h.refused(h.Drop(ctx, "t", "one"), CodeNotFound)
	h.refused(h.Drop(ctx, "nobody", "one"), CodeNotFound)
	b = h.bucket(Config{Name: "one"})
	require.Empty(t, h.keys(b), "it is another")
	old := b
	require.NoError(t, h.Drop(ctx, "t", "one"))
	_, err = old.Put(ctx, "a", nil, PutOptions{})
	h.refused(err, CodeNotFound)
	_, err = old.Get("a")
	require.Equal(t, "bucket", h.refused(err, CodeNotFound).Field)
}

const named = `{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}`

func TestT32T33ValuesHoldToTheSchema(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{Schema: []byte(named)})
	require.EqualValues(t, 1, h.put(b, "a", `{"name":"x"}`))
	for _, value := range []string{`{"name":5}`, `{}`, `5`, `{`, ""} {
		_, err := b.Put(ctx, "a", []byte(value), PutOptions{})
		h.refused(err, CodeValidation)
	}
	_, err := b.Put(ctx, "a", []byte(`{"name":5}`), PutOptions{})
	require.Equal(t, "/name", h.refused(err, CodeValidation).Pointer)
	revision, err := b.Put(ctx, "a", []byte(`{"name":5}`), PutOptions{Raw: true})
	require.NoError(t, err)
	require.EqualValues(t, 2, revision, "what was refused used no revision")
	_, err = b.GetTyped("a")
	e := h.refused(err, CodeValidation)
	require.EqualValues(t, 2, e.Revision)
	require.Equal(t, "a", e.Key)
	_, err = b.Get("a")
	require.NoError(t, err)
}

func TestChangesOfSeveralBucketsLandTogether(t *testing.T) {
	h := open(t)
	a, b := h.bucket(Config{Name: "a"}), h.bucket(Config{Name: "b"})
	both := func(last uint64) error {
		return h.kv.Update(ctx, engine.WAL, func(w *kv.Work) error {
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
	h.refused(both(0), CodeRevisionMismatch)
	require.Equal(t, []string{"1 put x"}, h.history(a, "k"))
}

// What is put in a unit of work is checked as what is put by itself.
func TestT50KeysAreCheckedInAUnitOfWork(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{})
	h.refused(h.kv.Update(ctx, engine.WAL, func(w *kv.Work) error {
		in, err := b.In(w)
		require.NoError(t, err)
		_, err = in.Put("a b", nil, PutOptions{})
		return err
	}), CodeInvalidArgument)
}

// A value of few bytes that is held to a schema in too many ways is refused by the bucket, as by
// the plan of a contract.
func TestT32AValueOfTooManyWaysIsRefused(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{Schema: []byte(`{"anyOf":[{"items":{"$ref":"#"},"maxItems":0},{"items":{"$ref":"#"},"type":"array","maxItems":0}],"type":["array"]}`)})
	_, err := b.Put(ctx, "a", []byte(strings.Repeat("[", 100)+"1"+strings.Repeat("]", 100)), PutOptions{})
	require.Contains(t, h.refused(err, CodeValidation).Reason, "steps")
}
