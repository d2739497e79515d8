// Package group says what signed ops do to groups: who is a member, what they may
// do, and what every row of a group therefore is.
//
// Start at [Evaluate], the definition itself: a pure function from a set of ops to
// the verdict on each and to all rows of the Group column. It is slow and plain, and
// what keeps the rows of a node up to date step by step is tested against it. An
// [Op] is one op as this node can read it; package namespace makes them from what
// travels. README.md has the tables: ops, who may do what, verdicts.
//
// Nothing here reads a clock, draws a random number or touches a store.
package group
