package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
)

// A worker that takes a lease, changes a setting that others change too, and hears of its
// changes: the same program for etcd and for NATS is in bench/peers.
func Example() {
	socket, ctx := daemon(), context.Background()

	c, err := rpc.Dial(ctx, socket)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	k := c.KV("acme")

	// A lease that goes after ten seconds, unless somebody has it.
	lease, err := k.CompareAndSwapJSON(ctx, "leader", rpc.Expect{Absent: true}, "worker 1", rpc.TTL(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("leader:", lease.Swapped)

	// A setting is raised by one, whoever else changes it.
	limit := func() (n int, revision uint64) {
		i, err := k.Get(ctx, "config/limit")
		if errors.Is(err, rpc.ErrNotFound) {
			return 10, 0
		} else if err = errors.Join(err, i.Decode(&n)); err != nil {
			log.Fatal(err)
		}
		return n, i.Revision
	}
	for done := false; !done; {
		n, revision := limit()
		r, err := k.CompareAndSwapJSON(ctx, "config/limit", rpc.Expect{Absent: revision == 0, Revision: revision}, n+1)
		if err != nil {
			log.Fatal(err)
		}
		done = r.Swapped
	}

	// What there is, and then every change, also when the daemon was away meanwhile.
	for e, err := range k.Watch(ctx, rpc.WithPrefix("config/")) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Kind, e.Item.Key, string(e.Item.Value))
		if e.Kind == rpc.EventSynced {
			break
		}
	}
	// Output:
	// leader: true
	// put config/limit 11
	// synced  null
}

func ExampleKV_Put() {
	ctx, k := context.Background(), dial().KV("acme")
	if _, err := k.Put(ctx, "logo", []byte{0x89, 'P', 'N', 'G'}, rpc.WithDurability(rpc.WAL)); err != nil {
		log.Fatal(err)
	}
	i, err := k.Get(ctx, "logo")
	if err != nil {
		log.Fatal(err)
	}
	b, err := i.Bytes()
	fmt.Printf("%q %v, stored as %s\n", b, err, i.Value)
	// Output: "\x89PNG" <nil>, stored as {"/":{"bytes":"iVBORw"}}
}

func ExampleKV_Batch() {
	ctx, k := context.Background(), dial().KV("acme")
	transfer := []rpc.Change{
		{Op: rpc.OpIncrement, Key: "from", Delta: -5},
		{Op: rpc.OpIncrement, Key: "to", Delta: 5},
		{Op: rpc.OpPut, Key: "transfer/1", Value: []byte(`{"amount":5}`), Expect: rpc.Expect{Absent: true}},
	}
	for range 2 { // the second time, there is the transfer
		results, err := k.Batch(ctx, transfer, rpc.Synced)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(string(results[0].Item.Value), string(results[1].Item.Value))
	}
	// Output:
	// -5 5
	// kvstorage: kv_conflict: expect: change 3 of 3: the key does not have what is expected
}

// Two who change a record notice each other by its revision.
func ExampleRecords() {
	ctx, r := context.Background(), dial().Records("acme")
	made, err := r.Create(ctx, "intent", map[string]any{"intent_id": "int-20251130-abc123", "actor": "user:ann", "goal": "a quiet week"})
	if err != nil {
		log.Fatal(err)
	}
	for _, priority := range []string{"high", "low"} {
		_, err := r.Update(ctx, "intent", made.ID, map[string]any{"priority": priority}, rpc.AtRevision(made.Revision))
		fmt.Println(priority, err)
	}
	byAnn := rpc.RecordQuery{Filters: []rpc.RecordFilter{record.Equal("by_actor", "user:ann")}}
	for d, err := range r.All(ctx, "intent", byAnn) {
		fmt.Println(d.ID, d.Revision, err)
	}
	// Output:
	// high <nil>
	// low record: CONFLICT: intent: revision: the record has revision 2, not 1: read it again, and decide anew
	// int-20251130-abc123 2 <nil>
}

