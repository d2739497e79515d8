package view

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/namespace"
)

// addKeyValues adds key-values of a tenant: JSON, one that is long, one that expires.
func (s *sample) addKeyValues(t *testing.T) {
	store, err := kv.Open(s.store, kv.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	values, err := kvstorage.New(store, kvstorage.Options{})
	require.NoError(t, err)
	hour := int64(3600)
	for _, v := range []struct {
		key, value string
		ttl        *int64
	}{{"config", `{"limit":10}`, nil}, {"long", `"` + strings.Repeat("ä", longestValue) + `"`, nil}, {"session/ann", `"<b>"`, &hour}} {
		_, err := values.Put(t.Context(), "acme", v.key, []byte(v.value), kvstorage.WriteOptions{TTLSeconds: v.ttl})
		require.NoError(t, err)
	}
}

// addBlobs adds a blob that an application and the context name, and one that nobody does.
func (s *sample) addBlobs(t *testing.T) {
	blobs, err := blob.Open(s.store, blob.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, blobs.Close()) }()
	for _, content := range []string{"what a picture shows", "\x00\x01"} {
		stored, _, err := blobs.Put(t.Context(), bytes.NewReader([]byte(content)), blob.PutOptions{})
		require.NoError(t, err)
		if s.blob.IsZero() {
			s.blob = stored.ID
		}
	}
	s.put(t, func(b *engine.Batch) {
		engine.Put(b, keys.ContextState{Context: s.context, AppKey: keys.NewBytes(blob.AttachedKey(s.blob))}, codec.Raw("it is"))
		engine.Put(b, keys.ApplicationMeta{App: idNamed("app")}, codec.ApplicationMeta{Bytecode: s.blob})
	})
}

func TestKeyValuesOfATenant(t *testing.T) {
	sample := newSample(t, 1)
	sample.addKeyValues(t)
	s := sample.served(t)
	page := ask[keyValuesDoc](t, s, "keyvalues", "tenant", "acme", "limit", "2")
	require.EqualValues(t, 3, page.Keys)
	require.Len(t, page.Items, 2)
	require.JSONEq(t, `{"limit":10}`, string(page.Items[0].JSON))
	require.True(t, page.Items[1].Cut)
	require.LessOrEqual(t, len(*page.Items[1].Text), longestValue)
	require.Greater(t, page.Items[1].Size, 2*longestValue)
	rest := ask[keyValuesDoc](t, s, "keyvalues", "tenant", "acme", "limit", "2", "cursor", page.Next)
	require.Len(t, rest.Items, 1)
	require.Empty(t, rest.Next)
	require.WithinDuration(t, time.Now().Add(time.Hour), rest.Items[0].Expires, 10*time.Minute)
	require.Len(t, ask[keyValuesDoc](t, s, "keyvalues", "tenant", "acme", "prefix", "session/").Items, 1)
	require.Empty(t, ask[keyValuesDoc](t, s, "keyvalues", "tenant", "nobody").Items)
	for path, says := range map[string]string{"keyvalues": "tenant", "keyvalues?tenant=acme&cursor=x": "cursor", "keyvalues?tenant=acme&limit=0": "limit"} {
		status, body := get(s, "api/"+path)
		require.Equal(t, http.StatusBadRequest, status, path)
		require.Contains(t, string(body), says)
	}
}

func TestBlobsAndWhatNamesThem(t *testing.T) {
	sample := newSample(t, 1)
	sample.addBlobs(t)
	s := sample.served(t)
	first := ask[blobsDoc](t, s, "blobs", "limit", "1")
	second := ask[blobsDoc](t, s, "blobs", "limit", "1", "after", first.Next)
	require.Len(t, append(first.Blobs, second.Blobs...), 2)
	require.Empty(t, second.Next)
	one := ask[blobDoc](t, s, "blob", "id", sample.blob.String())
	require.Equal(t, "what a picture shows", *one.Begins.Text)
	require.EqualValues(t, 20, one.Size)
	require.Equal(t, []string{sample.context.String()}, one.Contexts)
	require.Equal(t, []string{hex.EncodeToString(idNamedBytes("app"))}, one.Apps)
	status, _ := get(s, "api/blob?id="+strings.Repeat("0", 64))
	require.Equal(t, http.StatusNotFound, status)

	sample.put(t, func(b *engine.Batch) { b.Delete(column.Blobs, append(sample.blob[:], 0, 0, 0, 0)) })
	damaged := ask[blobDoc](t, sample.served(t), "blob", "id", sample.blob.String())
	require.NotEmpty(t, damaged.Fault)
	require.Nil(t, damaged.Begins)
}

