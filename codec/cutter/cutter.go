// Package cutter takes bytes apart that have exactly one form: messages of peers and
// rows. Integers are little endian.
package cutter

import (
	"encoding/binary"
	"fmt"

	"github.com/stoadb/stoa/codec"
)

// Cutter takes bytes apart from the front, and keeps the first fault. After that all
// that it returns is zero.
type Cutter struct {
	Rest []byte       // what is left
	Err  *codec.Error // the first fault; nil: none yet

	name string // of what the bytes are
	all  []byte
}

// New returns what takes b apart, which errors call name. It changes nothing in b.
func New(name string, b []byte) Cutter { return Cutter{name: name, all: b, Rest: b} }

// Fail notes a fault at the present place, unless there has been one.
func (c *Cutter) Fail(field, reason string) {
	if c.Err == nil {
		c.Err = &codec.Error{Type: c.name, Field: field, Offset: len(c.all) - len(c.Rest), Reason: reason}
	}
	c.Rest = nil
}

// Take returns the next n bytes, nil if there are fewer.
func (c *Cutter) Take(field string, n int) []byte {
	switch {
	case c.Err != nil: // before anything is put together to be said, which may be for each of a long list
		return nil
	case len(c.Rest) < n:
		c.Fail(field, fmt.Sprintf("%d bytes, %d left", n, len(c.Rest)))
		return nil
	}
	b := c.Rest[:n]
	c.Rest = c.Rest[n:]
	return b
}

// U8 returns the next byte.
func (c *Cutter) U8(field string) byte {
	if b := c.Take(field, 1); b != nil {
		return b[0]
	}
	return 0
}

// U16 returns the next two bytes as a number.
func (c *Cutter) U16(field string) uint16 {
	if b := c.Take(field, 2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 returns the next four bytes as a number.
func (c *Cutter) U32(field string) uint32 {
	if b := c.Take(field, 4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 returns the next eight bytes as a number.
func (c *Cutter) U64(field string) uint64 {
	if b := c.Take(field, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Version takes one byte, which has to be version.
func (c *Cutter) Version(version byte) {
	if c.U8("version") != version {
		c.Fail("version", fmt.Sprintf("unknown, this is version %d", version))
	}
}

// Hash returns the next 32 bytes.
func (c *Cutter) Hash(field string) (h codec.Hash) {
	copy(h[:], c.Take(field, len(h)))
	return h
}

// Hashes returns the next n hashes. Nothing is allocated unless they are there.
func (c *Cutter) Hashes(field string, n int) []codec.Hash {
	b := c.Take(field, 32*n)
	if b == nil {
		return nil
	}
	h := make([]codec.Hash, n)
	for i := range h {
		h[i] = codec.Hash(b[32*i:])
	}
	return h
}

// Count returns the length, u32, of a list of elements of at least least bytes each,
// which the rest can hold.
func (c *Cutter) Count(field string, least int) int {
	b := c.Take(field, 4)
	if b == nil {
		return 0
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if n*int64(least) > int64(len(c.Rest)) {
		c.Fail(field, fmt.Sprintf("a count of %d, %d bytes left", n, len(c.Rest)))
		return 0
	}
	return int(n)
}

// Bytes returns a copy of the next counted bytes, nil of none.
func (c *Cutter) Bytes(field string) []byte {
	return append([]byte(nil), c.Take(field, c.Count(field, 1))...)
}

// End returns the first fault; bytes that are left are one.
func (c *Cutter) End() error {
	if len(c.Rest) > 0 {
		c.Fail("", fmt.Sprintf("%d bytes after the end", len(c.Rest)))
	}
	if c.Err != nil {
		return c.Err
	}
	return nil
}
