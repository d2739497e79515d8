package rpc

import (
	"encoding/json"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// What calls of [KV] take and return, so that a program imports one package.
type (
	// Item is what a key has.
	Item = kvstorage.Item
	// Expect is what a key is expected to have; zero: anything.
	Expect = kvstorage.Expect
	// Change is one of a batch.
	Change = kvstorage.Change
	// Result is what became of a change.
	Result = kvstorage.Result
	// Deleted is what became of a delete.
	Deleted = kvstorage.Deleted
	// ListOptions say which page of keys is asked for.
	ListOptions = kvstorage.ListOptions
	// Page is a page of keys.
	Page = kvstorage.Page
	// Event is what a watch yields.
	Event = kvstorage.Event
	// Quota is what a tenant may hold.
	Quota = kv.Quota
	// Durability is what a write waits for.
	Durability = engine.Durability
)

// What a [Change] does.
const (
	OpPut       = kvstorage.OpPut
	OpDelete    = kvstorage.OpDelete
	OpTouch     = kvstorage.OpTouch
	OpIncrement = kvstorage.OpIncrement
	OpSwap      = kvstorage.OpSwap
)

// What an [Event] says.
const (
	EventPut    = kv.EventPut
	EventDelete = kv.EventDelete
	EventExpire = kv.EventExpire
	EventSynced = kv.EventSynced
	EventResync = kv.EventResync
)

// What a write waits for.
const (
	Synced = engine.Synced
	WAL    = engine.WAL
)

// ErrNotFound is returned for a key, a row or a blob that is not there.
var ErrNotFound = engine.ErrNotFound

// JSONOfBytes returns the JSON that [KV.Put] stores for bytes, as the value of a Change or
// an Expect.
func JSONOfBytes(b []byte) json.RawMessage { return kvstorage.FromBytes(b) }

// WriteOption says how a key is written.
type WriteOption struct {
	kind  writeOption
	value int64
	guard string // the lock
}

type writeOption uint8

const (
	optionTTL writeOption = 1 + iota
	optionDurability
	optionGuard
)

// TTL has what is written go after d, which is rounded up to whole seconds. Without it what
// is put stays, and what is changed in another way stays as long as it would have.
func TTL(d time.Duration) WriteOption {
	seconds := int64(d / time.Second)
	if d > 0 && d%time.Second != 0 {
		seconds++
	}
	return WriteOption{kind: optionTTL, value: seconds}
}

// WithDurability has a write wait for d, which otherwise is [Synced].
func WithDurability(d Durability) WriteOption {
	return WriteOption{kind: optionDurability, value: int64(d)}
}

// Guarded has a write be made only if a lock of the tenant is held by the grant that has a
// token, which is looked at in the batch of the write: else it is lock.ErrFenced, with the
// present token. Given more than once, at most lock.MaxGuards times, all locks are to be held.
func Guarded(name string, token uint64) WriteOption {
	return WriteOption{kind: optionGuard, value: int64(token), guard: name}
}

// written returns options as the domain has them, and the guards among them.
func written(with []WriteOption) (o kvstorage.WriteOptions, g op.Guarding) {
	for i := range with {
		switch with[i].kind {
		case optionTTL:
			o.TTLSeconds = &with[i].value
		case optionDurability:
			o.Durability = Durability(with[i].value)
		case optionGuard:
			g.Guards = append(g.Guards, lock.Guard{Name: with[i].guard, Token: uint64(with[i].value)})
		}
	}
	return o, g
}
