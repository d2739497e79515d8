package kvstorage

import (
	"encoding/json"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
)

func TestK32K33Swap(t *testing.T) {
	h := newHost(t, Options{})
	h.call("put", `{"key":"k","value":1}`)
	got := h.call("compareAndSwap", `{"key":"k","expect":1,"newValue":2}`)
	require.Equal(t, []any{true, number(2), "2"}, []any{got["swapped"], got["actual"], got["revision"]})
	got = h.call("compareAndSwap", `{"key":"k","expect":1,"newValue":3}`)
	require.Equal(t, []any{false, number(2), "2"}, []any{got["swapped"], got["actual"], got["revision"]})
	require.Equal(t, "2", h.call("get", `{"key":"k"}`)["revision"])
	got = h.call("compareAndSwap", `{"key":"none","expect":1,"newValue":3}`)
	require.Equal(t, []any{false, nil, false}, []any{got["swapped"], got["actual"], got["found"]})
	require.Equal(t, "invalid_argument", h.code("cas", `{"key":"k","newValue":3}`), "what is expected has to be said")
	require.Equal(t, "invalid_argument", h.code("cas", `{"key":"k","expect":1}`))
	require.Equal(t, "invalid_argument", h.code("cas", `{"key":"k","expect":1,"expectAbsent":true,"newValue":2}`))
}

func TestK34SwapAbsent(t *testing.T) {
	h := newHost(t, Options{})
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if h.call("cas", `{"key":"k","expectAbsent":true,"newValue":1}`)["swapped"] == true {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int32(1), won.Load())
	got := h.call("cas", `{"key":"k","expectAbsent":true,"newValue":2}`)
	require.Equal(t, []any{false, number(1)}, []any{got["swapped"], got["actual"]})
}

func TestK35SwapNull(t *testing.T) {
	h := newHost(t, Options{})
	swap := func(key, args string) any {
		return h.call("cas", `{"key":"%s","expect":null,"newValue":1%s}`, key, args)["swapped"]
	}
	h.call("put", `{"key":"a","value":null}`)
	h.call("put", `{"key":"b","value":null}`)
	require.Equal(t, true, swap("a", ""))
	require.Equal(t, true, swap("b", `,"strict":true`))
	require.Equal(t, true, swap("c", ""), "absent")
	require.Equal(t, false, swap("d", `,"strict":true`))
	require.Equal(t, false, swap("a", ""))
	h.call("put", `{"key":"e","value":null}`)
	require.Equal(t, false, h.call("cas", `{"key":"e","expectAbsent":true,"newValue":1}`)["swapped"], "null is a value")
}

func TestK36Equality(t *testing.T) {
	h := newHost(t, Options{})
	for _, c := range []struct {
		value, expect string
		equal         bool
	}{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true}, {"1", "1.0", true}, {"1", "10e-1", true}, {`"1"`, "1", false}, {"0", "-0", true},
		{`"ü"`, `"\u00fc"`, true}, {"[1,2]", "[2,1]", false}, {"{}", "[]", false}, {"false", "null", false}, {`""`, "null", false},
	} {
		h.call("put", `{"key":"k","value":%s}`, c.value)
		require.Equal(t, c.equal, h.call("cas", `{"key":"k","expect":%s,"newValue":7}`, c.expect)["swapped"], "%+v", c)
	}
}

