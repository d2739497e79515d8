package kvstorage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/kvtest"
)

// exampleStorage returns a storage in memory, by a clock that stands.
func exampleStorage() (storage *kvstorage.Storage, clock *kvtest.Clock, close func()) {
	db, clock := mem.New(), kvtest.New()
	store, err := kv.Open(db, kv.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	if storage, err = kvstorage.New(store, kvstorage.Options{}); err != nil {
		panic(err)
	}
	return storage, clock, func() {
		if err := errors.Join(store.Close(), db.Close()); err != nil {
			panic(err)
		}
	}
}

// A tenant comes into being with its first write; others see nothing of it.
func ExampleStorage_Put() {
	storage, _, done := exampleStorage()
	defer done()
	ctx := context.Background()

	item, err := storage.Put(ctx, "acme", "colour", []byte(`{"b": 1.0, "a": "green"}`), kvstorage.WriteOptions{})
	fmt.Printf("%s, revision %d %v\n", item.Value, item.Revision, err)
	item, err = storage.Get(ctx, "other", "colour")
	fmt.Println(item.Found, err)
	// Output:
	// {"a":"green","b":1}, revision 1 <nil>
	// false <nil>
}

// A swap that does not find what it expects is no error: it says what is there.
func ExampleStorage_CompareAndSwap() {
	storage, _, done := exampleStorage()
	defer done()
	ctx := context.Background()

	swap := func(expect kvstorage.Expect, value string) {
		r, err := storage.CompareAndSwap(ctx, "acme", "lock", expect, []byte(value), kvstorage.WriteOptions{})
		fmt.Printf("%t, %s is there %v\n", r.Swapped, r.Item.Value, err)
	}
	swap(kvstorage.Expect{Absent: true}, `"alice"`)
	swap(kvstorage.Expect{Absent: true}, `"bob"`)
	swap(kvstorage.Expect{Value: json.RawMessage(`"alice"`)}, `"bob"`)
	// Output:
	// true, "alice" is there <nil>
	// false, "alice" is there <nil>
	// true, "bob" is there <nil>
}

// Increment counts from 0, and keeps the time to live.
func ExampleStorage_Increment() {
	storage, clock, done := exampleStorage()
	defer done()
	ctx, minute := context.Background(), int64(60)

	item, err := storage.Increment(ctx, "acme", "visits", 2, kvstorage.WriteOptions{TTLSeconds: &minute})
	fmt.Printf("%s %v\n", item.Value, err)
	clock.Pass(30 * time.Second)
	item, err = storage.Increment(ctx, "acme", "visits", 1, kvstorage.WriteOptions{})
	fmt.Printf("%s, %s left %v\n", item.Value, item.Remaining.Round(time.Second), err)
	clock.Pass(time.Minute)
	item, err = storage.Get(ctx, "acme", "visits")
	fmt.Printf("%s %t %v\n", item.Value, item.Found, err)
	// Output:
	// 2 <nil>
	// 3, 30s left <nil>
	// null false <nil>
}

// Node software passes operations on as JSON.
func ExampleStorage_Call() {
	storage, _, done := exampleStorage()
	defer done()
	ctx := context.Background()

	answer, err := storage.Call(ctx, kvstorage.Surface, "put", "acme", json.RawMessage(`{"key": "k", "value": [1, 2]}`))
	fmt.Println(answer != nil, err)
	_, err = storage.Call(ctx, kvstorage.Surface, "put", "acme", json.RawMessage(`{"key": "", "value": 1}`))
	var refused *kvstorage.Error
	fmt.Println(errors.As(err, &refused) && refused.Code == kvstorage.InvalidArgument, refused.Field)
	// Output:
	// true <nil>
	// true key
}