// found returns the kinds and ids of what a search finds, and whether there is more.
func found(t *testing.T, s *Server, q string) (hits []string, more bool) {
	doc := ask[struct {
		Hits []hit
		More bool
	}](t, s, "search", "q", q)
	for _, h := range doc.Hits {
		hits = append(hits, h.Of+" "+h.ID)
	}
	return hits, doc.More
}

func TestSearchFindsEverything(t *testing.T) {
	sample := newSample(t, 1)
	sample.addRecords(t)
	sample.addBuckets(t)
	sample.addKeyValues(t)
	sample.addBlobs(t)
	s := sample.served(t)
	ada := hex.EncodeToString(idNamedBytes("ada"))
	for _, c := range []struct{ q, want string }{
		{"kalli", "group " + sample.namespace.String()},
		{"ADA", "member " + ada},
		{ada[:9], "member " + ada},
		{"shared", "context " + sample.context.String()},
		{sample.context.String()[:4], "context " + sample.context.String()},
		{"0x" + strings.ToUpper(sample.context.String()), "context " + sample.context.String()},
		{sample.namespace.String(), "namespace " + sample.namespace.String()},
		{sample.applied[0].String()[:11], "delta " + sample.applied[0].String()},
		{sample.ops[1].String(), "op " + sample.ops[1].String()},
		{sample.blob.String(), "blob " + sample.blob.String()},
		{hex.EncodeToString(idNamedBytes("app"))[:8], "application " + hex.EncodeToString(idNamedBytes("app"))},
		{"acm", "tenant acme"},
		{"sess", "key session/ann"},
		{"many", "key many"}, // of a bucket
		{"pol-20251130-abc123", "record pol-20251130-abc123"},
		{"activity_ent", "bucket svc_activity_entries"},
	} {
		hits, _ := found(t, s, c.q)
		require.Contains(t, hits, c.want, c.q)
	}
	for _, q := range []string{"nothing of the kind", "sé\x01", strings.Repeat("f", 64), strings.Repeat("x", 3000)} {
		hits, more := found(t, s, q)
		require.Empty(t, hits, q)
		require.False(t, more, q)
	}
	hits, more := found(t, s, "entry-") // keys of a bucket, of which there are more
	require.LessOrEqual(t, len(hits), mostHits)
	require.Equal(t, len(hits) >= hitsOfAKind, more)
	status, body := get(s, "api/search?q=+")
	require.Equal(t, http.StatusBadRequest, status, body)
}

// A daemon that keeps its secrets from who asks is searched all the same.
func TestADaemonIsSearchedWithoutTheRightToSecrets(t *testing.T) {
	sample := newSample(t, 1)
	sample.addBlobs(t)
	sample.addKeyValues(t)
	s := sample.throughDaemon(t)
	for q, want := range map[string]string{
		"ada": "member " + hex.EncodeToString(idNamedBytes("ada")), sample.applied[0].String(): "delta " + sample.applied[0].String(),
		sample.ops[0].String(): "op " + sample.ops[0].String(), sample.blob.String(): "blob " + sample.blob.String(), "sess": "key session/ann",
	} {
		hits, _ := found(t, s, q)
		require.Contains(t, hits, want, q)
	}
}

// One that has many of what is searched for does not take the others' place, nor all time.
func TestASearchIsBounded(t *testing.T) {
	sample := newSample(t, 1)
	sample.put(t, func(b *engine.Batch) {
		for i := range 500 {
			id := [32]byte{0xAB, 0xCD, byte(i >> 8), byte(i)}
			b.Put(column.Blobs, append(id[:], 0, 0, 0, 0), nil)
			b.Put(column.Delta, append(sample.context[:], id[:]...), nil)
		}
	})
	hits, more := found(t, sample.served(t), "abcd")
	require.Len(t, hits, 2*hitsOfAKind)
	require.True(t, more)
}

