package rpc_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
)

// Two nodes, each with its own daemon, share the state of a context: each writes where it is, and
// after a session over any line that carries bytes both have the same, whoever wrote meanwhile.
// What they write is signed, and sealed for the members of the group that has the context.
func Example_node() {
	ctx, a, b := context.Background(), dial(), dial()
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}

	// The first founds a namespace and asks the second in. Invitation and request go between
	// people as they like: they are bytes.
	home, _, err := a.Namespaces().Create(ctx, namespace.Create{})
	must(err)
	invitation, err := a.Namespaces().Invite(ctx, namespace.Invite{GroupID: home, Role: codec.Member, Expires: time.Now().Add(time.Hour)})
	must(err)
	joining, err := b.Namespaces().Join(ctx, invitation)
	must(err)
	_, err = a.Namespaces().Admit(ctx, joining.Request)
	must(err)

	// A context that its group has.
	list, err := a.Dag().NewContext(ctx, codec.ApplicationMeta{})
	must(err)
	_, _, err = a.Namespaces().Propose(ctx, home, namespace.Proposal{
		GroupID: home, Group: &codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: list},
	})
	must(err)

	meet := func() { // over a pipe, here
		first, err := a.Sync(ctx, rpc.SyncOptions{Initiator: true})
		must(err)
		defer first.Close()
		second, err := b.Sync(ctx, rpc.SyncOptions{})
		must(err)
		defer second.Close()
		back := make(chan struct{})
		carry := func(to, from *rpc.SyncSession) {
			_, _ = io.Copy(to, from)
			_ = to.CloseWrite()
			_, _ = io.Copy(io.Discard, from) // the other has ended first, and this one has more to say
		}
		go func() { carry(first, second); close(back) }()
		carry(second, first)
		<-back
		report, err := first.Report() // with Read at its end it says how that was
		must(err)
		fmt.Println("level:", report.Namespaces[0].Level)
	}
	write := func(at *rpc.Client, item, how string) {
		root, err := at.Dag().Context(ctx, list)
		must(err)
		_, err = at.Dag().Commit(ctx, dag.Commit{
			Context: list, ReadRoot: root.Root, // the state that was read when this was decided
			Actions: []codec.Action{{Kind: codec.ActionPut, Key: []byte(item), Value: []byte(how)}},
		})
		must(err)
	}
	write(a, "bread", "two")
	meet()
	write(a, "milk", "one") // both, while the two do not hear of each other
	write(b, "salt", "some")
	meet()
	for _, at := range []*rpc.Client{a, b} {
		fmt.Print("both have:")
		for item, err := range at.Dag().ScanState(ctx, list, engine.Range{}) {
			must(err)
			fmt.Printf(" %s %s", item.AppKey, item.Value)
		}
		fmt.Println()
	}
	// Output:
	// level: true
	// level: true
	// both have: bread two milk one salt some
	// both have: bread two milk one salt some
}