// A user delegates, an agent asks, and the ledger says what came of it.
func ExamplePolicy() {
	ctx, c := context.Background(), dial()
	r, p := c.Records("acme"), c.Policy("acme")
	for collection, doc := range map[string]any{
		"delegation": map[string]any{"delegator": "user:ann", "delegate": "agent:mailer", "scope": []string{"mail.*"}},
		"policy": map[string]any{"name": "Friends only", "scope": "mail.send", "created_by": "user:ann", "rules": []map[string]any{
			{"rule_id": "r1", "condition": "to NOT IN friends", "action": "deny", "priority": 10, "reason": "not a friend"},
		}},
		"intent": map[string]any{"intent_id": "int-20251130-mail01", "actor": "user:ann", "goal": "answer the post"},
	} {
		if _, err := r.Create(ctx, collection, doc); err != nil {
			log.Fatal(err)
		}
	}
	for _, to := range []string{"bob", "eve"} {
		mail := rpc.Question{Agent: "agent:mailer", Action: "mail.send", Context: map[string]any{"to": to, "friends": []string{"bob"}}}
		used, err := p.Use(ctx, mail, rpc.UseOptions{Log: true, Intent: "int-20251130-mail01"})
		fmt.Println(to, used.Allowed, used.Reason, err)
	}
	for f, err := range p.Verify(ctx) {
		fmt.Println(f, err)
	}
	head, err := p.Head(ctx)
	fmt.Println(head.Events, "events", err)
	// Output:
	// bob true No policy restriction <nil>
	// eve false not a friend <nil>
	// 2 events <nil>
}

func ExampleKV_All() {
	ctx, k := context.Background(), dial().KV("acme")
	for i, name := range []string{"ada", "bob"} {
		if _, err := k.PutJSON(ctx, "user/"+name, map[string]int{"id": i}); err != nil {
			log.Fatal(err)
		}
	}
	for i, err := range k.All(ctx, "user/") {
		fmt.Println(i.Key, string(i.Value), err)
	}
	// Output:
	// user/ada {"id":0} <nil>
	// user/bob {"id":1} <nil>
}

func ExampleClient_Store() {
	db := dial().Store(context.Background())
	var b engine.Batch
	for n := range byte(3) {
		engine.Put(&b, keys.ApplicationMeta{App: codec.ApplicationID{n}}, codec.ApplicationMeta{Package: fmt.Sprint("org.example.", n)})
	}
	if err := db.Apply(&b); err != nil {
		log.Fatal(err)
	}
	app, err := engine.Get(db, keys.ApplicationMeta{App: codec.ApplicationID{2}})
	fmt.Println(app.Package, err)
	// Output: org.example.2 <nil>
}

func ExampleDag_Commit() {
	ctx, d := context.Background(), dial().Dag()
	room, err := d.NewContext(ctx, codec.ApplicationMeta{Package: "org.example.chat"})
	if err != nil {
		log.Fatal(err)
	}
	_, root, err := d.Heads(ctx, room)
	if err != nil {
		log.Fatal(err)
	}
	done, err := d.Commit(ctx, dag.Commit{Context: room, ReadRoot: root, Actions: []codec.Action{codec.Put([]byte("topic"), []byte("stores"))}})
	if err != nil {
		log.Fatal(err)
	}
	topic, err := d.State(ctx, room, []byte("topic"))
	fmt.Println(done.Seq, string(topic), err)
	// Output: 1 stores <nil>
}

func ExampleNamespaces_Propose() {
	ctx, c := context.Background(), dial()
	home, _, err := c.Namespaces().Create(ctx, namespace.Create{Alias: codec.Some(codec.AliasName("home"))})
	if err != nil {
		log.Fatal(err)
	}
	ada := member("ada")
	add := codec.GroupOp{Kind: codec.OpMemberAdded, Member: ada, Role: codec.Member}
	if _, _, err := c.Namespaces().Propose(ctx, home, namespace.Proposal{GroupID: home, Group: &add}); err != nil {
		log.Fatal(err)
	}
	for m, err := range c.Groups().Members(ctx, home) {
		if err != nil {
			log.Fatal(err)
		}
		if m.Identity == ada {
			fmt.Println("ada is a", m.Role)
		}
	}
	role, err := engine.Get(c.Store(ctx), keys.GroupMember{Group: home, Identity: ada})
	fmt.Println("in the row:", role, err)
	// Output:
	// ada is a member
	// in the row: member <nil>
}
