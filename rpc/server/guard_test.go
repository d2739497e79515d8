package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/link"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// startGuarded starts a daemon that has locks, and what they guard.
func startGuarded(t *testing.T, without bool) *testDaemon {
	eng := mem.New()
	store, err := kv.Open(eng, kv.Options{Clock: kvtest.New(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	storage, err := kvstorage.New(store, kvstorage.Options{})
	require.NoError(t, err)
	notes, err := record.Parse([]byte(`{"name":"note","id":{"field":"id","kind":"given"},"schema":{"type":"object","properties":{"id":{"type":"string"},"state":{"type":"string","enum":["open","closed"]}}},
		"states":{"field":"state","initial":"open","transitions":{"open":["closed"]}}}`))
	require.NoError(t, err)
	records, err := record.New(store, record.Options{}, notes)
	require.NoError(t, err)
	locks, err := lock.New(store, lock.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	o := Options{KV: storage, Records: records, Locks: locks, Raw: true}
	if without {
		o.Locks = nil
	}
	d := start(t, eng, o)
	t.Cleanup(func() {
		d.stop()
		locks.Close()
		require.NoError(t, store.Close())
	})
	return d
}

// guardedWrites are all writes that take guards, each of which succeeds while its lock is held, in
// this order.
func guardedWrites(ctx context.Context, c *rpc.Client, name string) []func(token uint64) error {
	k, r := c.KV("acme"), c.Records("acme")
	doc := func(_ rpc.Doc, err error) error { return err }
	item := func(_ rpc.Item, err error) error { return err }
	return []func(uint64) error{
		func(token uint64) error { return item(k.Put(ctx, "k", []byte("v"), rpc.Guarded(name, token))) },
		func(token uint64) error {
			return item(k.PutJSON(ctx, "long", make([]byte, 100_000), rpc.Guarded(name, token)))
		},
		func(token uint64) error { return item(k.Touch(ctx, "k", rpc.Guarded(name, token))) },
		func(token uint64) error { return item(k.Increment(ctx, "n", 2, rpc.Guarded(name, token))) },
		func(token uint64) error {
			_, err := k.CompareAndSwap(ctx, "k", rpc.Expect{Value: rpc.JSONOfBytes([]byte("v"))}, []byte("w"), rpc.Guarded(name, token))
			return err
		},
		func(token uint64) error {
			_, err := k.CompareAndDelete(ctx, "k", rpc.Expect{Value: rpc.JSONOfBytes([]byte("w"))}, rpc.Guarded(name, token))
			return err
		},
		func(token uint64) error { _, err := k.Delete(ctx, "k", rpc.Guarded(name, token)); return err },
		func(token uint64) error {
			_, err := k.Batch(ctx, []rpc.Change{{Op: rpc.OpPut, Key: "b", Value: json.RawMessage("1")}}, rpc.WAL, rpc.Guarded(name, token))
			return err
		},
		func(token uint64) error {
			return doc(r.Create(ctx, "note", map[string]string{"id": "1"}, rpc.RecordGuarded(name, token)))
		},
		func(token uint64) error {
			return doc(r.Update(ctx, "note", "1", map[string]string{"text": "a"}, rpc.RecordGuarded(name, token)))
		},
		func(token uint64) error { // which changes nothing
			return doc(r.Update(ctx, "note", "1", map[string]string{}, rpc.RecordGuarded(name, token)))
		},
		func(token uint64) error {
			return doc(r.Transition(ctx, "note", "1", "closed", nil, rpc.RecordGuarded(name, token)))
		},
		func(token uint64) error { return doc(r.Delete(ctx, "note", "1", rpc.RecordGuarded(name, token))) },
		func(token uint64) error {
			var b engine.Batch
			b.Put(column.Generic, row("guarded"), []byte("v"))
			return c.Store(ctx).Guarded("acme", rpc.LockGuard{Name: name, Token: token}).Apply(&b)
		},
	}
}

// Each write that carries a guard is made while the lock is held by the grant of the token,
// and is fenced, with the present token, once it is not.
func TestWritesCarryGuards(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startGuarded(t, false)
		c := d.dialAs(t, f)
		ctx := t.Context()
		l := c.Locks("acme")
		const name = "task:deploy"
		first, err := l.Acquire(ctx, rpc.LockRequest{Name: name, Agent: "a"})
		require.NoError(t, err)
		_, err = l.Release(ctx, rpc.LockHolding{Name: name, Agent: "a"}, rpc.WAL)
		require.NoError(t, err)
		second, err := l.Acquire(ctx, rpc.LockRequest{Name: name, Agent: "b"})
		require.NoError(t, err)
		for n, write := range guardedWrites(ctx, c, name) {
			err := write(first.Token)
			require.ErrorIs(t, err, lock.ErrFenced, "write %d", n)
			var e *lock.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, second.Token, e.Token)
			require.Equal(t, name, e.Lock)
			exit, _ := rpc.Explain(err)
			require.Equal(t, 5, exit)
			require.NoError(t, write(second.Token), "write %d", n)
		}
		_, err = c.KV("acme").Put(ctx, "k", []byte("v"), rpc.Guarded(name, second.Token), rpc.Guarded("task:other", 1))
		require.ErrorIs(t, err, lock.ErrFenced, "of several, all are to be held")
		_, err = c.KV("acme").Put(ctx, "k", []byte("v"), rpc.Guarded("nonsense", 1))
		require.ErrorIs(t, err, lock.ErrInvalidArgument)
		_, err = c.KV("other").Put(ctx, "k", []byte("v"), rpc.Guarded(name, second.Token))
		require.ErrorIs(t, err, lock.ErrFenced, "guards are of the tenant that the write is of")
		_, err = c.KV("acme").Get(ctx, "k")
		require.ErrorIs(t, err, rpc.ErrNotFound)

		conn, err := link.Dial(ctx, d.path, nil)
		require.NoError(t, err)
		defer conn.Close()
		ask := &stoav1.KvPutRequest{Tenant: []byte("acme"), Key: []byte("k"), Value: []byte("1"), Durability: stoav1.Durability_DURABILITY_WAL,
			Guards: []*stoav1.LockGuard{{Name: name, Token: first.Token}}}
		err = conn.Call(ctx, patience, 202, ask, new(stoav1.KvPutResponse)) // which is put in short
		require.ErrorIs(t, fault.FromStatus(err), lock.ErrFenced)
		ask.Guards[0].Token = second.Token
		require.NoError(t, conn.Call(ctx, patience, 202, ask, new(stoav1.KvPutResponse)))
	})
}

// A daemon that does not look at guards gets no guarded writes.
func TestGuardsOfADaemonWithoutLocks(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		c := startGuarded(t, true).dialAs(t, f)
		for n, write := range guardedWrites(t.Context(), c, "task:1") {
			require.ErrorIs(t, write(1), engine.ErrUnsupported, "write %d", n)
		}
		_, err := c.KV("acme").Get(t.Context(), "b")
		require.ErrorIs(t, err, rpc.ErrNotFound)
	})
}
