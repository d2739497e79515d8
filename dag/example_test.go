package dag_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// exampleNode returns the store of a node, with a clock of its own that stands.
func exampleNode(number uint64) (store *dag.Store, close func()) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	db := mem.New()
	store, err := dag.Open(db, dag.Options{Node: codec.NodeID{Lo: number}, Now: func() time.Time { return noon }})
	if err != nil {
		panic(err)
	}
	return store, func() {
		if err := errors.Join(store.Close(), db.Close()); err != nil {
			panic(err)
		}
	}
}

var room = codec.ContextID{0xC0}

// paint is an execution on the present state: one put.
func paint(store *dag.Store, colour string) (dag.Committed, error) {
	info, err := store.Context(room)
	if err != nil {
		return dag.Committed{}, err
	}
	return store.Commit(context.Background(), dag.Commit{
		Context: room, ReadRoot: info.Root,
		Actions: []codec.Action{{Kind: codec.ActionPut, Key: []byte("colour"), Value: []byte(colour)}},
	})
}

// One execution of a node is one commit: it says which root it has read, what it
// changes, and is refused where another was quicker.
func ExampleStore_Commit() {
	store, done := exampleNode(1)
	defer done()
	if err := store.CreateContext(room, codec.ApplicationMeta{}); err != nil {
		fmt.Println(err)
	}
	info, err := store.Context(room)
	fmt.Println(info.Applied, "deltas,", len(info.Heads), "heads", err)

	first, err := paint(store, "green")
	fmt.Println("number", first.Seq, err)

	_, err = store.Commit(context.Background(), dag.Commit{Context: room, ReadRoot: info.Root})
	var moved *dag.RootMoved
	fmt.Println(errors.Is(err, engine.ErrConflict), errors.As(err, &moved) && moved.Have == first.Root)
	// Output:
	// 0 deltas, 0 heads <nil>
	// number 1 <nil>
	// true true
}

// Deltas go to other nodes as bytes, and may come in any order: one whose parent is
// not there waits for it.
func ExampleStore_Add() {
	a, doneA := exampleNode(1)
	defer doneA()
	b, doneB := exampleNode(2)
	defer doneB()
	for _, store := range []*dag.Store{a, b} {
		if err := store.CreateContext(room, codec.ApplicationMeta{}); err != nil {
			fmt.Println(err)
		}
	}
	first, err := paint(a, "green")
	if err != nil {
		fmt.Println(err)
	}
	second, err := paint(a, "blue")
	if err != nil {
		fmt.Println(err)
	}

	offer := func(wire []byte) dag.Answer {
		d, err := dag.ParseDelta(wire)
		if err != nil {
			fmt.Println(err)
		}
		answer, err := b.Add(context.Background(), d, dag.AddOptions{})
		if err != nil {
			fmt.Println(err)
		}
		return answer
	}
	early := offer(second.Deltas[0])
	fmt.Println(early.Kind, "waits for the first:", early.Missing[0] == first.Delta)
	answer := offer(first.Deltas[0])
	fmt.Println(answer.Kind, "applied:", len(answer.Applied))
	fmt.Println("same root:", answer.Root == second.Root)
	// Output:
	// pending waits for the first: true
	// applied applied: 2
	// same root: true
}

// Two nodes write at once: both deltas are heads, and both nodes come to one state.
func ExampleStore_Heads() {
	a, doneA := exampleNode(1)
	defer doneA()
	b, doneB := exampleNode(2)
	defer doneB()
	var wires [][]byte
	for i, store := range []*dag.Store{a, b} {
		if err := store.CreateContext(room, codec.ApplicationMeta{}); err != nil {
			fmt.Println(err)
		}
		done, err := paint(store, []string{"green", "blue"}[i])
		if err != nil {
			fmt.Println(err)
		}
		wires = append(wires, done.Deltas...)
	}
	var roots []codec.Hash
	for _, store := range []*dag.Store{a, b} {
		for _, wire := range wires { // its own is a duplicate
			d, err := dag.ParseDelta(wire)
			if err == nil {
				_, err = store.Add(context.Background(), d, dag.AddOptions{})
			}
			if err != nil {
				fmt.Println(err)
			}
		}
		heads, root, err := store.Heads(room)
		fmt.Println(len(heads), "heads", err)
		roots = append(roots, root)
	}
	e, err := a.Prove(room, []byte("colour"))
	fmt.Printf("same root: %t; the later stamp wins: %s %v\n", roots[0] == roots[1], e.Value.V, err)
	// Output:
	// 2 heads <nil>
	// 2 heads <nil>
	// same root: true; the later stamp wins: blue <nil>
}

// Whoever has the root checks a proof without the store.
func ExampleStore_Prove() {
	store, done := exampleNode(1)
	defer done()
	if err := store.CreateContext(room, codec.ApplicationMeta{}); err != nil {
		fmt.Println(err)
	}
	if _, err := paint(store, "green"); err != nil {
		fmt.Println(err)
	}

	e, err := store.Prove(room, []byte("colour"))
	if err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%s, included: %t\n", e.Value.V, e.Proof.Included())
	fmt.Println(e.Proof.VerifyIncluded(e.Root, merkle.HashKey([]byte("colour")), merkle.HashValue([]byte("green"))))
	fmt.Println(errors.Is(e.Proof.VerifyIncluded(e.Root, merkle.HashKey([]byte("colour")), merkle.HashValue([]byte("red"))), merkle.ErrProof))

	absent, err := store.Prove(room, []byte("size"))
	fmt.Println(absent.Proof.VerifyAbsent(absent.Root, merkle.HashKey([]byte("size"))), err)
	// Output:
	// green, included: true
	// <nil>
	// true
	// <nil> <nil>
}

// A follower gets every delta in the order of application, and goes on after a
// restart behind what it has acknowledged.
func ExampleStore_Follow() {
	store, done := exampleNode(1)
	defer done()
	if err := store.CreateContext(room, codec.ApplicationMeta{}); err != nil {
		fmt.Println(err)
	}
	for _, colour := range []string{"green", "blue", "red"} {
		if _, err := paint(store, colour); err != nil {
			fmt.Println(err)
		}
	}

	for d, err := range store.Follow(context.Background(), room, dag.FollowOptions{Cursor: "screen"}) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Printf("%d %s\n", d.Seq, d.Actions[0].Value)
		if d.Seq == 2 {
			fmt.Println("acknowledged:", store.Ack(room, "screen", d.Position, engine.Synced))
			break
		}
	}
	for d, err := range store.Follow(context.Background(), room, dag.FollowOptions{Cursor: "screen"}) {
		fmt.Printf("%d %s %v\n", d.Seq, d.Actions[0].Value, err)
	}
	// Output:
	// 1 green
	// 2 blue
	// acknowledged: <nil>
	// 3 red <nil>
}
