package kvstorage

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/document"
)

func TestK26IncrementAbsent(t *testing.T) {
	h := newHost(t, Options{})
	require.Equal(t, number(1), h.call("increment", `{"key":"a"}`)["value"])
	require.Equal(t, number(7), h.call("incr", `{"key":"b","delta":7}`)["value"])
	require.Equal(t, number(0), h.call("increment", `{"key":"c","delta":0}`)["value"])
	require.Equal(t, true, h.call("get", `{"key":"c"}`)["found"])
}

func TestK27ConcurrentIncrements(t *testing.T) {
	h := newHost(t, Options{})
	clients, each := 50, enginetest.Scale(1000)/50+1
	replies := make(chan any, clients*each)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range each {
				replies <- h.call("increment", `{"key":"k"}`)["value"]
			}
		})
	}
	wg.Wait()
	close(replies)
	seen := map[any]bool{}
	for r := range replies {
		seen[r] = true
	}
	for n := 1; n <= clients*each; n++ {
		require.True(t, seen[number(n)], n)
	}
	require.Equal(t, number(clients*each), h.call("get", `{"key":"k"}`)["value"])
}

func TestK28DeltasAndOverflow(t *testing.T) {
	h := newHost(t, Options{})
	require.Equal(t, number(-5), h.call("increment", `{"key":"k","delta":-5}`)["value"])
	for _, edge := range []int64{math.MaxInt64, math.MinInt64} {
		key := map[bool]string{true: "max", false: "min"}[edge > 0]
		i, err := h.Increment(ctx, "t", key, edge, WriteOptions{})
		require.NoError(t, err)
		step := map[bool]int64{true: 1, false: -1}[edge > 0]
		_, err = h.Increment(ctx, "t", key, step, WriteOptions{})
		require.ErrorIs(t, err, &Error{Code: Overflow})
		now, err := h.Get(ctx, "t", key)
		require.NoError(t, err)
		require.Equal(t, i.Revision, now.Revision, "unchanged")
	}
	for _, bad := range []string{"1.5", `"1.5"`, `"x"`, "null", "1e30", `"9223372036854775808"`, `"+1"`} {
		require.Equal(t, reply{"code": "invalid_argument", "field": "delta"}, h.call("increment", `{"key":"k","delta":%s}`, bad))
	}
	require.Equal(t, "-9223372036854775808", h.call("increment", `{"key":"min","delta":"0"}`)["value"])
}

func TestK29IncrementOfWhatIsNoInteger(t *testing.T) {
	h := newHost(t, Options{})
	for _, v := range []string{`"5"`, "1.5", "null", "true", "[]", "{}", "1e30"} {
		h.call("put", `{"key":"k","value":%s}`, v)
		before := h.call("get", `{"key":"k"}`)
		require.Equal(t, "kv_not_a_number", h.code("increment", `{"key":"k"}`), v)
		require.Equal(t, before, h.call("get", `{"key":"k"}`))
	}
	h.call("put", `{"key":"k","value":4.0}`)
	require.Equal(t, number(5), h.call("increment", `{"key":"k"}`)["value"])
}

// What is shown of a counter may be put back: it counts on.
func TestACounterThatIsPutBackAsItWasReadCountsOn(t *testing.T) {
	h := newHost(t, Options{})
	for _, n := range []int64{0, -7, document.MaxSafe, document.MaxSafe + 1, -document.MaxSafe - 1, document.MaxSafe + 2, -document.MaxSafe - 3, math.MaxInt64 - 1, math.MinInt64} {
		_, err := h.Delete(ctx, "t", "k", WriteOptions{})
		require.NoError(t, err)
		shown, err := h.Increment(ctx, "t", "k", n, WriteOptions{})
		require.NoError(t, err)
		_, err = h.Put(ctx, "t", "k", shown.Value, WriteOptions{})
		require.NoError(t, err)
		back, err := h.Get(ctx, "t", "k")
		require.NoError(t, err)
		require.Equal(t, string(shown.Value), string(back.Value))
		r, err := h.CompareAndSwap(ctx, "t", "k", Expect{Value: shown.Value}, back.Value, WriteOptions{})
		require.NoError(t, err)
		require.True(t, r.Swapped)
		i, err := h.Increment(ctx, "t", "k", 1, WriteOptions{})
		require.NoError(t, err, n)
		got, ok := integer(i.Value)
		require.True(t, ok)
		require.Equal(t, n+1, got)
	}
	for _, text := range []string{`"9007199254740991"`, `"-5"`, `"09007199254740993"`, `"9223372036854775808"`, `"9007199254740993 "`} {
		h.call("put", `{"key":"k","value":%s}`, text)
		require.Equal(t, "kv_not_a_number", h.code("increment", `{"key":"k"}`), text)
	}
}

func TestK30IncrementKeepsTTL(t *testing.T) {
	h := newHost(t, Options{})
	h.call("put", `{"key":"k","value":1,"ttlSeconds":60}`)
	before := h.call("get", `{"key":"k"}`)["expiresAt"]
	require.Equal(t, before, h.call("increment", `{"key":"k"}`)["expiresAt"])
	require.NotEqual(t, before, h.call("increment", `{"key":"k","ttlSeconds":90}`)["expiresAt"])
}

func TestK31NumberType(t *testing.T) {
	h := newHost(t, Options{})
	h.call("increment", `{"key":"k","delta":50}`)
	require.Equal(t, number(50), h.call("get", `{"key":"k"}`)["value"])
	h.call("put", `{"key":"k","value":9007199254740990}`)
	require.Equal(t, number(9007199254740991), h.call("increment", `{"key":"k"}`)["value"])
	require.Equal(t, "9007199254740992", h.call("increment", `{"key":"k"}`)["value"])
	require.Equal(t, "9007199254740993", h.call("increment", `{"key":"k"}`)["value"], "to the last digit")
	require.Equal(t, "9007199254740993", h.call("get", `{"key":"k"}`)["value"])
	require.Equal(t, true, h.call("cas", `{"key":"k","expect":"9007199254740993","newValue":1}`)["swapped"])
}
