// Package dag keeps the shared state of contexts: the causal deltas that make
// it, the hybrid logical clock that orders them, and the Merkle trie whose root
// says that two nodes hold the same.
//
// [Clock] stamps deltas. [Trie] is the Merkle trie of one context: [Trie.Update]
// takes changes, [Trie.Root] is what they make of the root, [Trie.Overlay] tries
// them out, [Trie.Prove] and [Diff] show and compare what is in it. README.md
// defines the bytes of hashes, proofs, messages and rows.
package dag
