package kvstorage

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestK03PutThenGet(t *testing.T) {
	h := newHost(t, Options{})
	h.call("put", `{"key":"k","value":{"b":1,"a":"x"}}`)
	raw, err := h.raw("t", "get", `{"key":"k"}`)
	require.NoError(t, err)
	require.Equal(t, `{"found":true,"value":{"a":"x","b":1},"revision":"1","ttlRemainingMs":null}`, string(raw))
}

func TestK04GetMissing(t *testing.T) {
	h := newHost(t, Options{})
	raw, err := h.raw("t", "get", `{"key":"k"}`)
	require.NoError(t, err)
	require.Equal(t, `{"found":false,"value":null,"ttlRemainingMs":null}`, string(raw))
	stats, err := h.Stats("t")
	require.NoError(t, err)
	require.Zero(t, stats, "reading makes nothing")
}

func TestK05ValueTypes(t *testing.T) {
	h := newHost(t, Options{})
	deep := strings.Repeat(`[{"a":`, 32) + "1" + strings.Repeat("}]", 32)
	for _, v := range []string{"null", "true", "false", "0", "-1", "1.5", "9007199254740991", `""`, `"ü\u0000"`, "[]", "{}", deep, `"<&>"`, `{"a":[null,true,{"b":"c"}]}`} {
		h.call("put", `{"key":"k","value":%s}`, v)
		raw, err := h.raw("t", "get", `{"key":"k"}`)
		require.NoError(t, err)
		var got struct {
			Found bool
			Value json.RawMessage
		}
		require.NoError(t, json.Unmarshal(raw, &got))
		require.True(t, got.Found, v)
		require.Equal(t, v, string(got.Value))
	}
	require.Equal(t, "invalid_argument", h.code("put", `{"key":"k","value":%s1%s}`, strings.Repeat("[", 200), strings.Repeat("]", 200)))
}

func TestK06Overwrite(t *testing.T) {
	h := newHost(t, Options{})
	h.call("put", `{"key":"k","value":1,"ttlSeconds":60}`)
	require.NotNil(t, h.call("get", `{"key":"k"}`)["ttlRemainingMs"])
	h.call("put", `{"key":"k","value":2}`)
	got := h.call("get", `{"key":"k"}`)
	require.Equal(t, number(2), got["value"])
	require.Nil(t, got["ttlRemainingMs"])
	require.NotContains(t, got, "expiresAt")
}

func TestK07Delete(t *testing.T) {
	h := newHost(t, Options{})
	yes, no := reply{"deleted": true, "existed": true}, reply{"deleted": false, "existed": false}
	require.Equal(t, no, h.call("delete", `{"key":"k"}`))
	h.call("put", `{"key":"k","value":1}`)
	require.Equal(t, yes, h.call("delete", `{"key":"k"}`))
	require.Equal(t, no, h.call("del", `{"key":"k"}`))
	h.call("put", `{"key":"k","value":1,"ttlSeconds":1}`)
	h.clock.Oversleep(2e9)
	require.Equal(t, no, h.call("delete", `{"key":"k"}`))
}

func TestK13K14K15Keys(t *testing.T) {
	h := newHost(t, Options{MaxKeyBytes: 8})
	require.Nil(t, h.code("put", `{"key":"üüüü","value":1}`))
	require.Equal(t, "kv_key_too_large", h.code("put", `{"key":"üüüüx","value":1}`))
	require.Equal(t, "kv_key_too_large", h.code("get", `{"key":"123456789"}`))
	require.Equal(t, reply{"code": "invalid_argument", "field": "key"}, h.call("put", `{"key":"","value":1}`))
	require.Equal(t, "invalid_argument", h.code("get", `{}`))
	for _, key := range []string{`a\u0000b`, `a\nb`, "a:b", "a/b", "😀"} {
		h.call("put", `{"key":"%s","value":"%s"}`, key, key)
	}
	page, err := h.List(ctx, "t", ListOptions{})
	require.NoError(t, err)
	var keys []string
	for _, i := range page.Items {
		keys = append(keys, i.Key)
	}
	require.Equal(t, []string{"a\x00b", "a\nb", "a/b", "a:b", "üüüü", "😀"}, keys)
	for _, bad := range []string{"a\xffb", "\xc0\x80", "\xed\xa0\x80"} {
		_, err := h.Put(ctx, "t", bad, []byte("1"), WriteOptions{})
		require.ErrorIs(t, err, &Error{Code: InvalidArgument})
		require.Equal(t, "invalid_argument", h.code("get", `{"key":"%s"}`, bad))
	}
	require.Equal(t, "invalid_argument", h.code("get", `{"key":"\ud800"}`))
	require.Equal(t, "invalid_argument", h.code("get", `{"key":7}`))
}

