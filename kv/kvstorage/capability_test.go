package kvstorage

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv"
)

// fits checks a value against a schema of the few words that the RFC's has. A
// word that it does not know is a fault of the schema.
func fits(schema map[string]any, v any) error {
	for word := range schema {
		if !slices.Contains([]string{"type", "description", "properties", "minimum", "additionalProperties"}, word) {
			return fmt.Errorf("the schema says %q", word)
		}
	}
	switch schema["type"] {
	case "boolean":
		if _, ok := v.(bool); !ok {
			return fmt.Errorf("%v is no boolean", v)
		}
	case "integer":
		n, ok := v.(float64)
		if !ok || n != float64(int64(n)) || n < schema["minimum"].(float64) {
			return fmt.Errorf("%v is no integer from %v on", v, schema["minimum"])
		}
	case "object":
		properties := schema["properties"].(map[string]any)
		for name, value := range v.(map[string]any) {
			one, ok := properties[name].(map[string]any)
			if !ok {
				return fmt.Errorf("%s is no property", name)
			}
			if err := fits(one, value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	default:
		return fmt.Errorf("type %v", schema["type"])
	}
	return nil
}

func TestK01CapabilityDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "capability.schema.json"))
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(text, &schema))
	require.Error(t, fits(schema, map[string]any{"supported": 1.0}))
	require.Error(t, fits(schema, map[string]any{"maxKeyBytes": -1.0}))
	require.Error(t, fits(schema, map[string]any{"else": true}))
	for _, o := range []Options{{}, {Off: true}, {NoIncrement: true, NoCompareAndSwap: true, MaxKeyBytes: 7, MaxValueBytes: 8, MaxTTLSeconds: 9}} {
		h := newHost(t, o)
		doc := h.call("capabilities", `{}`)
		for _, name := range []string{"supported", "maxKeyBytes", "maxValueBytes", "maxTtlSeconds", "atomicIncrement", "compareAndSwap"} {
			require.Contains(t, doc, name)
		}
		require.Len(t, doc, 6)
		raw, err := json.Marshal(h.Capability())
		require.NoError(t, err)
		var v any
		require.NoError(t, json.Unmarshal(raw, &v))
		require.NoError(t, fits(schema, v))
	}
	for _, bad := range []Options{{MaxKeyBytes: -1}, {MaxKeyBytes: kv.MaxKey + 1}, {MaxValueBytes: kv.MaxValue + 1}, {MaxTTLSeconds: maxTTL + 1}} {
		require.Error(t, bad.check(), "%+v", bad)
	}
}

func TestLimitsOfOneAndOfTheStoreAreInRange(t *testing.T) {
	require.NoError(t, Options{MaxKeyBytes: 1, MaxValueBytes: 1, MaxTTLSeconds: 1}.Check())
	require.NoError(t, Options{MaxKeyBytes: kv.MaxKey, MaxValueBytes: kv.MaxValue, MaxTTLSeconds: maxTTL}.Check())
	for _, o := range []Options{{MaxKeyBytes: -1}, {MaxKeyBytes: kv.MaxKey + 1}, {MaxValueBytes: -1}, {MaxValueBytes: kv.MaxValue + 1},
		{MaxTTLSeconds: -1}, {MaxTTLSeconds: maxTTL + 1}} {
		require.ErrorIs(t, o.Check(), &Error{Code: InvalidArgument})
	}
}

