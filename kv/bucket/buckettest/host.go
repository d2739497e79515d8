package buckettest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/contract"
	"github.com/stoadb/stoa/kv/kvtest"
)

var ctx = context.Background()

// Host is buckets on an engine in memory, with a clock by hand, and how a test reaches them. Its
// methods are about the tenant t, and fail the test where they return no error.
type Host struct {
	Buckets

	// What is behind: for what no client does.
	DB    engine.Engine
	Clock *kvtest.Clock
	KV    *kv.Store
	Store *bucket.Store

	t     testing.TB
	reach Reach
	leave func()
}

// Open opens buckets. Their rows are checked when they are closed, which is after the test at the
// latest.
func Open(t testing.TB, reach Reach) *Host {
	h := &Host{t: t, DB: mem.New(), Clock: kvtest.New(), reach: reach}
	h.begin()
	t.Cleanup(func() {
		h.end()
		require.NoError(t, h.DB.Close())
	})
	return h
}

func (h *Host) begin() {
	h.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	var err error
	h.KV, err = kv.Open(h.DB, kv.Options{Clock: h.Clock, Log: quiet})
	require.NoError(h.t, err)
	h.Store, err = bucket.New(h.KV, bucket.Options{Log: quiet})
	require.NoError(h.t, err)
	h.Buckets, h.leave = h.reach(h.t, h)
}

func (h *Host) end() {
	h.t.Helper()
	h.Sound()
	h.leave()
	require.NoError(h.t, h.KV.Close())
}

// Restart is the next process.
func (h *Host) Restart() {
	h.t.Helper()
	h.end()
	h.begin()
}

// Sound demands that all rows are as they should be.
func (h *Host) Sound() {
	h.t.Helper()
	for f, err := range h.KV.Check(ctx) {
		require.NoError(h.t, err)
		require.Fail(h.t, "the check finds", f.String())
	}
}

// Bucket is the bucket of a name.
func (h *Host) Bucket(name string) Bucket { return h.Named(bucket.Name{Bucket: name}) }

// Alias is the bucket that a service has by an alias.
func (h *Host) Alias(service, alias string) Bucket {
	return h.Named(bucket.Name{Service: service, Alias: alias})
}

// Made is a bucket that is made, of the name b unless it has another.
func (h *Host) Made(c bucket.Config) Bucket {
	h.t.Helper()
	if c.Name == "" {
		c.Name = "b"
	}
	_, err := h.Create(ctx, c)
	require.NoError(h.t, err)
	return h.Bucket(c.Name)
}

// Write puts a value, and returns its revision.
func (h *Host) Write(b Bucket, key, value string) uint64 {
	h.t.Helper()
	revision, err := b.Put(ctx, key, []byte(value), bucket.PutOptions{})
	require.NoError(h.t, err)
	return revision
}

// Info is what a bucket is.
func (h *Host) Info(b Bucket) bucket.Info {
	h.t.Helper()
	s, err := b.Status(ctx)
	require.NoError(h.t, err)
	return s.Info
}

// Told is the history of a key, as [Said] says it.
func (h *Host) Told(b Bucket, key string) (list []string) {
	h.t.Helper()
	entries, err := b.History(ctx, key)
	require.NoError(h.t, err)
	for _, e := range entries {
		list = append(list, Said(e))
	}
	return list
}

// Said is a revision of a key, as "1 put x".
func Said(e bucket.Entry) string {
	text := fmt.Sprint(e.Revision, " ", e.Op)
	if e.Op == bucket.OpPut {
		text += " " + string(e.Value)
	}
	return text
}

// Refused demands that something was refused.
func (h *Host) Refused(err error, code bucket.Code) *bucket.Error {
	h.t.Helper()
	var e *bucket.Error
	require.ErrorAs(h.t, err, &e)
	require.Equal(h.t, code, e.Code, "%v", err)
	return e
}

// Listed are the keys that match one of the filters.
func (h *Host) Listed(b Bucket, filters ...string) (list []string) {
	h.t.Helper()
	for key, err := range b.Keys(ctx, filters...) {
		require.NoError(h.t, err)
		list = append(list, key)
	}
	return list
}

// EntrySchema is what the values of most contracts here hold to.
const EntrySchema = `{"type":"object","required":["who"],"properties":{"who":{"type":"string"}}}`

// NamedSchema is what the values of other buckets hold to.
const NamedSchema = `{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}`

// Declared is a contract of a service, whose aliases are given as JSON without their schema and
// purpose, all of a schema.
func Declared(service, schema string, aliases map[string]string) []byte {
	kvs := map[string]json.RawMessage{}
	for alias, rest := range aliases {
		kvs[alias] = json.RawMessage(`{"purpose":"p","schema":{"schema":"E"}` + rest + `}`)
	}
	text, _ := json.Marshal(map[string]any{"service": service, "schemas": map[string]json.RawMessage{"E": json.RawMessage(schema)}, "resources": map[string]any{"kv": kvs}})
	return text
}

// Proposed proposes a contract, and returns its plan.
func (h *Host) Proposed(text []byte) *bucket.Proposal {
	h.t.Helper()
	a, err := h.Propose(ctx, text)
	require.NoError(h.t, err)
	p, err := h.Plan(ctx, a.Service)
	require.NoError(h.t, err)
	return p
}

// Agree accepts a contract, whatever its plan, and reconciles.
func (h *Host) Agree(text []byte) bucket.Reconciled {
	h.t.Helper()
	p := h.Proposed(text)
	_, err := h.Accept(ctx, p.Service, p.Digest, p.Class == contract.ClassMigration)
	require.NoError(h.t, err)
	r, err := h.Reconcile(ctx, p.Service)
	require.NoError(h.t, err)
	return r
}

// Names are those of the buckets.
func (h *Host) Names() (list []string) {
	h.t.Helper()
	all, err := h.List(ctx)
	require.NoError(h.t, err)
	for _, i := range all {
		list = append(list, i.Name)
	}
	return list
}

// Watching is a watch that a test takes events of, one at a time.
type Watching struct {
	t    testing.TB
	next func() (bucket.Event, error, bool)
}

// Watched begins a watch, which ends with the test.
func (h *Host) Watched(b Bucket, o bucket.WatchOptions) *Watching {
	c, cancel := context.WithCancel(ctx)
	next, stop := iter.Pull2(b.Watch(c, o))
	h.t.Cleanup(func() { cancel(); stop() })
	return &Watching{h.t, next}
}

// Next is the next event.
func (w *Watching) Next() bucket.Event {
	w.t.Helper()
	e, err, ok := w.next()
	require.True(w.t, ok)
	require.NoError(w.t, err)
	return e
}

// Tells demands the next events, as "KEY 1 put x", or their kinds.
func (w *Watching) Tells(want ...string) {
	w.t.Helper()
	for _, text := range want {
		require.Equal(w.t, text, told(w.Next()))
	}
}

func told(e bucket.Event) string {
	switch e.Kind {
	case bucket.EventEntry:
		return e.Entry.Key + " " + Said(e.Entry)
	case bucket.EventError:
		return e.Entry.Key + " " + Said(e.Entry) + " error"
	}
	return e.Kind.String()
}
