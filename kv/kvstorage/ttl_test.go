package kvstorage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/mem"
)

// A value is there until a millisecond before its time, and gone a millisecond after.
func TestK18TTLIsSeen(t *testing.T) {
	h := newHost(t, Options{})
	found := func(key int) bool { return h.call("get", `{"key":"%d"}`, key)["found"].(bool) }
	for ttl := 1; ttl <= 3; ttl++ {
		h.call("put", `{"key":"%d","value":1,"ttlSeconds":%d}`, ttl, ttl)
	}
	began := h.clock.Elapsed()
	for ttl := 1; ttl <= 3; ttl++ {
		h.clock.Pass(began + time.Duration(ttl)*time.Second - time.Millisecond - h.clock.Elapsed())
		require.True(t, found(ttl), "key %d is gone early", ttl)
		h.clock.Pass(2 * time.Millisecond)
		require.False(t, found(ttl), "key %d is late", ttl)
	}
}

// By the clock of the machine too: it is gone no later than a second after its time.
func TestK18TTLIsSeenByTheClockOfTheMachine(t *testing.T) {
	t.Parallel()
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	h := openHost(t, db, nil, Options{})
	const ttl = time.Second
	from := time.Now() // it begins between this and until
	h.call("put", `{"key":"k","value":1,"ttlSeconds":1}`)
	until := time.Now()
	for {
		before := time.Now()
		if !h.call("get", `{"key":"k"}`)["found"].(bool) {
			break
		}
		require.LessOrEqual(t, before.Sub(until), ttl+time.Second, "it is late")
		time.Sleep(10 * time.Millisecond)
	}
	require.GreaterOrEqual(t, time.Since(from), ttl, "it is gone early")
}

func TestK19TTLInfo(t *testing.T) {
	h := newHost(t, Options{})
	h.call("put", `{"key":"k","value":1,"ttlSeconds":60}`)
	h.clock.Pass(1500 * time.Millisecond)
	got := h.call("get", `{"key":"k"}`)
	at, err := time.Parse(time.RFC3339, got["expiresAt"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, h.clock.Now().Add(58500*time.Millisecond), at, 50*time.Millisecond)
	ms, err := got["ttlRemainingMs"].(interface{ Int64() (int64, error) }).Int64()
	require.NoError(t, err)
	require.InDelta(t, 58500, ms, 50)
}

func TestK20K21TTLBounds(t *testing.T) {
	h := newHost(t, Options{MaxTTLSeconds: 100})
	require.Nil(t, h.code("put", `{"key":"k","value":1,"ttlSeconds":100}`))
	require.Equal(t, "kv_ttl_exceeds_max", h.code("put", `{"key":"k","value":1,"ttlSeconds":101}`))
	for _, bad := range []string{"0", "-1", "1.5", `"2"`, "null", "NaN", "[]", "1e400"} {
		for _, op := range []string{"put", "increment", "compareAndSwap", "touch"} {
			args := map[string]string{"put": `,"value":1`, "compareAndSwap": `,"expectAbsent":true,"newValue":1`}[op]
			require.Equal(t, "invalid_argument", h.code(op, `{"key":"k"%s,"ttlSeconds":%s}`, args, bad), "%s %s", op, bad)
		}
	}
}

func TestK22TTLIsGoneWithItsValue(t *testing.T) {
	h := newHost(t, Options{})
	h.call("put", `{"key":"k","value":1,"ttlSeconds":1}`)
	h.call("delete", `{"key":"k"}`)
	h.call("put", `{"key":"k","value":2}`)
	h.pass(5*time.Second, 1)
	require.Equal(t, number(2), h.call("get", `{"key":"k"}`)["value"])
}

func TestK23TTLAcrossARestart(t *testing.T) {
	h := newHost(t, Options{})
	h.call("put", `{"key":"k","value":1,"ttlSeconds":2}`)
	h.call("put", `{"key":"l","value":1,"ttlSeconds":20}`)
	h.clock.Oversleep(5 * time.Second)
	h = h.reopen()
	require.Equal(t, false, h.call("get", `{"key":"k"}`)["found"])
	require.Equal(t, true, h.call("get", `{"key":"l"}`)["found"])
	h.pass(0, 1)
}

func TestK24K25ExpiredIsAbsentForIncrementAndSwap(t *testing.T) {
	h := newHost(t, Options{})
	h.call("put", `{"key":"n","value":41,"ttlSeconds":1}`)
	h.call("put", `{"key":"c","value":41,"ttlSeconds":1}`)
	h.clock.Oversleep(2 * time.Second)
	got := h.call("increment", `{"key":"n"}`)
	require.Equal(t, number(1), got["value"])
	require.Nil(t, got["ttlRemainingMs"])
	got = h.call("compareAndSwap", `{"key":"c","expectAbsent":true,"newValue":2}`)
	require.Equal(t, true, got["swapped"])
	require.Nil(t, got["ttlRemainingMs"])
	h.clock.Pass(5 * time.Second)
	require.Equal(t, number(1), h.call("get", `{"key":"n"}`)["value"])
}

func TestTouch(t *testing.T) {
	h := newHost(t, Options{})
	require.Equal(t, false, h.call("touch", `{"key":"k","ttlSeconds":5}`)["found"])
	h.call("put", `{"key":"k","value":[1]}`)
	require.NotNil(t, h.call("touch", `{"key":"k","ttlSeconds":5}`)["ttlRemainingMs"])
	h.call("increment", `{"key":"n"}`)
	require.Nil(t, h.call("expire", `{"key":"k"}`)["ttlRemainingMs"])
	h.pass(10*time.Second, 2)
	require.Equal(t, []any{number(1)}, h.call("get", `{"key":"k"}`)["value"])
}