func TestK02ConfiguredOff(t *testing.T) {
	h := newHost(t, Options{Off: true})
	for op, args := range map[string]string{"get": `{"key":"k"}`, "put": `{"key":"k","value":1}`, "delete": `{"key":"k"}`, "list": `{}`,
		"increment": `{"key":"k"}`, "cas": `{"key":"k","expectAbsent":true,"newValue":1}`, "touch": `{"key":"k"}`} {
		require.Equal(t, "host_capability_missing", h.code(op, "%s", args), op)
	}
	for _, err := range h.Watch(ctx, "t", kv.WatchOptions{}) {
		require.ErrorIs(t, err, &Error{Code: CapabilityMissing})
	}
	require.Equal(t, false, h.call("capabilities", `{}`)["supported"])

	h = newHost(t, Options{NoIncrement: true})
	require.Equal(t, "host_capability_missing", h.code("increment", `{"key":"k"}`))
	require.Equal(t, true, h.call("cas", `{"key":"k","expectAbsent":true,"newValue":1}`)["swapped"])
	h = newHost(t, Options{NoCompareAndSwap: true})
	require.Equal(t, "host_capability_missing", h.code("cas", `{"key":"k","expectAbsent":true,"newValue":1}`))
	require.Equal(t, number(1), h.call("increment", `{"key":"k"}`)["value"])
}

func TestK42TheV2CodesOfLimits(t *testing.T) {
	h := newHost(t, Options{ErrorsV2: true, MaxKeyBytes: 4, MaxValueBytes: 8, MaxTTLSeconds: 10, Quota: kv.Quota{Keys: 1, Bytes: 10}})
	require.Nil(t, h.code("put", `{"key":"k","value":1}`))
	for args, limit := range map[string]string{
		`{"key":"12345","value":1}`: "maxKeyBytes", `{"key":"k","value":"12345678"}`: "maxValueBytes", `{"key":"k","value":1,"ttlSeconds":11}`: "maxTtlSeconds",
		`{"key":"l","value":1}`: "quotaKeys", `{"key":"kkkk","value":"123456"}`: "quotaKeys", `{"key":"k","value":1,"ttlSeconds":0}`: "",
	} {
		_, err := h.raw("t", "put", args)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, limit, e.Name, args)
		require.Equal(t, map[bool]Code{true: LimitExceeded, false: InvalidArgument}[limit != ""], e.Code)
		text, err := json.Marshal(e)
		require.NoError(t, err)
		if limit != "" {
			require.Contains(t, string(text), fmt.Sprintf(`"limit":%q`, limit))
		}
	}
}

// Every refusal has a code of the list and a field, and shows neither a key nor a
// value nor a place of the machine.
func TestErrorsSayCodeFieldAndReason(t *testing.T) {
	require.EqualError(t, &Error{Code: Conflict, Reason: "why"}, "kvstorage: "+string(Conflict)+": why")
	require.EqualError(t, &Error{Code: Conflict, Field: "f", Reason: "why"}, "kvstorage: "+string(Conflict)+": f: why")
}

func TestX12ErrorShape(t *testing.T) {
	h := newHost(t, Options{MaxKeyBytes: 20, MaxValueBytes: 40, MaxTTLSeconds: 10, Quota: kv.Quota{Keys: 1}})
	h.call("put", `{"key":"secret-key","value":"secret-value"}`)
	codes := map[Code]bool{}
	for _, c := range [][3]string{
		{"put", "t", `{"key":"secret-key","value":"secret-` + text(60) + `"}`}, {"put", "t", `{"key":"secret-` + text(60) + `","value":1}`},
		{"put", "t", `{"key":"secret-2","value":1}`}, {"put", "t", `{"key":"secret-key","value":1,"ttlSeconds":11}`}, {"put", "t", `{"key":"secret-key","value":1,"secret-":11}`},
		{"increment", "t", `{"key":"secret-key"}`}, {"get", "", `{"key":"secret-key"}`}, {"get", "secret-" + text(300), `{"key":"secret-key"}`},
		{"list", "t", `{"cursor":"secret-"}`}, {"secret-op", "t", `{}`}, {"put", "t", `{"key":"secret-key","value":secret-}`},
	} {
		_, err := h.raw(c[1], c[0], c[2])
		var e *Error
		require.ErrorAs(t, err, &e, "%v", c)
		codes[e.Code] = true
		require.NotEmpty(t, e.Field)
		text, _ := json.Marshal(e)
		for _, leak := range []string{"secret-", "/work", "/tmp", ".go"} {
			require.NotContains(t, err.Error()+string(text), leak)
		}
	}
	_, err := h.Increment(ctx, "u", "n", 1<<62, WriteOptions{})
	require.NoError(t, err)
	_, err = h.Increment(ctx, "u", "n", 1<<62, WriteOptions{})
	require.ErrorIs(t, err, &Error{Code: Overflow})
	require.Len(t, codes, 8)
}

