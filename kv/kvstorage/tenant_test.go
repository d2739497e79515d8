package kvstorage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

// all lists a tenant page by page.
func (h *host) all(tenant string, limit int) (keys []any) {
	h.t.Helper()
	for cursor := ""; ; {
		args := fmt.Sprintf(`{"limit":%d}`, limit)
		if cursor != "" {
			args = fmt.Sprintf(`{"limit":%d,"cursor":%q}`, limit, cursor)
		}
		page := h.as(tenant, "list", "%s", args)
		require.NotContains(h.t, page, "code")
		require.LessOrEqual(h.t, len(page["keys"].([]any)), limit)
		keys = append(keys, page["keys"].([]any)...)
		if page["nextCursor"] == nil {
			return keys
		}
		require.NotEmpty(h.t, page["keys"])
		cursor = page["nextCursor"].(string)
	}
}

func TestK08List(t *testing.T) {
	h := newHost(t, Options{})
	for _, key := range []string{"b/2", "a", "b/1", "c", "b/10", "bb"} {
		h.call("put", `{"key":"%s","value":"%s"}`, key, key)
	}
	h.call("put", `{"key":"b/0","value":0,"ttlSeconds":1}`)
	h.call("put", `{"key":"zz","value":0,"ttlSeconds":1}`)
	h.clock.Oversleep(2 * time.Second)
	page := h.call("list", `{"prefix":"b/","limit":2,"values":true}`)
	require.Equal(t, []any{"b/1", "b/10"}, page["keys"])
	require.Equal(t, "b/1", page["items"].([]any)[0].(map[string]any)["value"])
	page = h.call("list", `{"prefix":"b/","limit":2,"cursor":"%s"}`, page["nextCursor"])
	require.Equal(t, []any{"b/2"}, page["keys"])
	require.NotContains(t, page, "nextCursor")
	require.NotContains(t, h.call("list", `{"limit":6}`), "nextCursor", "only what has expired is left")
	require.Equal(t, []any{"a", "b/1", "b/10", "b/2", "bb", "c"}, h.all("t", 1))
	for _, limit := range []string{"0", "-1", "10001", "1.5"} {
		require.Equal(t, reply{"code": "invalid_argument", "field": "limit"}, h.call("list", `{"limit":%s}`, limit))
	}
}

func TestK09ListsAreIsolated(t *testing.T) {
	h := newHost(t, Options{})
	for n := range 5 {
		h.as("a", "put", `{"key":"%d","value":"secret"}`, n)
		h.as("b", "put", `{"key":"b%d","value":1}`, n)
	}
	require.Equal(t, []any{"b0", "b1", "b2", "b3", "b4"}, h.all("b", 2))
	cursor := h.as("a", "list", `{"limit":2}`)["nextCursor"].(string)
	for _, tenant := range []string{"b", "nobody"} {
		require.Equal(t, reply{"code": "INVALID_CURSOR", "field": "cursor"}, h.as(tenant, "list", `{"cursor":"%s"}`, cursor))
	}
	other := "A"
	if cursor[0] == 'A' {
		other = "B"
	}
	for _, bad := range []string{"x", "!!", cursor + "A", other + cursor[1:], cursor[:len(cursor)-2]} {
		require.Equal(t, "INVALID_CURSOR", h.as("a", "list", `{"cursor":"%s"}`, bad)["code"])
	}
	require.Equal(t, "INVALID_CURSOR", h.as("a", "list", `{"cursor":"%s","prefix":"x"}`, cursor)["code"], "of another question")
	h = h.reopen()
	require.Equal(t, []any{"2", "3"}, h.as("a", "list", `{"cursor":"%s","limit":2}`, cursor)["keys"], "it outlives a restart")
	_, _, err := h.DropTenant(ctx, "a")
	require.NoError(t, err)
	h.as("a", "put", `{"key":"z","value":1}`)
	require.Equal(t, "INVALID_CURSOR", h.as("a", "list", `{"cursor":"%s"}`, cursor)["code"], "and not the tenant")
}

