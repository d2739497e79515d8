// Package namespace carries the ops of root groups: one governance DAG for each
// namespace, in which the ops of its groups travel sealed, and the keys they are
// sealed under.
//
// Start at [Op], one op as everyone sees it, and [Check] and [Admit], which decide
// what is refused. [Keyring] opens what is sealed and hands it to package group, which
// says what it does. [View] answers who holds which key at a point of the DAG, and
// which key is current there; [View.Compose] makes the ops of this node.
//
// All of this is a function of its arguments. A [Store] does the same on an engine, step
// by step: [Store.Propose] makes ops, [Store.Apply] takes those of others, in any order,
// and the rows of the Group column are at all times those that follow from the ops that
// are here; [Store.Verify] holds it to the definitions. README.md has the formats and
// rules.
package namespace
