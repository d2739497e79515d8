// Package dag keeps the shared state of contexts: the causal deltas that make
// it, and the Merkle trie whose root says that two nodes hold the same. Package hlc
// makes the stamps that order deltas.
//
// Start at [Store]: [Store.Add] takes the deltas of peers in, [Store.Commit] makes
// those of this node; [Store.Since] and [Store.Follow] yield them in causal order,
// [Store.Snapshot] and [Store.Seed] take a context to another node, [Store.Verify]
// replays one. [Trie] is the Merkle trie of one context:
// [Trie.Update] takes changes, [Trie.Root] is what they make of the root,
// [Trie.Overlay] tries them out, [Trie.Prove] and [Diff] show and compare what is in
// it. README.md defines the bytes of hashes, proofs, messages and rows.
package dag
