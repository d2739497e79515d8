// Package kvwire turns what package kvstorage has into messages of the Kv
// service and back, for both ends.
package kvwire

import (
	"time"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromItem returns what a key has, nil if nothing. The value, whose bytes are
// shared, is left out on demand; the key is left out unless it is set after.
func FromItem(i *kvstorage.Item, value bool) *stoav1.KvItem {
	short := FromShort(i)
	if !short.Found {
		return nil
	}
	m := &stoav1.KvItem{Revision: short.Revision, ExpiresMs: short.ExpiresMS, RemainingMs: short.RemainingMS,
		CreatedRevision: short.CreatedRevision, WrittenMs: short.WrittenMS}
	if value {
		m.Value = short.Value
	}
	return m
}

// FromListed is FromItem with the key, for lists.
func FromListed(i *kvstorage.Item, value bool) *stoav1.KvItem {
	m := FromItem(i, value)
	if m != nil {
		m.Key = []byte(i.Key)
	}
	return m
}

// Item returns what a key has; of nothing, the value is null.
func Item(key string, m *stoav1.KvItem) kvstorage.Item {
	return Short(key, &wire.KVItem{Found: m != nil, Value: m.GetValue(), Revision: m.GetRevision(),
		ExpiresMS: m.GetExpiresMs(), RemainingMS: m.GetRemainingMs(), CreatedRevision: m.GetCreatedRevision(), WrittenMS: m.GetWrittenMs()})
}

// Short is Item for an answer that was not taken apart by the protobuf library.
func Short(key string, m *wire.KVItem) kvstorage.Item {
	if !m.Found {
		return kvstorage.Item{Key: key, Value: []byte("null")}
	}
	i := kvstorage.Item{Found: true, Key: key, Value: m.Value, Revision: m.Revision, Created: m.CreatedRevision,
		Remaining: time.Duration(m.RemainingMS) * time.Millisecond}
	if m.WrittenMS != 0 { // an older daemon does not say
		i.Written = time.UnixMilli(int64(m.WrittenMS)).UTC()
	}
	if m.ExpiresMS != 0 {
		i.Expires = time.UnixMilli(int64(m.ExpiresMS)).UTC()
	}
	return i
}

// FromShort returns what a key has, whose value is shared.
func FromShort(i *kvstorage.Item) wire.KVItem {
	if !i.Found {
		return wire.KVItem{}
	}
	m := wire.KVItem{Found: true, Value: i.Value, Revision: i.Revision, RemainingMS: uint64(i.Remaining / time.Millisecond), CreatedRevision: i.Created}
	if !i.Written.IsZero() {
		m.WrittenMS = uint64(i.Written.UnixMilli())
	}
	if !i.Expires.IsZero() {
		m.ExpiresMS = uint64(i.Expires.UnixMilli())
	}
	return m
}

// Listed is Item for one that has its key.
func Listed(m *stoav1.KvItem) kvstorage.Item { return Item(string(m.GetKey()), m) }

// FromStats returns the counters of a tenant.
func FromStats(s *kv.Stats) *stoav1.KvStats {
	return &stoav1.KvStats{Revision: s.Revision, Floor: s.Floor, Keys: s.Keys, Bytes: s.Bytes, Quota: FromQuota(&s.Quota)}
}

// Stats returns the counters of a tenant.
func Stats(m *stoav1.KvStats) kv.Stats {
	return kv.Stats{Revision: m.GetRevision(), Floor: m.GetFloor(), Keys: m.GetKeys(), Bytes: m.GetBytes(), Quota: Quota(m.GetQuota())}
}

// FromQuota returns a quota.
func FromQuota(q *kv.Quota) *stoav1.KvQuota { return &stoav1.KvQuota{Keys: q.Keys, Bytes: q.Bytes} }

// Quota returns a quota.
func Quota(m *stoav1.KvQuota) kv.Quota { return kv.Quota{Keys: m.GetKeys(), Bytes: m.GetBytes()} }
