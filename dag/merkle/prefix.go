package merkle

import (
	"math/bits"

	"github.com/stoadb/stoa/codec"
)

// MaxPrefix is the number of nibbles of a key's hash.
const MaxPrefix = 64

// Prefix is the first nibbles of the SHA-256 of an app_key, the upper nibble of
// a byte before the lower: a place in a trie, and all keys below it. It is
// comparable; the zero Prefix is that of all keys.
type Prefix struct {
	n    uint8
	bits [32]byte // zeros after the n-th nibble
}

// NewPrefix returns the first n nibbles of key. It panics unless n is 0 to
// [MaxPrefix].
func NewPrefix(key codec.Hash, n int) Prefix {
	if n < 0 || n > MaxPrefix {
		panic("merkle: a prefix has 0 to 64 nibbles")
	}
	p := Prefix{n: uint8(n)}
	copy(p.bits[:(n+1)/2], key[:])
	if n%2 == 1 {
		p.bits[n/2] &= 0xF0
	}
	return p
}

// Len returns the number of nibbles.
func (p Prefix) Len() int { return int(p.n) }

// Nibble returns the i-th nibble, 0 to 15. It panics if there is none.
func (p Prefix) Nibble(i int) int {
	if i >= int(p.n) {
		panic("merkle: nibble out of range")
	}
	return nibble((*codec.Hash)(&p.bits), i)
}

// Covers reports whether key begins with p.
func (p Prefix) Covers(key codec.Hash) bool {
	return common((*codec.Hash)(&p.bits), &key) >= int(p.n)
}

// String returns a hex digit for each nibble.
func (p Prefix) String() string {
	const digits = "0123456789abcdef"
	s := make([]byte, p.n)
	for i := range s {
		s[i] = digits[p.Nibble(i)]
	}
	return string(s)
}

// compare orders prefixes by their nibbles, a shorter one before those that
// begin with it.
func (p Prefix) compare(o Prefix) int {
	n := min(common((*codec.Hash)(&p.bits), (*codec.Hash)(&o.bits)), int(p.n), int(o.n))
	switch {
	case n < int(p.n) && n < int(o.n):
		return p.Nibble(n) - o.Nibble(n)
	default:
		return int(p.n) - int(o.n)
	}
}

// child returns p and one nibble more.
func (p Prefix) child(i int) Prefix {
	b := byte(i)
	if p.n%2 == 0 {
		b <<= 4
	}
	p.bits[p.n/2] |= b
	p.n++
	return p
}

// nibble returns the i-th nibble of key.
func nibble(key *codec.Hash, i int) int {
	b := key[i/2]
	if i%2 == 0 {
		return int(b >> 4)
	}
	return int(b & 0x0F)
}

// common returns how many leading nibbles a and b share.
func common(a, b *codec.Hash) int {
	for i := range a {
		if x := a[i] ^ b[i]; x != 0 {
			return 2*i + bits.LeadingZeros8(x)/4
		}
	}
	return MaxPrefix
}