func TestK16ValueSizes(t *testing.T) {
	h := newHost(t, Options{MaxValueBytes: 20})
	require.Nil(t, h.code("put", `{"key":"k","value":"%s"}`, text(18)))
	require.Equal(t, "kv_value_too_large", h.code("put", `{"key":"k","value":"%s"}`, text(19)))
	require.Nil(t, h.code("put", `{"key":"k","value":  [ 1 , 2 ,    3 , 4 ,  5  ,  6  ] }`), "what counts is the canonical form")
	require.Equal(t, "kv_value_too_large", h.code("put", `{"key":"k","value":"\u0001\u0001\u0001\u0001"}`))
}

func TestK17TheOldValueIsKeptOnRefusal(t *testing.T) {
	h := newHost(t, Options{MaxValueBytes: 20})
	h.call("put", `{"key":"k","value":"old","ttlSeconds":60}`)
	before := h.call("get", `{"key":"k"}`)
	for _, bad := range []string{`{"key":"k","value":"` + text(30) + `"}`, `{"key":"k","value":1,"ttlSeconds":0}`, `{"key":"k"}`, `{"key":"k","value":1,"else":2}`, `{"key":"k","value":}`, `[]`, ``} {
		require.NotNil(t, h.code("put", "%s", bad), bad)
	}
	require.Equal(t, before, h.call("get", `{"key":"k"}`))
}

func TestK40UnknownOperationsAndSurfaces(t *testing.T) {
	h := newHost(t, Options{})
	require.Equal(t, reply{"code": "invalid_argument", "field": "op"}, h.call("flush", `{}`))
	_, err := h.Call(ctx, "sqlStorage", "get", "t", []byte(`{"key":"k"}`))
	require.ErrorIs(t, err, &Error{Code: InvalidArgument})
}

func TestArgumentsAreAnObjectWithAllThatIsRequired(t *testing.T) {
	h := newHost(t, Options{})
	for _, args := range []string{`null`, `[]`, `"x"`, `1`} {
		_, err := h.raw("t", "list", args)
		require.EqualError(t, err, "kvstorage: invalid_argument: args: arguments are an object")
	}
	_, err := h.raw("t", "put", `{"key":"k"}`)
	require.EqualError(t, err, "kvstorage: invalid_argument: value: it is required")
}

// TestAValueThatIsTooLargeIsNotParsed: what a value has at least is counted before anything is made of it.
func TestAValueThatIsTooLargeIsNotParsed(t *testing.T) {
	s := newHost(t, Options{MaxValueBytes: 100}).Storage
	padded := []byte("\"" + strings.Repeat(`\u0061`, 90) + "\"" + strings.Repeat(" ", 10_000))
	_, err := s.Put(t.Context(), "t", "k", padded, WriteOptions{})
	require.NoError(t, err, "white space and escapes are not what is stored")
	var before, after runtime.MemStats
	text := []byte(strings.Repeat(`{"a":`, 1<<20))
	runtime.ReadMemStats(&before)
	_, err = s.Put(t.Context(), "t", "k", text, WriteOptions{})
	runtime.ReadMemStats(&after)
	require.Error(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(text)/8))
	_, err = s.Put(t.Context(), "t", "k", []byte("["+strings.Repeat("1,", 60)+"1]"), WriteOptions{})
	require.ErrorContains(t, err, "100")
}
