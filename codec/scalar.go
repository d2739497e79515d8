package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

func (c *coder) take32(name string) uint32 {
	if b := c.take(name, 4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *coder) appendCount(name string, n int) {
	if n > math.MaxUint32 {
		c.fail(name, fmt.Sprintf("%d elements, more than a count of 32 bits holds", n))
	}
	c.buf = binary.LittleEndian.AppendUint32(c.buf, uint32(n))
}

func (c *coder) u8(name string, p *uint8) {
	switch c.mode {
	case decoding, checking:
		if b := c.take(name, 1); b != nil {
			*p = b[0]
		}
	case encoding:
		c.buf = append(c.buf, *p)
	default:
		n := uint64(*p)
		c.textNumber(name, "u8", &n, math.MaxUint8)
		*p = uint8(n)
	}
}

func (c *coder) u32(name string, p *uint32) {
	switch c.mode {
	case decoding, checking:
		*p = c.take32(name)
	case encoding:
		c.buf = binary.LittleEndian.AppendUint32(c.buf, *p)
	default:
		n := uint64(*p)
		c.textNumber(name, "u32", &n, math.MaxUint32)
		*p = uint32(n)
	}
}

func (c *coder) u64(name string, p *uint64) {
	switch c.mode {
	case decoding, checking:
		if b := c.take(name, 8); b != nil {
			*p = binary.LittleEndian.Uint64(b)
		}
	case encoding:
		c.buf = binary.LittleEndian.AppendUint64(c.buf, *p)
	default:
		c.textU64(name, p)
	}
}

// nodeID visits a u128 that is not zero.
func (c *coder) nodeID(name string, p *NodeID) {
	start := c.mark()
	switch c.mode {
	case decoding, checking:
		if b := c.take(name, 16); b != nil {
			*p = NodeID{Lo: binary.LittleEndian.Uint64(b), Hi: binary.LittleEndian.Uint64(b[8:])}
		}
	case encoding:
		c.buf = binary.LittleEndian.AppendUint64(c.buf, p.Lo)
		c.buf = binary.LittleEndian.AppendUint64(c.buf, p.Hi)
	default:
		c.textNodeID(name, p)
	}
	if p.IsZero() && c.mode != listing {
		c.failAt(name, start, "0 is not a node id")
	}
}

func (c *coder) bool(name string, p *bool) {
	switch c.mode {
	case decoding, checking:
		*p = c.flag(name, "bool")
	case encoding:
		c.appendFlag(*p)
	default:
		c.textBool(name, p)
	}
}

// flag reads a byte that must be 0 or 1.
func (c *coder) flag(name, what string) bool {
	b := c.take(name, 1)
	if b != nil && b[0] > 1 {
		c.failAt(name, c.pos-1, fmt.Sprintf("%s byte %d is neither 0 nor 1", what, b[0]))
		return false
	}
	return b != nil && b[0] == 1
}

func (c *coder) appendFlag(set bool) {
	if set {
		c.buf = append(c.buf, 1)
	} else {
		c.buf = append(c.buf, 0)
	}
}

// enum visits an enum without payload, whose variants have the given names.
func (c *coder) enum(name, typ string, p *uint8, names []string) {
	start := c.mark()
	switch c.mode {
	case decoding, checking, encoding:
		c.u8(name, p)
		c.inRange(name, start, p, names)
	default:
		c.textEnum(name, typ, p, names)
	}
}

// variant visits the tag of an enum with payload and opens the variant's
// fields; end closes them.
func (c *coder) variant(p *uint8, names []string) {
	start := c.mark()
	switch c.mode {
	case decoding, checking, encoding:
		c.u8("", p)
		c.inRange("", start, p, names)
	default:
		c.textVariant(p, names)
	}
	if int(*p) >= len(names) {
		*p = 0
	}
	c.push(names[*p], -1)
}

func (c *coder) inRange(name string, start int, p *uint8, names []string) {
	if int(*p) >= len(names) {
		c.failAt(name, start, fmt.Sprintf("tag %d out of range (0 to %d: %s)", *p, len(names)-1, strings.Join(names, ", ")))
	}
}

// mask visits a set of bits, of which those in known are allowed.
func (c *coder) mask(name string, p *uint32, known Capabilities) {
	if c.mode == listing {
		c.list(name, fmt.Sprintf("u32 of the bits %#x", uint32(known)))
		return
	}
	start := c.mark()
	c.u32(name, p)
	c.onlyBits(name, start, *p, known)
}

// mask8 is mask in one byte.
func (c *coder) mask8(name string, p *uint8, known Capabilities) {
	if c.mode == listing {
		c.list(name, fmt.Sprintf("u8 of the bits %#x", uint32(known)))
		return
	}
	start := c.mark()
	c.u8(name, p)
	c.onlyBits(name, start, uint32(*p), known)
}

func (c *coder) onlyBits(name string, start int, bits uint32, known Capabilities) {
	if unknown := bits &^ uint32(known); unknown != 0 {
		c.failAt(name, start, fmt.Sprintf("unknown capability bits %#x (known: %#x)", unknown, uint32(known)))
	}
}

// absent refuses, on the way out, a field that the variant at hand does not
// have: its content would be lost.
func (c *coder) absent(name string, zero bool) {
	if c.mode == encoding && !zero {
		c.fail(name, "set, but this variant has no such field")
	}
}
