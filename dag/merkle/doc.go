// Package merkle is the Merkle trie of the state of a context: its root says that two
// nodes hold the same, and is a function of the keys and values alone.
//
// Start at [Open]: [Trie.Update] takes changes, [Trie.Root] is what they make of the
// root, [Trie.Overlay] tries them out, and [Trie.Write] gives the rows to store.
// [Trie.Prove] shows what is at a key to whoever has the root, [Diff] finds where the
// trie of a peer differs, and [Check] reads all rows. README.md defines the bytes of
// hashes, proofs, messages and rows.
package merkle