func TestNamesOfAllThatHasSome(t *testing.T) {
	sample := newSample(t, 1)
	names := ask[struct{ Names map[string]nameDoc }](t, sample.served(t), "names").Names
	require.Equal(t, nameDoc{"shared notes", "context"}, names[sample.context.String()])
	require.Equal(t, nameDoc{"Kalliope", "group"}, names[sample.namespace.String()])
	require.Equal(t, nameDoc{"ada", "member"}, names[hex.EncodeToString(idNamedBytes("ada"))])
	require.Len(t, kindsOfNamed, int(namespace.NamedContext))
}

func TestADeltaIsFoundInItsGraph(t *testing.T) {
	sample := newSample(t, 40)
	s := sample.served(t)
	for _, place := range []int{0, len(sample.applied) / 2, len(sample.applied) - 1} {
		id := sample.applied[place].String()
		g := ask[Graph](t, s, "deltas", "context", sample.context.String(), "id", id, "limit", "10")
		at := -1
		for _, n := range g.Nodes {
			if n.ID == id {
				at = n.Row
			}
		}
		require.GreaterOrEqual(t, at, 0, "the delta at %d of %d", place, len(sample.applied))
	}
	g := ask[Graph](t, s, "deltas", "context", sample.context.String(), "id", sample.pending.String(), "limit", "10")
	require.Equal(t, sample.pending.String(), g.Nodes[0].ID, "one that waits is beside the newest")
	status, _ := get(s, "api/deltas?context="+sample.context.String()+"&id=7")
	require.Equal(t, http.StatusBadRequest, status)
}

func TestWhatADeltaDoesInALine(t *testing.T) {
	key := func(n int) codec.Action { return codec.Put(fmt.Appendf(nil, "key/%d", n), nil) }
	for want, d := range map[string]codec.ContextDagDeltaValue{
		"nothing":                            {},
		"put key/1; delete ff00; event e":    {Actions: []codec.Action{codec.Delete([]byte{0xFF, 0}), key(1)}, Events: []codec.Event{{Kind: "e"}}},
		"put key/1, key/2, key/3 and 2 more": {Actions: []codec.Action{key(1), key(2), key(3), key(4), key(5)}},
		"put " + strings.Repeat("ä", longText) + "…, (empty)": {Actions: []codec.Action{codec.Put([]byte(strings.Repeat("ä", 99)), nil), codec.Put(nil, nil)}},
	} {
		require.Equal(t, want, done(&d))
	}
}

func TestADaemonIsLiveAndADirectoryIsNot(t *testing.T) {
	sample := newSample(t, 1)
	s := sample.throughDaemon(t)
	before := ask[liveDoc](t, s, "live")
	sample.put(t, func(b *engine.Batch) {
		engine.Put(b, keys.GroupAlias{Group: sample.child}, codec.AliasName("new name"))
	})
	after := ask[liveDoc](t, s, "live")
	require.Greater(t, after.Sequence, before.Sequence)
	require.False(t, after.At.Before(before.At))
	status, body := get(sample.served(t), "api/live")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, string(body), "--socket")

	// What was counted stays, when the store is opened again for who follows it.
	ask[jobDoc](t, s, "survey")
	require.Eventually(t, func() bool { return ask[jobDoc](t, s, "survey").State == "done" }, time.Minute, time.Millisecond)
	status, body = post(s, "api/reopen?keep=1")
	require.Equal(t, http.StatusOK, status, body)
	require.Equal(t, "done", s.jobs.get("survey", false, nil).State)
	require.GreaterOrEqual(t, ask[factsDoc](t, s, "store").Shown, after.Sequence)
	status, body = post(s, "api/reopen")
	require.Equal(t, http.StatusOK, status, body)
	require.Equal(t, "idle", s.jobs.get("survey", false, nil).State)
}

func TestRowsThatAreBeingCountedStayOpen(t *testing.T) {
	js := newJobs()
	release := make(chan struct{})
	js.get("survey", true, func(_ context.Context, j *job) { <-release; j.end(nil, nil, nil) })
	require.NoError(t, js.between(func() error { t.Error("it was opened under who reads it"); return nil }))
	close(release)
	js.wait.Wait()
	opened := false
	require.NoError(t, js.between(func() error { opened = true; return nil }))
	require.True(t, opened)
}