func TestK37SwapRace(t *testing.T) {
	h := newHost(t, Options{})
	h.call("put", `{"key":"k","value":0}`)
	clients, each := 64, max(1, enginetest.Scale(100)/4)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range each {
				for {
					i, err := h.Get(ctx, "t", "k")
					require.NoError(t, err)
					n, err := strconv.Atoi(string(i.Value))
					require.NoError(t, err)
					r, err := h.CompareAndSwap(ctx, "t", "k", Expect{Value: i.Value}, []byte(strconv.Itoa(n+1)), WriteOptions{Durability: engine.WAL})
					require.NoError(t, err)
					if r.Swapped {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, number(clients*each), h.call("get", `{"key":"k"}`)["value"])
}

func TestK38SwapLimitsAndTTL(t *testing.T) {
	h := newHost(t, Options{MaxValueBytes: 10, MaxTTLSeconds: 100})
	h.call("put", `{"key":"k","value":1,"ttlSeconds":60}`)
	before := h.call("get", `{"key":"k"}`)
	require.Equal(t, "kv_value_too_large", h.code("cas", `{"key":"k","expect":1,"newValue":"%s"}`, text(20)))
	require.Equal(t, "kv_ttl_exceeds_max", h.code("cas", `{"key":"k","expect":1,"newValue":2,"ttlSeconds":101}`))
	require.Equal(t, before, h.call("get", `{"key":"k"}`))
	require.Equal(t, before["expiresAt"], h.call("cas", `{"key":"k","expect":1,"newValue":2}`)["expiresAt"])
	require.NotEqual(t, before["expiresAt"], h.call("cas", `{"key":"k","expect":2,"newValue":3,"ttlSeconds":90}`)["expiresAt"])
}

func TestK39BothVocabularies(t *testing.T) {
	h := newHost(t, Options{})
	require.Equal(t, h.as("a", "put", `{"key":"k","value":1}`), h.as("b", "set", `{"key":"k","value":1}`))
	require.Equal(t, h.as("a", "compareAndSwap", `{"key":"k","expectedValue":1,"newValue":2}`), h.as("b", "cas", `{"key":"k","expect":1,"set":2}`))
	require.Equal(t, h.as("a", "get", `{"key":"k"}`), h.as("b", "get", `{"key":"k"}`))
	got := h.as("a", "delete", `{"key":"k"}`)
	require.Equal(t, got["deleted"], got["existed"])
	require.Equal(t, "invalid_argument", h.code("cas", `{"key":"k","expect":1,"expectedValue":1,"set":2}`), "under two names")
}

func TestDeletesOnAConditionSayWhatIsThere(t *testing.T) {
	h := newHost(t, Options{})
	put, err := h.Put(ctx, "t", "k", []byte(`{"b":1,"a":2}`), WriteOptions{})
	require.NoError(t, err)
	for _, stale := range []Expect{{Value: []byte("1")}, {Revision: put.Revision + 1}, {Value: []byte("null")}} {
		d, err := h.CompareAndDelete(ctx, "t", "k", stale, WriteOptions{})
		require.NoError(t, err)
		require.Equal(t, Deleted{Item: put}, d)
	}
	d, err := h.CompareAndDelete(ctx, "t", "k", Expect{Value: []byte(`{"a":2,"b":1}`), Revision: put.Revision}, WriteOptions{})
	require.NoError(t, err)
	require.Equal(t, Deleted{Existed: true, Revision: put.Revision + 1, Item: nothing("k")}, d)
	for _, tenant := range []string{"t", "stranger"} {
		d, err = h.CompareAndDelete(ctx, tenant, "k", Expect{Revision: put.Revision}, WriteOptions{})
		require.NoError(t, err)
		require.Equal(t, Deleted{Item: nothing("k")}, d)
	}
	for _, none := range []Expect{{}, {Absent: true}, {Strict: true}} {
		_, err = h.CompareAndDelete(ctx, "t", "k", none, WriteOptions{})
		require.ErrorIs(t, err, &Error{Code: InvalidArgument})
	}
	_, err = newHost(t, Options{NoCompareAndSwap: true}).CompareAndDelete(ctx, "t", "k", Expect{Revision: 1}, WriteOptions{})
	require.ErrorIs(t, err, &Error{Code: CapabilityMissing})
}

func TestWhatChangesNothingHasNoRevision(t *testing.T) {
	h := newHost(t, Options{})
	results, err := h.Batch(ctx, "t", []Change{
		{Op: OpPut, Key: "k", Value: []byte("1")}, {Op: OpDelete, Key: "k"}, {Op: OpDelete, Key: "k"}, {Op: OpTouch, Key: "k"}, {Op: OpIncrement, Key: "k"},
		{Op: OpTouch, Key: "k"}, {Op: OpSwap, Key: "k", Value: []byte("1"), Expect: Expect{Value: []byte("0")}},
	}, engine.WAL)
	require.NoError(t, err)
	var revisions []uint64
	for _, r := range results {
		revisions = append(revisions, r.Revision)
	}
	require.Equal(t, []uint64{1, 2, 0, 0, 3, 4, 5}, revisions)
}

func TestBatchesExpectAndLandWhole(t *testing.T) {
	h := newHost(t, Options{})
	one := int64(1)
	results, err := h.Batch(ctx, "t", []Change{
		{Op: OpPut, Key: "a", Value: []byte("1"), TTLSeconds: &one},
		{Op: OpIncrement, Key: "a", Delta: 2},
		{Op: OpSwap, Key: "a", Value: []byte(`"x"`), Expect: Expect{Value: []byte("3")}},
		{Op: OpDelete, Key: "a", Expect: Expect{Revision: 3}},
		{Op: OpPut, Key: "b", Value: []byte("1"), Expect: Expect{Absent: true}},
	}, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, json.RawMessage("3"), results[1].Item.Value)
	require.True(t, results[2].Swapped)
	require.True(t, results[3].Item.Found)
	for _, failing := range []Change{
		{Op: OpPut, Key: "b", Value: []byte("1"), Expect: Expect{Revision: 4}},
		{Op: OpSwap, Key: "b", Value: []byte("1"), Expect: Expect{Absent: true}},
		{Op: OpTouch, Key: "none", Expect: Expect{Value: []byte("null"), Strict: true}},
	} {
		_, err = h.Batch(ctx, "t", []Change{{Op: OpPut, Key: "c", Value: []byte("1")}, failing}, engine.WAL)
		require.ErrorIs(t, err, &Error{Code: Conflict})
		require.ErrorContains(t, err, "change 2 of 2")
		require.Equal(t, false, h.call("get", `{"key":"c"}`)["found"])
		results, err = h.Batch(ctx, "t", []Change{failing}, engine.WAL)
		require.ErrorIs(t, err, &Error{Code: Conflict}, "alone too")
		require.Nil(t, results)
	}
	for _, both := range []Expect{{Absent: true, Revision: 1}, {Absent: true, Value: []byte("1")}} {
		_, err = h.Batch(ctx, "t", []Change{{Op: OpPut, Key: "c", Value: []byte("1"), Expect: both}}, engine.WAL)
		require.ErrorIs(t, err, &Error{Code: InvalidArgument})
	}
	_, err = h.Batch(ctx, "t", []Change{{Op: 9, Key: "c"}}, engine.WAL)
	require.ErrorIs(t, err, &Error{Code: InvalidArgument})
	_, err = h.Batch(ctx, "t", make([]Change, maxChanges+1), engine.WAL)
	require.ErrorIs(t, err, &Error{Code: InvalidArgument})
}
