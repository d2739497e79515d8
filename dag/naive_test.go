package dag

import (
	"crypto/sha256"
	"encoding/hex"
	"sort"
	"strings"
)

// naive is the definition of README.md, word for word, over hex strings: it
// shares no code with the trie.
type naive map[string]string // hex of the key's hash -> hex of the value's hash

func naiveHash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "")))
	return hex.EncodeToString(sum[:])
}

func unhex(s string) string {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (n naive) root() string {
	if len(n) == 0 {
		return naiveHash("stoa.merkle.empty.v1")
	}
	var all []string
	for k := range n {
		all = append(all, k)
	}
	sort.Strings(all)
	return n.subtree(all)
}

func (n naive) subtree(all []string) string {
	if len(all) == 1 {
		return naiveHash("stoa.merkle.leaf.v1", unhex(all[0]), unhex(n[all[0]]))
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
			hashes += unhex(n.subtree(below))
		}
	}
	return naiveHash("stoa.merkle.node.v1", string([]byte{byte(depth)}), unhex(prefix),
		string([]byte{byte(children), byte(children >> 8)}), hashes)
}

// proof returns the bytes of the proof of key.
func (n naive) proof(key string) string {
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
				kind, end = 3, unhex(all[0])+unhex(n[all[0]])
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
				hashes += unhex(n.subtree(child))
			}
		}
		if away {
			prefix := all[0][:depth]
			if depth%2 == 1 {
				prefix += "0"
			}
			kind, end = 4, string([]byte{byte(depth)})+unhex(prefix)+string([]byte{byte(bits), byte(bits >> 8)})+hashes
			break
		}
		steps += string([]byte{byte(depth), byte(bits), byte(bits >> 8)}) + hashes
		count++
		all = below
	}
	return hex.EncodeToString([]byte(string([]byte{1, kind, byte(count)}) + steps + end))
}
