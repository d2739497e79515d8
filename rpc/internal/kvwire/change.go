package kvwire

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// fromExpect returns what is expected, nil if that is anything.
func fromExpect(e *kvstorage.Expect) *stoav1.KvExpect {
	if !e.Absent && e.Value == nil && !e.Strict && e.Revision == 0 {
		return nil
	}
	return &stoav1.KvExpect{Absent: e.Absent, Value: e.Value, Strict: e.Strict, Revision: e.Revision}
}

// expect returns what is expected.
func expect(m *stoav1.KvExpect) kvstorage.Expect {
	return kvstorage.Expect{Absent: m.GetAbsent(), Value: m.GetValue(), Strict: m.GetStrict(), Revision: m.GetRevision()}
}

// fromChange returns a change of a batch.
func fromChange(c *kvstorage.Change) *stoav1.KvChange {
	m := &stoav1.KvChange{Op: stoav1.KvOp(c.Op), Key: []byte(c.Key), Value: c.Value, TtlSeconds: c.TTLSeconds, Expect: fromExpect(&c.Expect)}
	if c.Op == kvstorage.OpIncrement {
		m.Delta = &c.Delta
	}
	return m
}

// change returns a change of a batch. An operation that there is not is one that
// package kvstorage refuses.
func change(m *stoav1.KvChange) kvstorage.Change {
	c := kvstorage.Change{Key: string(m.GetKey()), Value: m.GetValue(), Delta: Delta(m.Delta), TTLSeconds: m.TtlSeconds, Expect: expect(m.GetExpect())}
	if op := m.GetOp(); op >= stoav1.KvOp_KV_OP_PUT && op <= stoav1.KvOp_KV_OP_SWAP {
		c.Op = kvstorage.Op(op)
	}
	return c
}

// FromResult returns what became of a change of a batch.
func FromResult(op kvstorage.Op, r *kvstorage.Result) *stoav1.KvResult {
	m := &stoav1.KvResult{Item: FromItem(&r.Item), Revision: r.Revision}
	if m.Item != nil {
		if m.Item.Key = nil; op != kvstorage.OpIncrement {
			m.Item.Value = nil
		}
	}
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

// Delta returns what an increment adds; nil is 1.
func Delta(n *int64) int64 {
	if n == nil {
		return 1
	}
	return *n
}

// fromEvent returns what a watcher is told.
func fromEvent(e *kvstorage.Event) *stoav1.KvEvent {
	m := &stoav1.KvEvent{Kind: stoav1.KvEventKind(e.Kind), Revision: e.Revision}
	switch e.Kind {
	case kv.EventPut:
		m.Item = FromItem(&e.Item)
	case kv.EventDelete, kv.EventExpire:
		m.Item = &stoav1.KvItem{Key: []byte(e.Item.Key)}
	}
	return m
}

// event returns what a watcher is told.
func event(m *stoav1.KvEvent) kvstorage.Event {
	e := kvstorage.Event{Kind: kv.EventKind(m.GetKind()), Revision: m.GetRevision(), Item: Item(string(m.GetItem().GetKey()), nil)}
	if m.GetKind() == stoav1.KvEventKind_KV_EVENT_KIND_PUT {
		e.Item = Listed(m.GetItem())
	}
	return e
}

func fromStart(s *kv.WatchStart) stoav1.KvWatchStart {
	return stoav1.KvWatchStart(*s) + stoav1.KvWatchStart_KV_WATCH_START_STATE
}

func start(field string, m stoav1.KvWatchStart) (kv.WatchStart, error) {
	switch m {
	case stoav1.KvWatchStart_KV_WATCH_START_UNSPECIFIED, stoav1.KvWatchStart_KV_WATCH_START_STATE:
		return kv.FromState, nil
	case stoav1.KvWatchStart_KV_WATCH_START_NOW:
		return kv.FromNow, nil
	case stoav1.KvWatchStart_KV_WATCH_START_REVISION:
		return kv.FromRevision, nil
	}
	return 0, &op.FieldError{Field: field, Reason: fmt.Sprintf("no start %d", int32(m))}
}
