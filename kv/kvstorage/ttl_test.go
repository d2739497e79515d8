package kvstorage

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/mem"
)

// By the clock of the machine: a value is there until its time, and no later
// than a second after it is gone.
func TestK18TTLIsSeen(t *testing.T) {
	t.Parallel()
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	h := openHost(t, db, nil, Options{})
	type life struct {
		from, until time.Time // of the put's answer: it begins between
		ttl         time.Duration
	}
	lives := map[string]life{}
	for n := range 20 {
		ttl := 1 + n%3
		before := time.Now()
		h.call("put", `{"key":"%d","value":1,"ttlSeconds":%d}`, n, ttl)
		lives[fmt.Sprint(n)] = life{before, time.Now(), time.Duration(ttl) * time.Second}
	}
	for len(lives) > 0 {
		for key, l := range lives {
			before := time.Now()
			found := h.call("get", `{"key":"%s"}`, key)["found"].(bool)
			after := time.Now()
			if found {
				require.LessOrEqual(t, before.Sub(l.until), l.ttl+time.Second, "key %s is late", key)
			} else {
				require.GreaterOrEqual(t, after.Sub(l.from), l.ttl, "key %s is gone early", key)
				delete(lives, key)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
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
