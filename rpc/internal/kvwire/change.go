package kvwire

import (
	"errors"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromExpect returns what is expected, nil if that is anything.
func FromExpect(e *kvstorage.Expect) *stoav1.KvExpect {
	if !e.Absent && e.Value == nil && !e.Strict && e.Revision == 0 {
		return nil
	}
	return &stoav1.KvExpect{Absent: e.Absent, Value: e.Value, Strict: e.Strict, Revision: e.Revision}
}

// Expect returns what is expected.
func Expect(m *stoav1.KvExpect) kvstorage.Expect {
	return kvstorage.Expect{Absent: m.GetAbsent(), Value: m.GetValue(), Strict: m.GetStrict(), Revision: m.GetRevision()}
}

// FromChange returns a change of a batch.
func FromChange(c *kvstorage.Change) *stoav1.KvChange {
	m := &stoav1.KvChange{Op: stoav1.KvOp(c.Op), Key: []byte(c.Key), Value: c.Value, TtlSeconds: c.TTLSeconds, Expect: FromExpect(&c.Expect)}
	if c.Op == kvstorage.OpIncrement {
		m.Delta = &c.Delta
	}
	return m
}

// Change returns a change of a batch. An operation that there is not is one that
// package kvstorage refuses.
func Change(m *stoav1.KvChange) kvstorage.Change {
	c := kvstorage.Change{Key: string(m.GetKey()), Value: m.GetValue(), Delta: Delta(m.Delta), TTLSeconds: m.TtlSeconds, Expect: Expect(m.GetExpect())}
	if op := m.GetOp(); op >= stoav1.KvOp_KV_OP_PUT && op <= stoav1.KvOp_KV_OP_SWAP {
		c.Op = kvstorage.Op(op)
	}
	return c
}

// FromResult returns what became of a change of a batch.
func FromResult(op kvstorage.Op, r *kvstorage.Result) *stoav1.KvResult {
	m := &stoav1.KvResult{Item: FromItem(&r.Item, op == kvstorage.OpIncrement), Revision: r.Revision}
	if op == kvstorage.OpSwap {
		m.Swapped = &r.Swapped
	}
	return m
}

// Result returns what became of a change of a batch, of which only the key is
// taken. It returns an error if the answer does not say what became of a swap.
func Result(c *kvstorage.Change, m *stoav1.KvResult) (kvstorage.Result, error) {
	r := kvstorage.Result{Item: Item(c.Key, m.GetItem()), Swapped: m.GetSwapped(), Revision: m.GetRevision()}
	if c.Op == kvstorage.OpSwap && m.Swapped == nil {
		return r, errors.New("it does not say whether a swap was made: read the key")
	}
	return r, nil
}

// FromDelta returns what an increment adds.
func FromDelta(n *int64) *int64 { return n }

// Delta returns what an increment adds; nil is 1.
func Delta(n *int64) int64 {
	if n == nil {
		return 1
	}
	return *n
}

// FromEvent returns what a watcher is told.
func FromEvent(e *kvstorage.Event) *stoav1.KvEvent {
	m := &stoav1.KvEvent{Kind: stoav1.KvEventKind(e.Kind), Revision: e.Revision}
	switch e.Kind {
	case kv.EventPut:
		m.Item = FromListed(&e.Item, true)
	case kv.EventDelete, kv.EventExpire:
		m.Item = &stoav1.KvItem{Key: []byte(e.Item.Key)}
	}
	return m
}

// Event returns what a watcher is told.
func Event(m *stoav1.KvEvent) kvstorage.Event {
	e := kvstorage.Event{Kind: kv.EventKind(m.GetKind()), Revision: m.GetRevision(), Item: Item(string(m.GetItem().GetKey()), nil)}
	if m.GetKind() == stoav1.KvEventKind_KV_EVENT_KIND_PUT {
		e.Item = Listed(m.GetItem())
	}
	return e
}
