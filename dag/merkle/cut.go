package merkle

import (
	"encoding/binary"
	"math/bits"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/codec/cutter"
)

// nodeCutter takes apart what nodes are sent in.
type nodeCutter struct{ cutter.Cutter }

func cutNodes(name string, b []byte) nodeCutter { return nodeCutter{cutter.New(name, b)} }

// prefix returns the next ⌈n/2⌉ bytes as a prefix of n nibbles.
func (c *nodeCutter) prefix(n int) Prefix {
	if n > MaxPrefix {
		c.Fail("prefix", "more than 64 nibbles")
	}
	var key codec.Hash
	if b := c.Take("prefix", (n+1)/2); c.Err == nil {
		copy(key[:], b)
	} else {
		n = 0
	}
	p := NewPrefix(key, n)
	if p.bits != key {
		c.Fail("prefix", "bits after the last nibble")
	}
	return p
}

// branch returns the next branch, as appendBranch writes it.
func (c *nodeCutter) branch() node {
	n := node{kind: nodeBranch, depth: int(c.U8("depth"))}
	if n.depth >= MaxPrefix {
		c.Fail("depth", "over 63")
	}
	n.key = codec.Hash(c.prefix(n.depth).bits)
	n.bits = c.U16("children")
	if bits.OnesCount16(n.bits) < 2 {
		c.Fail("children", "fewer than a branch has")
	}
	for i := range n.hashes {
		if n.bits>>i&1 == 1 {
			n.hashes[i] = c.Hash("children")
		}
	}
	return n
}

// appendBranch appends depth u8 ‖ prefix ‖ children u16 LE ‖ hashes, as they are
// hashed.
func (n *node) appendBranch(dst []byte) []byte {
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
