// Package kvwire turns what package kvstorage has into messages of the Kv
// service and back, for both ends.
package kvwire

import (
	"time"

	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

var (
	_ = op.Pair(FromItem, op.Always(Listed))
	_ = op.Pair(fromExpect, op.Always(expect))
	_ = op.Pair(fromChange, op.Always(change))
	_ = op.Pair(fromEvent, op.Always(event))
	_ = op.Pair(fromStart, start)
)

// FromItem returns what a key has, nil if nothing, with its key unless that is empty. The
// bytes of the value are shared.
func FromItem(i *kvstorage.Item) *stoav1.KvItem {
	if !i.Found {
		return nil
	}
	m := &stoav1.KvItem{Value: i.Value, Revision: i.Revision, RemainingMs: uint64(i.Remaining / time.Millisecond), CreatedRevision: i.Created,
		WrittenMs: op.Millis(i.Written), ExpiresMs: op.Millis(i.Expires)}
	if i.Key != "" {
		m.Key = []byte(i.Key)
	}
	return m
}

// Item returns what a key has; of nothing, the value is null.
func Item(key string, m *stoav1.KvItem) kvstorage.Item {
	if m == nil {
		return kvstorage.Item{Key: key, Value: []byte("null")}
	}
	return kvstorage.Item{Found: true, Key: key, Value: m.Value, Revision: m.Revision, Created: m.CreatedRevision,
		Remaining: time.Duration(m.RemainingMs) * time.Millisecond,
		Written:   op.Time(m.WrittenMs), Expires: op.Time(m.ExpiresMs)} // an older daemon does not say when it was written
}

// Listed is Item for one that has its key.
func Listed(m *stoav1.KvItem) kvstorage.Item { return Item(string(m.GetKey()), m) }
