package stream

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

// tester is a test, or a case of a property.
type tester interface {
	require.TestingT
	Helper()
}

// host is the streams of tenant t on an engine with a clock by hand, and a space beside them
// that projections write to.
type host struct {
	t     tester
	db    engine.Engine
	clock *kvtest.Clock
	kv    *kv.Store
	store *Store
	ended bool
	bound *kv.Space
	*Streams
}

// bucketSpace is the space that projections write to.
const bucketSpace = "bucket"

func newHost(t testing.TB) *host {
	db := mem.New()
	h := openHost(t, db, kvtest.New())
	t.Cleanup(func() {
		h.end()
		_ = db.Close()
	})
	return h
}

func openHost(t tester, db engine.Engine, clock *kvtest.Clock) *host {
	h, err := tryHost(t, db, clock)
	require.NoError(t, err)
	return h
}

// tryHost is openHost on an engine that may fail.
func tryHost(t tester, db engine.Engine, clock *kvtest.Clock) (*host, error) {
	store, err := kv.Open(db, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	h := &host{t: t, db: db, clock: clock, kv: store}
	require.NoError(t, store.Declare(kv.Type{System: kv.SystemTest, Space: bucketSpace}))
	h.store, err = New(store, Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	if h.Streams, err = h.store.Open(ctx, "t"); err == nil {
		h.bound, err = store.CreateSpace(ctx, "t", kv.SystemTest, bucketSpace, kv.Quota{})
	}
	if err != nil {
		require.NoError(t, store.Close())
		return nil, err
	}
	return h, nil
}

// end checks and closes everything but the engine, once.
func (h *host) end() {
	if h.ended {
		return
	}
	h.ended = true
	for f, err := range h.kv.Check(ctx) {
		require.NoError(h.t, err)
		require.Fail(h.t, "the check finds", f.String())
	}
	require.Empty(h.t, faults(h.t, h.db, h.space.Scope()))
	require.NoError(h.t, h.kv.Close())
}

// faults is what the check of this package finds in the rows of an engine.
func faults(t tester, db engine.Engine, scope keys.Scope) (list []string) {
	var c Check
	it, err := db.Iterate(column.Generic, engine.Prefixed(scope[:]))
	require.NoError(t, err)
	defer func() { require.NoError(t, it.Close()) }()
	for it.Next() {
		row, err := kv.ParseRow(bytes.Clone(it.Key()))
		require.NoError(t, err)
		if fault := c.Row(row, bytes.Clone(it.Value())); fault != "" {
			list = append(list, fault)
		}
	}
	require.NoError(t, it.Err())
	if fault := c.End(); fault != "" {
		list = append(list, fault)
	}
	return list
}

// reopen is the next process.
func (h *host) reopen() {
	h.end()
	*h = *openHost(h.t, h.db, h.clock)
}

// create makes a stream s.
func (h *host) create(limits kv.StreamLimits) {
	h.t.Helper()
	made, err := h.Create(ctx, engine.WAL, "s", limits)
	require.NoError(h.t, err)
	require.True(h.t, made)
}

// consumer makes a consumer of s.
func (h *host) consumer(c Config) *Consumer {
	h.t.Helper()
	made, err := h.CreateConsumer(ctx, engine.WAL, "s", c)
	require.NoError(h.t, err)
	require.True(h.t, made)
	return h.find(c.Name)
}

func (h *host) find(name string) *Consumer {
	c, err := h.Streams.Consumer("s", name)
	require.NoError(h.t, err)
	return c
}

// add adds entries to s whose subjects, without a payload but their subject.
func (h *host) add(subjects ...string) {
	h.t.Helper()
	var list []Message
	for _, s := range subjects {
		list = append(list, Message{s, []byte(s)})
	}
	_, err := h.Publish(ctx, engine.WAL, "s", AppendOptions{}, list...)
	require.NoError(h.t, err)
}

// fetch is what a consumer delivers at once.
func (h *host) fetch(c *Consumer, limit int) []Delivery {
	h.t.Helper()
	list, err := c.Fetch(ctx, engine.WAL, FetchOptions{Limit: limit})
	require.NoError(h.t, err)
	return list
}

// shown is deliveries as number:subject×deliveries, in a line.
func shown(list []Delivery) string {
	var all []string
	for _, d := range list {
		all = append(all, fmt.Sprintf("%d:%s×%d", d.Number, d.Subject, d.Deliveries))
	}
	return strings.Join(all, " ")
}

// numbers are those of entries, in a line.
func numbers(list []Entry) string {
	var all []string
	for _, e := range list {
		all = append(all, fmt.Sprint(e.Number))
	}
	return strings.Join(all, " ")
}

func (h *host) info(c *Consumer) ConsumerInfo {
	h.t.Helper()
	info, err := c.Info(ctx)
	require.NoError(h.t, err)
	return info
}