func TestX13ListPaging(t *testing.T) {
	h := newHost(t, Options{})
	n := enginetest.Scale(10_000)
	var changes []Change
	for i := range n {
		changes = append(changes, Change{Op: OpPut, Key: fmt.Sprintf("%06d", i), Value: []byte("1")})
	}
	_, err := h.Batch(ctx, "t", changes, engine.WAL)
	require.NoError(t, err)
	keys := h.all("t", 100)
	require.Len(t, keys, n)
	for i, key := range keys {
		require.Equal(t, fmt.Sprintf("%06d", i), key)
	}
	// Deletes between pages neither repeat nor skip others.
	var got []any
	for cursor := ""; ; {
		page, err := h.List(ctx, "t", ListOptions{Cursor: cursor, Limit: 100})
		require.NoError(t, err)
		for _, i := range page.Items {
			got = append(got, i.Key)
		}
		_, err = h.Delete(ctx, "t", page.Items[len(page.Items)-1].Key, WriteOptions{Durability: engine.WAL})
		require.NoError(t, err)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	require.Equal(t, keys, got)
}

func TestK10K11TenantsDoNotMeet(t *testing.T) {
	h := newHost(t, Options{})
	h.as("a", "put", `{"key":"k","value":"secret"}`)
	miss, err := h.raw("b", "get", `{"key":"other"}`)
	require.NoError(t, err)
	got, err := h.raw("b", "get", `{"key":"k"}`)
	require.NoError(t, err)
	require.Equal(t, miss, got)
	require.Equal(t, false, h.as("b", "delete", `{"key":"k"}`)["existed"])
	require.Equal(t, false, h.as("b", "touch", `{"key":"k","ttlSeconds":1}`)["found"])
	swap := h.as("b", "cas", `{"key":"k","expect":"secret","newValue":1}`)
	require.Equal(t, []any{false, nil}, []any{swap["swapped"], swap["actual"]})
	require.Equal(t, number(1), h.as("b", "increment", `{"key":"k"}`)["value"])
	require.Equal(t, "secret", h.as("a", "get", `{"key":"k"}`)["value"])
	require.Equal(t, "1", h.as("a", "get", `{"key":"k"}`)["revision"])
}

func TestK12TheTenantIsRequired(t *testing.T) {
	h := newHost(t, Options{})
	for _, op := range []string{"get", "put", "delete", "list", "increment", "cas", "touch"} {
		args := map[string]string{"put": `{"key":"k","value":1}`, "list": `{}`, "cas": `{"key":"k","expectAbsent":true,"newValue":1}`}[op]
		if args == "" {
			args = `{"key":"k"}`
		}
		require.Equal(t, reply{"code": "invalid_argument", "field": "tenant"}, h.as("", op, "%s", args), op)
		require.Equal(t, "INVALID_TENANT", h.as(text(257), op, "%s", args)["code"], op)
	}
}

func TestX04TenantNames(t *testing.T) {
	h := newHost(t, Options{})
	names := []string{"a", "ab", "a:b", "a/b", "a\x00", "a\x00b", text(256), strings.Repeat("ü", 128), "\xff"}
	for i, name := range names {
		h.as(name, "put", `{"key":"k","value":%d}`, i)
	}
	for i, name := range names {
		require.Equal(t, number(i), h.as(name, "get", `{"key":"k"}`)["value"])
		require.Equal(t, []any{"k"}, h.all(name, 10))
	}
	var listed []string
	for tenant, err := range h.store.Tenants(ctx, "", true) {
		require.NoError(t, err)
		listed = append(listed, tenant.Name)
	}
	require.ElementsMatch(t, names, listed)
	require.IsIncreasing(t, listed)
}

// Two tenants run the same operations with values of their own: what one of them
// is told never depends on the other.
func TestX03TenantIsolation(t *testing.T) {
	both, alone := newHost(t, Options{}), newHost(t, Options{})
	r := rand.New(rand.NewPCG(7, 7))
	ops := []string{
		`get {"key":"%[1]s"}`, `put {"key":"%[1]s","value":"of-%[2]s-%[3]d"}`, `put {"key":"%[1]s","value":%[3]d,"ttlSeconds":2}`, `delete {"key":"%[1]s"}`,
		`increment {"key":"%[1]s","delta":%[3]d}`, `cas {"key":"%[1]s","expectAbsent":true,"newValue":"of-%[2]s"}`, `cas {"key":"%[1]s","expect":null,"newValue":"of-%[2]s"}`,
		`list {"limit":3,"values":true}`, `list {"prefix":"k1","values":true}`, `touch {"key":"%[1]s","ttlSeconds":1}`,
	}
	tell := func(h *host, tenant, op, args string) string {
		raw, err := h.raw(tenant, op, args)
		if err != nil {
			return err.Error()
		}
		return string(raw)
	}
	for n := range enginetest.Scale(1000) {
		tenant := []string{"t1", "t2"}[r.IntN(2)]
		key := fmt.Sprint("k", r.IntN(20))
		op, args, _ := strings.Cut(fmt.Sprintf(ops[r.IntN(len(ops))]+"%[4]s", key, tenant, n, ""), " ")
		got := tell(both, tenant, op, args)
		other := map[string]string{"t1": "of-t2", "t2": "of-t1"}[tenant]
		require.NotContains(t, got, other)
		if tenant == "t1" {
			want := tell(alone, tenant, op, args)
			require.Equal(t, comparable(want), comparable(got), "%s %s", op, args)
		}
		if r.IntN(20) == 0 {
			both.clock.Oversleep(500 * time.Millisecond)
			alone.clock.Oversleep(500 * time.Millisecond)
		}
	}
	both.clock.Pass(time.Minute)
	alone.clock.Pass(time.Minute)
	require.Eventually(t, func() bool {
		stats, err := both.Stats("t1")
		require.NoError(t, err)
		want, err := alone.Stats("t1")
		require.NoError(t, err)
		return want == stats
	}, 10*time.Second, time.Millisecond)
}

// comparable is an answer without its cursor, which is signed with the secret of
// its store, and without revisions, which count expiries when they are swept.
func comparable(answer string) string {
	before, _, _ := strings.Cut(answer, `,"nextCursor"`)
	return regexp.MustCompile(`"revision":"\d+",?`).ReplaceAllString(before, "")
}

func TestX01X02OnlyGenericAndNothingOfOthers(t *testing.T) {
	h := newHost(t, Options{})
	before := map[string]string{}
	var foreign engine.Batch
	for _, scope := range []string{"sync-in-progres\x00", "sse-sessions\x00\x00\x00\x00", "ssl_certs:server"} {
		before[scope+strings.Repeat("\x00", 32)] = "legacy " + scope
		foreign.Put(column.Generic, []byte(scope+strings.Repeat("\x00", 32)), []byte("legacy "+scope))
	}
	foreign.Put(column.State, make([]byte, 33), []byte("state"))
	require.NoError(t, h.db.Apply(&foreign))
	for n := range 20 {
		h.as(fmt.Sprint(n%3), "put", `{"key":"%d","value":1,"ttlSeconds":60}`, n)
	}
	_, _, err := h.DropTenant(ctx, "0")
	require.NoError(t, err)
	require.Len(t, h.all("1", 100)[0:], 7)
	stats, err := h.db.Stats()
	require.NoError(t, err)
	for _, c := range stats.Columns {
		switch c.Column {
		case column.Generic:
		case column.State:
			require.Equal(t, uint64(1), c.Keys)
		default:
			require.Zero(t, c.Keys, "%s", c.Column)
		}
	}
	for key, want := range before {
		got, err := h.db.Get(nil, column.Generic, []byte(key))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
}

func TestDroppingATenantLeavesNothing(t *testing.T) {
	h := newHost(t, Options{})
	h.call("put", `{"key":"k","value":1,"ttlSeconds":60}`)
	h.as("u", "put", `{"key":"k","value":1}`)
	had, dropped, err := h.DropTenant(ctx, "t")
	require.NoError(t, err)
	require.True(t, dropped)
	require.Equal(t, kv.Dropped{Keys: 1, Bytes: 2}, had)
	had, dropped, err = h.DropTenant(ctx, "t")
	require.NoError(t, err)
	require.False(t, dropped)
	require.Zero(t, had)
	there, err := h.HasTenant("t")
	require.NoError(t, err)
	require.False(t, there)
	for _, want := range []bool{true, false} {
		created, err := h.CreateTenant(ctx, "t", kv.Quota{})
		require.NoError(t, err)
		require.Equal(t, want, created)
	}
	there, err = h.HasTenant("t")
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, false, h.call("get", `{"key":"k"}`)["found"])
	require.Equal(t, "1", h.call("put", `{"key":"l","value":1}`)["revision"], "a tenant of the same name begins anew")
	require.Equal(t, []any{"l"}, h.all("t", 10))
	require.Equal(t, []any{"k"}, h.all("u", 10))
}

func TestK41Quotas(t *testing.T) {
	h := newHost(t, Options{Quota: kv.Quota{Keys: 2, Bytes: 20}})
	require.Nil(t, h.code("put", `{"key":"a","value":"12345"}`)) // 1 + 7
	require.Nil(t, h.code("put", `{"key":"b","value":"12345","ttlSeconds":1}`))
	require.Equal(t, reply{"code": "kv_quota_exhausted", "field": "keys"}, h.call("put", `{"key":"c","value":1}`))
	require.Equal(t, reply{"code": "kv_quota_exhausted", "field": "bytes"}, h.call("put", `{"key":"a","value":"1234567890"}`))
	require.Equal(t, "12345", h.call("get", `{"key":"a"}`)["value"])
	require.Nil(t, h.code("put", `{"key":"a","value":"1234"}`), "smaller is fine")
	h.pass(1100*time.Millisecond, 1)
	require.Nil(t, h.code("put", `{"key":"c","value":1}`), "what expired is free")
	created, err := h.CreateTenant(ctx, "t", kv.Quota{Keys: 1})
	require.NoError(t, err)
	require.False(t, created)
	require.Nil(t, h.code("put", `{"key":"a","value":"a longer one than before"}`), "it does not hold more keys than it did")
	require.Equal(t, "kv_quota_exhausted", h.code("increment", `{"key":"d"}`))
	h.call("delete", `{"key":"a"}`)
	require.Equal(t, "kv_quota_exhausted", h.code("increment", `{"key":"d"}`), "c is there")
	h.call("delete", `{"key":"c"}`)
	require.Nil(t, h.code("increment", `{"key":"d"}`))
}

// The counters equal a recount after any operations: the check at the end of
// every test recounts, and here the test does.
func TestX16CountersEqualARecount(t *testing.T) {
	h := newHost(t, Options{Quota: kv.Quota{Keys: 30, Bytes: 600}})
	r := rand.New(rand.NewPCG(9, 9))
	refused := 0
	for range enginetest.Scale(10_000) {
		key := fmt.Sprint("k", r.IntN(60))
		var got reply
		switch r.IntN(6) {
		case 0, 1:
			got = h.call("put", `{"key":"%s","value":"%s"}`, key, text(r.IntN(40)))
		case 2:
			got = h.call("put", `{"key":"%s","value":"%s","ttlSeconds":%d}`, key, text(r.IntN(40)), 1+r.IntN(3))
		case 3:
			got = h.call("delete", `{"key":"%s"}`, key)
		case 4:
			got = h.call("increment", `{"key":"%s"}`, key)
		case 5:
			h.clock.Pass(time.Duration(r.IntN(50)) * time.Millisecond)
		}
		if got["code"] == "kv_quota_exhausted" {
			refused++
		}
	}
	require.NotZero(t, refused)
	h.clock.Pass(10 * time.Second)
	count := func() (want kv.Stats) {
		for i, err := range h.All(ctx, "t", "") {
			require.NoError(t, err)
			want.Keys++
			want.Bytes += uint64(len(i.Key) + len(i.Value))
		}
		return want
	}
	require.Eventually(t, func() bool {
		stats, err := h.Stats("t")
		require.NoError(t, err)
		want := count()
		return stats.Keys == want.Keys && stats.Bytes == want.Bytes
	}, 10*time.Second, 5*time.Millisecond)
}

func TestX15ExportAndImport(t *testing.T) {
	h := newHost(t, Options{})
	h.call("put", `{"key":"a\nb","value":{"x":[1,"<&>"]}}`)
	h.call("put", `{"key":"n","value":null,"ttlSeconds":60}`)
	_, err := h.Increment(ctx, "t", "big", 1<<62, WriteOptions{})
	require.NoError(t, err)
	for n := range 2 * importLines {
		h.call("put", `{"key":"many/%d","value":%d}`, n, n)
	}
	var first, second bytes.Buffer
	require.NoError(t, h.Export(ctx, "t", &first))
	fresh := openHost(t, mem.New(), h.clock, Options{})
	n, err := fresh.Import(ctx, "t", bytes.NewReader(first.Bytes()))
	require.NoError(t, err)
	require.Equal(t, 3+2*importLines, n)
	require.NoError(t, fresh.Export(ctx, "t", &second))
	require.Equal(t, first.String(), second.String())
	require.Equal(t, fmt.Sprint(1<<62+1), fresh.call("increment", `{"key":"big"}`)["value"])
	h.clock.Pass(61 * time.Second)
	late := newHost(t, Options{})
	late.clock.Pass(61 * time.Second)
	n, err = late.Import(ctx, "t", strings.NewReader(first.String()))
	require.NoError(t, err)
	require.Equal(t, 2+2*importLines, n, "what has expired is left out")
	for _, bad := range []string{"x", "[]", `{"key":"k"}`, `{"value":1}`, `{"key":"k","value":1,"what":2}`, `{"key":"k","value":1.5,"counter":true}`, `{"key":"k","value":1,"expiresAt":"soon"}`} {
		_, err := late.Import(ctx, "t", strings.NewReader(`{"key":"ok","value":1}`+"\n"+bad+"\n"))
		require.ErrorContains(t, err, "line 2", bad)
		require.Equal(t, false, late.call("get", `{"key":"ok"}`)["found"], "nothing of the batch")
	}
}

func TestAnImportEndsWithTheErrorOfItsReader(t *testing.T) {
	h := newHost(t, Options{})
	broken := errors.New("the disk burns")
	for _, read := range []string{"", `{"key":"k","value":1}`, `{"key":"k","value":1}` + "\n"} {
		n, err := h.Import(ctx, "t", io.MultiReader(strings.NewReader(read), iotest.ErrReader(broken)))
		require.ErrorIs(t, err, broken)
		require.Zero(t, n)
	}
}

// reading counts the entries that iterators read.
type reading struct {
	engine.Engine
	entries atomic.Int64
}

type readingPager struct {
	*engine.Iterator
	r *reading
}

func (p readingPager) Page(dst []byte, maxEntries, maxBytes int) ([]byte, int, error) {
	before := len(dst)
	dst = p.Iterator.Page(dst, maxEntries, maxBytes)
	if len(dst) == before {
		return dst, 0, p.Err()
	}
	p.r.entries.Add(int64(p.PageEntries()))
	return dst, p.PageEntries(), p.Err()
}

func (r *reading) Iterate(col column.Column, in engine.Range) (*engine.Iterator, error) {
	it, err := r.Engine.Iterate(col, in)
	if err != nil {
		return nil, err
	}
	return engine.NewIterator(readingPager{it, r}, 0), nil
}

func TestK45ListingATenantReadsOnlyItsOwnRange(t *testing.T) {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	r := &reading{Engine: db}
	h := openHost(t, r, kvtest.New(), Options{})
	tenants := enginetest.Scale(10_000)
	for n := range tenants {
		var changes []Change
		for k := range 10 {
			changes = append(changes, Change{Op: OpPut, Key: fmt.Sprint(k), Value: []byte("1")})
		}
		_, err := h.Batch(ctx, fmt.Sprint("tenant", n), changes, engine.WAL)
		require.NoError(t, err)
	}
	for _, n := range []int{0, tenants / 2, tenants - 1} {
		before := r.entries.Load()
		page := h.as(fmt.Sprint("tenant", n), "list", `{}`)
		require.Len(t, page["keys"], 10)
		require.LessOrEqual(t, r.entries.Load()-before, int64(12))
	}
}

// A load in batches is what single puts make, and the benchmarks measure it.
func TestK46BulkLoadByBatch(t *testing.T) {
	one, bulk := newHost(t, Options{}), newHost(t, Options{})
	var changes []Change
	for n := range 500 {
		value := json.RawMessage(fmt.Sprint(n))
		changes = append(changes, Change{Op: OpPut, Key: fmt.Sprint(n % 400), Value: value})
		_, err := one.Put(ctx, "t", fmt.Sprint(n%400), value, WriteOptions{Durability: engine.WAL})
		require.NoError(t, err)
	}
	_, err := bulk.Batch(ctx, "t", changes, engine.WAL)
	require.NoError(t, err)
	var a, b bytes.Buffer
	require.NoError(t, one.Export(ctx, "t", &a))
	require.NoError(t, bulk.Export(ctx, "t", &b))
	require.Equal(t, a.String(), b.String())
	was, err := one.Stats("t")
	require.NoError(t, err)
	is, err := bulk.Stats("t")
	require.NoError(t, err)
	require.Equal(t, was, is)
}

// A store that nobody has written to has no rows of the house either: an engine
// that takes no writes can be opened, and two new ones are the same.
func TestOpeningAndReadingWriteNothing(t *testing.T) {
	h := newHost(t, Options{})
	_, err := h.Get(ctx, "t", "k")
	require.NoError(t, err)
	_, err = h.List(ctx, "t", ListOptions{Cursor: "none"})
	require.ErrorIs(t, err, &Error{Code: InvalidCursor})
	_, err = h.Stats("t")
	require.NoError(t, err)
	_, err = h.Touch(ctx, "t", "k", WriteOptions{})
	require.NoError(t, err)
	_, err = h.Delete(ctx, "t", "k", WriteOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, h.SetQuota(ctx, "t", kv.Quota{Keys: 1}), kv.ErrSpaceNotFound)
	for name, err := range h.Tenants(ctx, "") {
		require.Fail(t, "a tenant", "%q %v", name, err)
	}
	it, err := h.db.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	require.False(t, it.Next())

	_, err = h.CreateTenant(ctx, "t", kv.Quota{})
	require.NoError(t, err)
	require.NoError(t, h.SetQuota(ctx, "t", kv.Quota{Keys: 1}))
	stats, err := h.Stats("t")
	require.NoError(t, err)
	require.Equal(t, kv.Quota{Keys: 1}, stats.Quota)
	for name, err := range h.Tenants(ctx, "") {
		require.NoError(t, err)
		require.Equal(t, "t", name)
	}
}
