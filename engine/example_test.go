package engine_test

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// The type of a key says what is stored under it: a role comes back, not bytes.
func ExampleGet() {
	db := mem.New()
	defer db.Close()
	kitchen, alice, bob := codec.GroupID{1}, codec.Identity{2}, codec.Identity{3}

	var b engine.Batch
	engine.Put(&b, keys.GroupMember{Group: kitchen, Identity: alice}, codec.Admin)
	if err := db.Apply(&b); err != nil {
		fmt.Println(err)
	}

	role, err := engine.Get(db, keys.GroupMember{Group: kitchen, Identity: alice})
	fmt.Println(role, err)
	_, err = engine.Get(db, keys.GroupMember{Group: kitchen, Identity: bob})
	fmt.Println(errors.Is(err, engine.ErrNotFound))
	// Output:
	// admin <nil>
	// true
}

// A batch over several columns lands whole or not at all.
func ExampleBatch() {
	db := mem.New()
	defer db.Close()
	context := codec.ContextID{7}

	var b engine.Batch
	engine.Put(&b, keys.ContextConfig{Context: context}, codec.ContextConfigValue{MembersRevision: 1})
	engine.Put(&b, keys.ContextState{Context: context, AppKey: keys.NewBytes([]byte("colour"))}, codec.Raw("green"))
	fmt.Println(b.Len(), "changes:", db.Apply(&b))

	has, err := engine.Has(db, keys.ContextConfig{Context: context})
	fmt.Println(has, err)
	// Output:
	// 2 changes: <nil>
	// true <nil>
}

// A batch may say what must hold before it. If one expectation does not hold,
// nothing of it is written.
func ExampleExpectAbsent() {
	db := mem.New()
	defer db.Close()
	key := keys.GroupMember{Group: codec.GroupID{1}, Identity: codec.Identity{2}}

	join := func(role codec.GroupMemberRole) error {
		var b engine.Batch
		engine.ExpectAbsent(&b, key)
		engine.Put(&b, key, role)
		return db.Apply(&b)
	}
	fmt.Println(join(codec.Member))
	fmt.Println(errors.Is(join(codec.Admin), engine.ErrConflict))

	role, _ := engine.Get(db, key)
	fmt.Println(role)
	// Output:
	// <nil>
	// true
	// member
}

// A scan of a prefix yields typed keys and values in the order of the keys.
func ExampleScan() {
	db := mem.New()
	defer db.Close()
	kitchen, garden := codec.GroupID{1}, codec.GroupID{2}

	var b engine.Batch
	engine.Put(&b, keys.GroupMember{Group: kitchen, Identity: codec.Identity{0xB0}}, codec.Member)
	engine.Put(&b, keys.GroupMember{Group: kitchen, Identity: codec.Identity{0xA0}}, codec.Admin)
	engine.Put(&b, keys.GroupMember{Group: garden, Identity: codec.Identity{0xC0}}, codec.ReadOnly)
	if err := db.Apply(&b); err != nil {
		fmt.Println(err)
	}

	for e, err := range engine.Scan(db, keys.MembersOf(kitchen)) {
		fmt.Printf("%x %s %v\n", e.Key.Identity[:1], e.Value, err)
	}
	// Output:
	// a0 admin <nil>
	// b0 member <nil>
}

// Update reads and writes without another write in between, so that a counter
// needs no retry.
func ExampleEngine() {
	db := mem.New()
	defer db.Close()
	nonce := keys.GroupLocalGovNonce{Group: codec.GroupID{1}, Signer: codec.Identity{2}}

	count := func() error {
		return db.Update(func(r engine.Getter, b *engine.Batch) error {
			n, err := engine.Get(r, nonce)
			if err != nil && !errors.Is(err, engine.ErrNotFound) {
				return err
			}
			engine.Put(b, nonce, n+1)
			return nil
		})
	}
	fmt.Println(count(), count())
	fmt.Println(engine.Get(db, nonce))
	// Output:
	// <nil> <nil>
	// 2 <nil>
}

// The bytes of a batch are what a client sends and what RocksDB takes: README.md
// has their format.
func ExampleParseBatch() {
	var b engine.Batch
	b.Put(column.Config, []byte("k"), []byte("v2"))
	b.Expect(column.Config, []byte("k"), []byte("v1"))
	fmt.Printf("%x\n%x\n", b.Bytes(), b.Expectations())

	same, err := engine.ParseBatch(b.Bytes(), b.Expectations(), engine.WAL)
	fmt.Println(same.Len(), same.Guarded(), err)
	_, err = engine.ParseBatch(b.Bytes()[:15], nil, engine.WAL)
	fmt.Println(errors.Is(err, engine.ErrBatch))
	// Output:
	// 0000000000000000010000000502016b027632
	// 0102016b027631
	// 1 true <nil>
	// true
}

// A snapshot stays as it is while the store goes on.
func ExampleSnapshot() {
	db := mem.New()
	defer db.Close()
	key := keys.GroupAlias{Group: codec.GroupID{1}}
	set := func(name codec.AliasName) {
		var b engine.Batch
		engine.Put(&b, key, name)
		if err := db.Apply(&b); err != nil {
			fmt.Println(err)
		}
	}

	set("kitchen")
	before, err := db.Snapshot()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer before.Close()
	set("garden")
	fmt.Println(engine.Get(before, key))
	fmt.Println(engine.Get(db, key))
	// Output:
	// kitchen <nil>
	// garden <nil>
}
