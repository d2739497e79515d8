package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/namespace"
)

// exampleStore returns the governance of a node.
func exampleStore() (store *namespace.Store, close func()) {
	db := mem.New()
	store, err := namespace.Open(db, namespace.Options{})
	if err != nil {
		panic(err)
	}
	return store, func() {
		if err := errors.Join(store.Close(), db.Close()); err != nil {
			panic(err)
		}
	}
}

// What is proposed is judged first, signed, and written with the rows that follow.
func ExampleStore_Propose() {
	ctx := context.Background()
	store, done := exampleStore()
	defer done()
	home, _, err := store.Create(ctx, namespace.Create{Alias: codec.Some[codec.AliasName]("home")})
	if err != nil {
		fmt.Println(err)
	}

	me, err := store.Identity(home)
	if err != nil {
		fmt.Println(err)
	}
	p, err := store.Propose(ctx, home, namespace.Proposal{GroupID: home,
		Group: &codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: me, Name: codec.Some[codec.AliasName]("alice")}})
	fmt.Println(p.Answer.Kind, p.Answer.Verdict, err)

	_, err = store.Propose(ctx, home, namespace.Proposal{GroupID: home, Group: &codec.GroupOp{Kind: codec.OpMemberLeft}})
	fmt.Println(errors.Is(err, namespace.ErrNotEffective), "the admin identity cannot leave")

	members, err := store.Members(home, codec.Identity{}, 0)
	for _, m := range members {
		fmt.Println(m.Name, m.Role, err)
	}
	// Output:
	// stored effective <nil>
	// true the admin identity cannot leave
	// alice admin <nil>
}

// Ops go to other nodes as bytes. Who is invited sends a request back, whoever invited
// admits, and then both nodes say the same.
func ExampleStore_Apply() {
	ctx := context.Background()
	alice, doneA := exampleStore()
	defer doneA()
	bob, doneB := exampleStore()
	defer doneB()
	home, created, err := alice.Create(ctx, namespace.Create{})
	if err != nil {
		fmt.Println(err)
	}

	invitation, err := alice.Invite(ctx, namespace.Invite{GroupID: home, Role: codec.Member, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		fmt.Println(err)
	}
	request, err := bob.Join(ctx, invitation)
	if err != nil {
		fmt.Println(err)
	}
	admitted, err := alice.Admit(ctx, request)
	fmt.Println(admitted.Answer.Kind, admitted.Answer.Verdict, err)

	for _, wire := range append(created.Wire, admitted.Wire...) {
		answer, err := bob.Apply(ctx, wire)
		if err != nil {
			fmt.Println(err)
		}
		again, err := bob.Apply(ctx, wire)
		fmt.Println(answer.Kind, answer.Verdict, "then", again.Kind, err)
	}
	members, err := bob.Members(home, codec.Identity{}, 0)
	fmt.Println(len(members), "members", err)
	// Output:
	// stored effective <nil>
	// stored effective then duplicate <nil>
	// stored effective then duplicate <nil>
	// 2 members <nil>
}
