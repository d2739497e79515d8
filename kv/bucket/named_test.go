package bucket_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv"
	. "github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/buckettest"
)

func TestT65WhoAsksIsGivenTheBucketsThatAreTheirs(t *testing.T) {
	h := open(t)
	h.Agree(buckettest.Declared("activity", buckettest.EntrySchema, map[string]string{"log": ""}))
	_, err := h.Create(ctx, Config{Name: "nobodys"})
	require.NoError(t, err)
	const declaredOne = "svc_activity_log"
	for _, c := range []struct {
		name     Name
		operator bool
		code     Code // "": it is given
	}{
		{Name{Service: "activity", Alias: "log"}, false, ""},
		{Name{Service: "activity", Alias: "log"}, true, ""},
		{Name{Service: "activity", Bucket: declaredOne}, false, ""},
		{Name{Bucket: declaredOne}, true, ""},
		{Name{Bucket: "nobodys"}, true, ""},
		{Name{Bucket: "nobodys"}, false, ""},
		{Name{Bucket: declaredOne}, false, CodeForbidden},
		{Name{Service: "other", Bucket: declaredOne}, true, CodeForbidden},
		{Name{Service: "activity", Bucket: "nobodys"}, true, CodeForbidden},
		{Name{Service: "other", Alias: "log"}, true, CodeNotFound},
		{Name{Service: "activity", Alias: "other"}, true, CodeNotFound},
		{Name{Alias: "log"}, true, CodeInvalidArgument},
		{Name{Service: "activity", Alias: "log", Bucket: declaredOne}, true, CodeInvalidArgument},
	} {
		_, err := h.Store.Named("t", c.name, c.operator)
		if c.code == "" {
			require.NoError(t, err, c)
		} else {
			h.Refused(err, c.code)
		}
	}
}

// A binding that was looked up is forgotten when what buckets are changes.
func TestT65ABindingIsLookedUpAnewOnceBucketsChange(t *testing.T) {
	h := open(t)
	h.Agree(buckettest.Declared("activity", buckettest.EntrySchema, map[string]string{"log": ""}))
	for range 2 {
		_, err := h.Store.Bound("t", "activity", "log")
		require.NoError(t, err)
	}
	p := h.Proposed(buckettest.Declared("activity", buckettest.EntrySchema, map[string]string{"log": `,"history":3`}))
	_, err := h.Accept(ctx, "activity", p.Digest, false)
	require.NoError(t, err)
	_, err = h.Store.Bound("t", "activity", "log")
	h.Refused(err, CodeNotFound)
	_, err = h.Reconcile(ctx, "activity")
	require.NoError(t, err)
	b, err := h.Store.Bound("t", "activity", "log")
	require.NoError(t, err)
	require.Equal(t, 3, b.Config.History)
}

func TestAnAuthorityIsReadAsItWasShown(t *testing.T) {
	h := open(t)
	h.Agree(buckettest.Declared("activity", buckettest.EntrySchema, map[string]string{"log": ""}))
	bound, err := h.Authority(ctx, "activity")
	require.NoError(t, err)
	waits, err := h.Propose(ctx, buckettest.Declared("other", buckettest.EntrySchema, map[string]string{"log": ""}))
	require.NoError(t, err)
	for _, a := range []*Authority{bound, waits} {
		text, err := json.Marshal(a)
		require.NoError(t, err)
		var read Authority
		require.NoError(t, json.Unmarshal(text, &read))
		again, err := json.Marshal(&read)
		require.NoError(t, err)
		require.JSONEq(t, string(text), string(again))
		require.Equal(t, a.Bound(), read.Bound())
	}
	text, err := json.Marshal(bound)
	require.NoError(t, err)
	require.Contains(t, string(text), `"digest":"`+bound.Desired.Digest()+`"`)
	require.Contains(t, string(text), `"bound":true`)
	var none Authority
	require.Error(t, json.Unmarshal([]byte(`{"desired":{"contract":1}}`), &none))
	require.Error(t, json.Unmarshal([]byte(`{"proposed":{"contract":1}}`), &none))
	require.Error(t, json.Unmarshal([]byte(`[]`), &none))
}

func TestATimeToLiveIsWholeMilliseconds(t *testing.T) {
	h := open(t)
	for _, ttl := range []time.Duration{0, time.Millisecond, time.Hour} {
		require.NoError(t, CheckTTL(ttl))
	}
	for _, ttl := range []time.Duration{-time.Millisecond, time.Nanosecond, time.Second + 1} {
		h.Refused(CheckTTL(ttl), CodeInvalidArgument)
	}
}

func TestWhatIsNoRecordOfABucketIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		r  kv.Record
		is string
	}{
		"a value":             {kv.Record{Key: []byte("a.b"), Value: []byte("x")}, ""},
		"one of its own time": {kv.Record{Key: []byte("a.b"), Form: 1}, ""},
		"a deletion":          {kv.Record{Key: []byte("a.b"), Form: 2}, ""},
		"a purge":             {kv.Record{Key: []byte("a.b"), Form: 4}, ""},
		"no key":              {kv.Record{Key: []byte("a..b")}, "two dots"},
		"no form":             {kv.Record{Key: []byte("a"), Form: 3}, "no such form"},
		"a marker's value":    {kv.Record{Key: []byte("a"), Form: 2, Value: []byte("x")}, "a marker has no value"},
		"no bucket":           {kv.Record{Key: []byte("bucket:a"), Value: []byte("{}")}, "registry"},
		"no contract":         {kv.Record{Key: []byte("contract:a"), Value: []byte("[")}, "registry"},
		"an empty contract":   {kv.Record{Key: []byte("contract:a"), Value: []byte("{}")}, ""},
	} {
		if got := Fault(&c.r); c.is == "" {
			require.Empty(t, got, name)
		} else {
			require.Contains(t, got, c.is, name)
		}
	}
}
