package kv_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

// exampleSpace returns a space of words of a tenant, by a clock that stands.
func exampleSpace() (space *kv.Space, clock *kvtest.Clock, close func()) {
	db, clock := mem.New(), kvtest.New()
	words := kv.Type{System: kv.SystemTest, Space: "words"}
	store, err := kv.Open(db, kv.Options{Types: []kv.Type{words}, Clock: clock})
	if err != nil {
		panic(err)
	}
	if space, err = store.CreateSpace(context.Background(), "acme", words.System, words.Space, kv.Quota{}); err != nil {
		panic(err)
	}
	return space, clock, func() {
		if err := errors.Join(store.Close(), db.Close()); err != nil {
			panic(err)
		}
	}
}

// A transaction is one batch: it sees its own changes, and all of them land or none.
func ExampleSpace_Update() {
	space, _, done := exampleSpace()
	defer done()
	ctx := context.Background()

	err := space.Update(ctx, engine.Synced, func(tx *kv.Tx) error {
		if _, err := tx.Put([]byte("a"), []byte("1"), kv.PutOptions{}); err != nil {
			return err
		}
		_, err := tx.Put([]byte("b"), []byte("2"), kv.PutOptions{})
		return err
	})
	fmt.Println(err)
	err = space.Update(ctx, engine.Synced, func(tx *kv.Tx) error {
		if _, err := tx.Delete([]byte("a")); err != nil {
			return err
		}
		return errors.New("thought better of it")
	})
	fmt.Println(err)

	page, err := space.List(ctx, kv.ListOptions{})
	for _, r := range page.Records {
		fmt.Printf("%s=%s, revision %d %v\n", r.Key, r.Value, r.Revision, err)
	}
	// Output:
	// <nil>
	// thought better of it
	// a=1, revision 1 <nil>
	// b=2, revision 2 <nil>
}

// A record is absent from the moment on at which it expires.
func ExamplePutOptions() {
	space, clock, done := exampleSpace()
	defer done()
	ctx := context.Background()

	if _, err := space.Put(ctx, []byte("k"), []byte("v"), kv.PutOptions{TTL: time.Minute}); err != nil {
		fmt.Println(err)
	}
	clock.Pass(59 * time.Second)
	r, err := space.Get([]byte("k"))
	fmt.Printf("%s %v\n", r.Value, err)
	clock.Pass(2 * time.Second)
	_, err = space.Get([]byte("k"))
	fmt.Println(errors.Is(err, kv.ErrNotFound))
	// Output:
	// v <nil>
	// true
}

// A watch begins with the state, says when it was all, and goes on with each change.
func ExampleSpace_Watch() {
	space, _, done := exampleSpace()
	defer done()
	ctx := context.Background()
	if _, err := space.Put(ctx, []byte("a"), []byte("1"), kv.PutOptions{}); err != nil {
		fmt.Println(err)
	}

	for e, err := range space.Watch(ctx, kv.WatchOptions{}) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Printf("%s %s %d\n", e.Kind, e.Record.Key, e.Revision)
		if e.Kind == kv.EventSynced {
			if _, err := space.Delete(ctx, []byte("a")); err != nil {
				fmt.Println(err)
			}
		}
		if e.Kind == kv.EventDelete {
			break
		}
	}
	// Output:
	// put a 1
	// synced  1
	// delete a 2
}

// Every row says what it is: its space, its shape and the parts of its key.
func ExampleParseRow() {
	space, _, done := exampleSpace()
	defer done()
	row := kv.Row{Scope: space.Scope(), Shape: kv.ShapeRecord, Key: []byte("colour")}
	same, err := kv.ParseRow(row.AppendKey(nil))
	fmt.Printf("%s %t %v\n", same.Key, same.Shape == kv.ShapeRecord, err)
	_, err = kv.ParseRow([]byte{0xFF})
	fmt.Println(err != nil)
	// Output:
	// colour true <nil>
	// true
}
