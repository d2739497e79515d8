// Package dag keeps the shared state of contexts, and the causal deltas that make it.
// Package hlc makes the stamps that order deltas; the root of a Merkle trie, package
// merkle, says that two nodes hold the same.
//
// Start at [Store]: [Store.Add] takes the deltas of peers in, [Store.Commit] makes
// those of this node; [Store.Since] and [Store.Follow] yield them in causal order,
// [Store.Snapshot] and [Store.Seed] take a context to another node, [Store.Verify]
// replays one. Package merkle is the trie, and compares two of them. README.md defines
// the bytes of deltas, snapshots and rows.
package dag