// The four scenarios of the RFC's section D, as TestConformance…; none of them
// may be skipped.

func TestConformanceCrossTenantIsolation(t *testing.T) {
	h := newHost(t, Options{})
	h.as("tenant-a", "set", `{"key":"k","value":"of a"}`)
	require.Equal(t, false, h.as("tenant-b", "get", `{"key":"k"}`)["found"])
	require.Equal(t, "of a", h.as("tenant-a", "get", `{"key":"k"}`)["value"])
}

func TestConformanceAtomicIncrement(t *testing.T) {
	h := newHost(t, Options{})
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() { h.call("increment", `{"key":"k","delta":1}`) })
	}
	wg.Wait()
	require.Equal(t, number(1000), h.call("get", `{"key":"k"}`)["value"])
}

func TestConformanceCompareAndSwap(t *testing.T) {
	h := newHost(t, Options{})
	h.call("set", `{"key":"k","value":"new"}`)
	require.Equal(t, false, h.call("cas", `{"key":"k","expect":"old","set":"newer"}`)["swapped"])
	require.Equal(t, "new", h.call("get", `{"key":"k"}`)["value"])
}

func TestConformanceTTLExpiry(t *testing.T) {
	h := newHost(t, Options{})
	h.call("set", `{"key":"k","value":1,"ttlSeconds":1}`)
	h.clock.Pass(900 * time.Millisecond)
	require.Equal(t, true, h.call("get", `{"key":"k"}`)["found"])
	h.clock.Pass(1100 * time.Millisecond)
	require.Equal(t, false, h.call("get", `{"key":"k"}`)["found"])
}

func TestK43ConformanceRun(t *testing.T) {
	for name, scenario := range map[string]func(*testing.T){
		"kv-cross-tenant-isolation": TestConformanceCrossTenantIsolation, "kv-atomic-increment": TestConformanceAtomicIncrement,
		"kv-cas": TestConformanceCompareAndSwap, "kv-ttl-expiry": TestConformanceTTLExpiry,
	} {
		skipped := true
		require.True(t, t.Run(name, func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			scenario(t)
		}))
		require.False(t, skipped, "a scenario that is skipped has failed")
	}
}

func TestK44InvariantsAreListed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "invariants.json"))
	require.NoError(t, err)
	var list []struct{ ID, Tier, Summary, Package, Test string }
	require.NoError(t, json.Unmarshal(text, &list))
	found := false
	for _, i := range list {
		found = found || i.ID == "kv-cross-tenant-isolation"
		require.NotEmpty(t, i.Summary)
		files, err := filepath.Glob(filepath.Join("..", "..", i.Package, "*_test.go"))
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(files, func(file string) bool {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			return strings.Contains(string(source), "func "+i.Test+"(t *testing.T)")
		}), "%s has no test %s", i.ID, i.Test)
	}
	require.True(t, found)
}

func TestEventsOfValues(t *testing.T) {
	h := newHost(t, Options{})
	h.call("put", `{"key":"a","value":[1]}`)
	h.call("put", `{"key":"b","value":1,"ttlSeconds":1}`)
	h.call("delete", `{"key":"a"}`)
	h.pass(2*time.Second, 0)
	var got []string
	for e, err := range h.Watch(ctx, "t", kv.WatchOptions{Start: kv.FromRevision}) {
		require.NoError(t, err)
		got = append(got, fmt.Sprint(e.Kind, " ", e.Item.Key, " ", string(e.Item.Value)))
		if e.Revision == 4 {
			break
		}
	}
	require.Equal(t, []string{"put a [1]", "put b 1", "delete a null", "expire b null"}, got)
	require.NoError(t, h.store.Close())
	_, err := h.Get(ctx, "t", "a")
	require.True(t, errors.Is(err, kv.ErrClosed))
}
