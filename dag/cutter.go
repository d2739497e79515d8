package dag

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/stoadb/stoa/codec"
)

// cutter takes bytes apart. After the first fault all that it returns is zero.
type cutter struct {
	name string // of what the bytes are
	all  []byte
	rest []byte
	err  *codec.Error
}

func (c *cutter) fail(field, reason string) {
	if c.err == nil {
		c.err = &codec.Error{Type: c.name, Field: field, Offset: len(c.all) - len(c.rest), Reason: reason}
	}
	c.rest = nil
}

// take returns the next n bytes, nil if there are fewer.
func (c *cutter) take(field string, n int) []byte {
	if c.err == nil && len(c.rest) < n {
		c.fail(field, fmt.Sprintf("%d bytes, %d left", n, len(c.rest)))
	}
	if c.err != nil {
		return nil
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cutter) u8(field string) byte {
	if b := c.take(field, 1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cutter) u16(field string) uint16 {
	if b := c.take(field, 2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *cutter) hash(field string) (h codec.Hash) {
	copy(h[:], c.take(field, len(h)))
	return h
}

// hashes returns the next n hashes. Nothing is allocated unless they are there.
func (c *cutter) hashes(field string, n int) []codec.Hash {
	b := c.take(field, 32*n)
	if b == nil {
		return nil
	}
	h := make([]codec.Hash, n)
	for i := range h {
		h[i] = codec.Hash(b[32*i:])
	}
	return h
}

// prefix returns the next ⌈n/2⌉ bytes as a prefix of n nibbles.
func (c *cutter) prefix(n int) Prefix {
	if n > MaxPrefix {
		c.fail("prefix", "more than 64 nibbles")
	}
	var key codec.Hash
	if b := c.take("prefix", (n+1)/2); c.err == nil {
		copy(key[:], b)
	} else {
		n = 0
	}
	p := NewPrefix(key, n)
	if p.bits != key {
		c.fail("prefix", "bits after the last nibble")
	}
	return p
}

// branch returns the next branch, as appendBranch writes it.
func (c *cutter) branch() trieNode {
	n := trieNode{kind: nodeBranch, depth: int(c.u8("depth"))}
	if n.depth >= MaxPrefix {
		c.fail("depth", "over 63")
	}
	n.key = codec.Hash(c.prefix(n.depth).bits)
	n.bits = c.u16("children")
	if bits.OnesCount16(n.bits) < 2 {
		c.fail("children", "fewer than a branch has")
	}
	for i := range n.hashes {
		if n.bits>>i&1 == 1 {
			n.hashes[i] = c.hash("children")
		}
	}
	return n
}

// appendBranch appends depth u8 ‖ prefix ‖ children u16 LE ‖ hashes, as they are
// hashed.
func (n *trieNode) appendBranch(dst []byte) []byte {
	p := n.prefix()
	dst = append(append(dst, byte(n.depth)), p.bits[:(n.depth+1)/2]...)
	dst = binary.LittleEndian.AppendUint16(dst, n.bits)
	for i := range n.hashes {
		if n.bits>>i&1 == 1 {
			dst = append(dst, n.hashes[i][:]...)
		}
	}
	return dst
}

// end returns the first fault; bytes that are left are one.
func (c *cutter) end() error {
	if c.err == nil && len(c.rest) > 0 {
		c.fail("", fmt.Sprintf("%d bytes after the end", len(c.rest)))
	}
	if c.err != nil {
		return c.err
	}
	return nil
}
