// Package namespace carries the ops of root groups: one governance DAG for each
// namespace, in which what says who may do what is clear, what members do with it
// travels sealed, and the keys it is sealed under are handed out.
//
// Start at [Store]: [Store.Propose] makes ops, [Store.Apply] takes those of others, in
// any order, and the rows of the Group column are at all times those that follow from the
// ops that are here. An [Op] is one op as everyone sees it; [Check] says what is refused of
// it by itself, batch.accept what is refused, or waits, by its ancestors (accept.go). Ops
// of namespaces that the node does not follow get no further than [Store.FollowNamespace]
// (begin.go); package fair says who makes room where many wait.
// Package group says what the ops do that can be read. What is clear of all ops answers
// who holds which key (handout.go) and under which to seal (groupkeys.go): by that proposing
// makes what must go with an op of this node (propose.go). Namespaces of version 1 have
// rules of their own for that (holderindex.go, current.go, propose1.go).
// [Store.Verify] takes everything in again and compares. README.md has the formats and
// rules.
//
// The tests have those rules a second time, as functions of their arguments that know no
// store (ref*_test.go), and hold the Store to them.
package namespace
