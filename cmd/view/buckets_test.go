package view

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/contract"
)

// The contract that a sample has accepted, and the one that waits.
const (
	acceptedContract = `{"service":"activity","schemas":{"Entry":{"type":"object"}},"resources":{"kv":{
		"entries":{"purpose":"what was done","schema":{"schema":"Entry"},"history":5,"maxValueBytes":100000}}}}`
	waitingContract = `{"service":"activity","schemas":{"Entry":{"type":"object","required":["<b>"]}},"resources":{"kv":{
		"entries":{"purpose":"what was done","schema":{"schema":"Entry"},"history":9,"ttlMs":60000,"maxValueBytes":100000},
		"summary":{"purpose":"of each day","schema":{"schema":"Entry"},"required":false}}}}`
	entriesBucket = "svc_activity_entries" // of the first
)

// addBuckets adds buckets to a tenant: one of an operator, one that somebody else's service has, and
// one of a service whose next contract waits for a decision, with a page of keys and more.
func (s *sample) addBuckets(t *testing.T) {
	store, err := kv.Open(s.store, kv.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	all, err := bucket.New(store, bucket.Options{})
	require.NoError(t, err)
	_, err = all.Create(t.Context(), "acme", bucket.Config{Name: "notes", TTL: 90 * time.Minute})
	require.NoError(t, err)
	a, err := all.Propose(t.Context(), "acme", []byte(acceptedContract))
	require.NoError(t, err)
	_, err = all.Accept(t.Context(), "acme", "activity", a.Proposed.Digest(), false)
	require.NoError(t, err)
	_, err = all.Reconcile(t.Context(), "acme", "activity")
	require.NoError(t, err)
	b, err := all.Open("acme", entriesBucket)
	require.NoError(t, err)
	put := func(key, value string) {
		_, err := b.Put(t.Context(), key, []byte(value), bucket.PutOptions{})
		require.NoError(t, err)
	}
	put("gone", `{"<b>":1}`)
	_, err = b.Delete(t.Context(), "gone", bucket.DeleteOptions{})
	require.NoError(t, err)
	put("many", `{"<b>":1}`)
	put("many", `{"<b>":2}`)
	put("many", `{"without":true}`)
	put("long", `{"<b>":"`+strings.Repeat("ö", longestValue)+`"}`)
	for i := range usualEntries + 7 {
		put(fmt.Sprintf("number.%02d", i), fmt.Sprintf(`{"<b>":%d}`, i))
	}
	_, err = all.Propose(t.Context(), "acme", []byte(waitingContract))
	require.NoError(t, err)
}

func TestBucketsAreShownWithTheirHistories(t *testing.T) {
	sample := newSample(t, 1)
	sample.addBuckets(t)
	s := sample.served(t)
	doc := ask[bucketsDoc](t, s, "buckets", "tenant", "acme")
	require.Len(t, doc.Buckets, 2)
	entries := doc.Buckets[1]
	require.Equal(t, []any{entriesBucket, "activity", "entries", 5, uint64(100000)}, []any{entries.Bucket, entries.Service, entries.Alias, entries.History, entries.MaxValue})
	require.Equal(t, []uint64{60, 63, 63}, []uint64{entries.Keys, entries.Kept, entries.Revision})
	require.Equal(t, []any{"notes", "", int64(90 * 60_000), uint64(bucket.MaxValue)}, []any{doc.Buckets[0].Bucket, doc.Buckets[0].Service, doc.Buckets[0].TTLMs, doc.Buckets[0].MaxValue})
	require.Len(t, doc.Services, 1)

	first := ask[entriesDoc](t, s, "entries", "tenant", "acme", "bucket", entriesBucket)
	require.Equal(t, entries, first.Bucket)
	require.Len(t, first.Entries, usualEntries)
	require.Equal(t, []string{"gone delete", "long put", "many put"}, []string{first.Entries[0].Key + " " + first.Entries[0].Op, first.Entries[1].Key + " " + first.Entries[1].Op, first.Entries[2].Key + " " + first.Entries[2].Op})
	require.JSONEq(t, `{"without":true}`, string(first.Entries[2].JSON))
	long := first.Entries[1]
	require.True(t, long.Cut)
	require.True(t, strings.HasPrefix(`{"<b>":"`+strings.Repeat("ö", longestValue), *long.Text), "the beginning, up to a whole letter")
	require.Greater(t, len(*long.Text), longestValue-4)
	next := ask[entriesDoc](t, s, "entries", "tenant", "acme", "bucket", entriesBucket, "cursor", first.Next)
	require.Len(t, next.Entries, 10)
	require.Empty(t, next.Next)
	some := ask[entriesDoc](t, s, "entries", "tenant", "acme", "bucket", entriesBucket, "prefix", "number.1")
	require.Len(t, some.Entries, 10)

	key := ask[keyDoc](t, s, "entry", "tenant", "acme", "bucket", entriesBucket, "key", "many")
	require.Len(t, key.History, 3)
	require.Less(t, key.History[0].Revision, key.History[2].Revision)
	require.Empty(t, ask[keyDoc](t, s, "entry", "tenant", "acme", "bucket", entriesBucket, "key", "never").History)
	require.Empty(t, ask[bucketsDoc](t, s, "buckets", "tenant", "nobody").Buckets)
	for path, want := range map[string]int{
		"buckets":                                     http.StatusBadRequest,
		"entries?tenant=acme&bucket=other":            http.StatusNotFound,
		"entry?tenant=acme&bucket=notes&key":          http.StatusBadRequest,
		"entries?tenant=acme&bucket=notes&limit=0":    http.StatusBadRequest,
		"entries?tenant=acme&bucket=notes&cursor=xyz": http.StatusBadRequest,
		"contract?tenant=acme&service=other":          http.StatusNotFound,
	} {
		status, body := get(s, "api/"+path)
		require.Equal(t, want, status, "%s: %s", path, body)
	}
}

func TestAContractIsShownWithWhatTheNextOneChanges(t *testing.T) {
	sample := newSample(t, 1)
	sample.addBuckets(t)
	doc := ask[contractDoc](t, sample.served(t), "contract", "tenant", "acme", "service", "activity")
	require.True(t, doc.Authority.Bound())
	require.Equal(t, entriesBucket, doc.Authority.Bindings[0].Bucket)
	require.Equal(t, contract.ClassMigration, doc.Plan.Class)
	var changes []string
	for _, c := range doc.Plan.Changes {
		changes = append(changes, fmt.Sprintf("%s %s %s", c.Alias, c.What, c.Class))
	}
	require.Equal(t, []string{"entries history update", "entries ttlMs migration", "entries schema migration", "summary add update"}, changes)
	require.Equal(t, bucket.Refused{Alias: "entries", Bucket: entriesBucket, Values: 59, Count: 1, Key: "many", Reason: doc.Plan.Refused[0].Reason}, doc.Plan.Refused[0])
}

func TestAValueIsShownAsWhatItIs(t *testing.T) {
	for value, want := range map[string]string{
		`{"a":1}`: `{"a":1}`, "words": "text words", "": "text ", "\xff\x00": "hex ff00", "a\x00b": "hex 610062", "\"\xff\"": "hex 22ff22",
	} {
		d := newEntryDoc(&bucket.Entry{Op: bucket.OpPut, Value: []byte(value)})
		got := string(d.JSON)
		switch {
		case d.Text != nil:
			got = "text " + *d.Text
		case d.Hex != "":
			got = "hex " + d.Hex
		}
		require.Equal(t, want, got)
	}
	d := newEntryDoc(&bucket.Entry{Op: bucket.OpPut, Value: []byte(strings.Repeat("\xff", longestValue+1))})
	require.True(t, d.Cut)
	require.Len(t, d.Hex, 2*longestValue)
}
