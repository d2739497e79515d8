package group_test

import (
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// Verdicts are a function of the set of ops, in whatever order they come: a member
// without the right to it adds somebody, which is void; an Admin does, which counts.
func ExampleEvaluate() {
	alice, bob, carol := codec.Identity{0xA1}, codec.Identity{0xB0}, codec.Identity{0xCA}
	home := codec.GroupID{1}
	op := func(id byte, signer codec.Identity, nonce uint64, body codec.GroupOp, parents ...codec.OpID) group.Op {
		return group.Op{ID: codec.OpID{id}, Parents: parents, Signer: signer, Nonce: nonce, Group: home, Body: &body}
	}
	ops := []group.Op{
		op(4, bob, 1, codec.GroupOp{Kind: codec.OpMemberAdded, Member: carol, Role: codec.Member}, codec.OpID{2}),
		op(2, alice, 2, codec.GroupOp{Kind: codec.OpMemberAdded, Member: bob, Role: codec.Member}, codec.OpID{1}),
		{ID: codec.OpID{1}, Signer: alice, Nonce: 1, Root: &codec.RootOp{Kind: codec.RootNamespaceCreated, GroupID: home, Creator: alice}},
	}

	r, err := group.Evaluate(ops, alice)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("alice adds bob:", r.Verdicts[codec.OpID{2}])
	fmt.Println("bob adds carol:", r.Verdicts[codec.OpID{4}])
	fmt.Println(len(r.Members(home)), "members")
	// Output:
	// alice adds bob: effective
	// bob adds carol: void: no right
	// 2 members
}

// A signature is checked more strictly than by most libraries: the same bytes are
// valid, or not, on every node.
func ExampleVerifyOp() {
	seed := codec.Secret{1}
	op := codec.SignedGroupOp{GroupID: codec.GroupID{1}, Signer: group.IdentityOf(seed), Nonce: 1,
		Op: codec.GroupOp{Kind: codec.OpMemberLeft}}
	fmt.Println(group.SignOp(&op, seed))
	b, err := op.AppendBinary(nil)
	fmt.Println(group.VerifyOp(b, op.Signer), err)
	b[len(b)-1] ^= 1
	fmt.Println(group.VerifyOp(b, op.Signer) != nil)
	// Output:
	// <nil>
	// <nil> <nil>
	// true
}
