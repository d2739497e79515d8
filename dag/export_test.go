package dag

import "github.com/stoadb/stoa/codec"

// NaiveRoot returns the root of a state, by the second implementation of the
// trie.
func NaiveRoot(state map[string]string) codec.Hash {
	n := naive{}
	for key, value := range state {
		n[naiveHash(key)] = naiveHash(value)
	}
	return codec.Hash([]byte(unhex(n.root())))
}
