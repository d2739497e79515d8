// Package merkletest is a second implementation of the trie of package merkle, for the
// tests of whatever stands on that: slow, and plain.
package merkletest

import (
	"crypto/sha256"
	"encoding/hex"
	"sort"
	"strings"

	"github.com/stoadb/stoa/codec"
)

// Naive is the definition of README.md, word for word, over hex strings: it
// shares no code with the trie.
type Naive map[string]string // hex of the key's hash -> hex of the value's hash

// Hash returns the SHA-256 of parts, one behind the other, in hex.
func Hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "")))
	return hex.EncodeToString(sum[:])
}

// Unhex returns the bytes of hex digits, and panics if s is something else.
func Unhex(s string) string {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Root returns the root of a state of app_keys and values.
func Root(state map[string]string) codec.Hash {
	n := Naive{}
	for key, value := range state {
		n[Hash(key)] = Hash(value)
	}
	return codec.Hash([]byte(Unhex(n.Root())))
}

// Root returns the root, in hex.
func (n Naive) Root() string {
	if len(n) == 0 {
		return Hash("stoa.merkle.empty.v1")
	}
	var all []string
	for k := range n {
		all = append(all, k)
	}
	sort.Strings(all)
	return n.subtree(all)
}

func (n Naive) subtree(all []string) string {
	if len(all) == 1 {
		return Hash("stoa.merkle.leaf.v1", Unhex(all[0]), Unhex(n[all[0]]))
	}
	depth := 0
	for all[0][depth] == all[len(all)-1][depth] {
		depth++
	}
	prefix := all[0][:depth]
	if depth%2 == 1 {
		prefix += "0"
	}
	children, hashes := 0, ""
	for i, digit := range "0123456789abcdef" {
		var below []string
		for _, k := range all {
			if k[depth] == byte(digit) {
				below = append(below, k)
			}
		}
		if len(below) > 0 {
			children |= 1 << i
			hashes += Unhex(n.subtree(below))
		}
	}
	return Hash("stoa.merkle.node.v1", string([]byte{byte(depth)}), Unhex(prefix),
		string([]byte{byte(children), byte(children >> 8)}), hashes)
}

// Proof returns the bytes of the proof of key.
func (n Naive) Proof(key string) string {
	var all []string
	for k := range n {
		all = append(all, k)
	}
	sort.Strings(all)
	steps, end := "", ""
	count, kind := 0, byte(2)
	for len(all) > 0 {
		if len(all) == 1 {
			kind = 1
			if all[0] != key {
				kind, end = 3, Unhex(all[0])+Unhex(n[all[0]])
			}
			break
		}
		depth := 0
		for all[0][depth] == all[len(all)-1][depth] {
			depth++
		}
		var below []string // on the way of key
		bits, hashes := 0, ""
		away := key[:depth] != all[0][:depth]
		for i, digit := range "0123456789abcdef" {
			var child []string
			for _, k := range all {
				if k[depth] == byte(digit) {
					child = append(child, k)
				}
			}
			switch {
			case len(child) == 0:
			case !away && key[depth] == byte(digit):
				below = child
			default:
				bits |= 1 << i
				hashes += Unhex(n.subtree(child))
			}
		}
		if away {
			prefix := all[0][:depth]
			if depth%2 == 1 {
				prefix += "0"
			}
			kind, end = 4, string([]byte{byte(depth)})+Unhex(prefix)+string([]byte{byte(bits), byte(bits >> 8)})+hashes
			break
		}
		steps += string([]byte{byte(depth), byte(bits), byte(bits >> 8)}) + hashes
		count++
		all = below
	}
	return hex.EncodeToString([]byte(string([]byte{1, kind, byte(count)}) + steps + end))
}
