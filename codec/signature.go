package codec

import (
	"encoding/hex"
	"fmt"
)

// Signature is an Ed25519 signature: R, then S.
type Signature [64]byte

// String returns the signature in hex.
func (s Signature) String() string { return hex.EncodeToString(s[:]) }

// IsZero reports whether all bytes are zero.
func (s Signature) IsZero() bool { return s == Signature{} }

// MarshalText returns the signature in hex. It never fails.
func (s Signature) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText accepts exactly what MarshalText returns; else [ErrMalformed].
func (s *Signature) UnmarshalText(text []byte) error {
	return unmarshalHex("Signature", s[:], text)
}

// fixed visits as many bytes as p has.
func (c *coder) fixed(name, kind string, p []byte) {
	switch c.mode {
	case decoding, checking:
		if b := c.take(name, len(p)); b != nil {
			copy(p, b)
		}
	case encoding:
		c.buf = append(c.buf, p...)
	default:
		c.textFixed(name, kind, p)
	}
}

func (c *coder) textFixed(name, kind string, p []byte) {
	switch c.mode {
	case printing:
		c.key(name)
		c.printHex(p)
	case reading:
		c.readHex(name, c.field(name, stringNode), p)
	case listing:
		c.list(name, kind)
	}
}

func (c *coder) signature(name string, p *Signature) { c.fixed(name, "Signature", p[:]) }

// version visits a byte that says in which form the fields after it are; there
// is one form so far.
func (c *coder) version(name string, only uint8) {
	start, v := c.mark(), only
	c.u8(name, &v)
	if v != only && c.mode != listing {
		c.failAt(name, start, fmt.Sprintf("version %d, and only %d is known", v, only))
	}
}

// opVersion visits the version of an op.
func (c *coder) opVersion(name string, p *OpVersion) {
	start, v := c.mark(), uint8(*p)+1
	c.u8(name, &v)
	if known := v == 1 || v == 2; !known && c.mode != listing {
		c.failAt(name, start, fmt.Sprintf("version %d, and only 1 and 2 are known", v))
		return
	}
	*p = OpVersion(v - 1)
}

// optionalID visits 32 bytes that may be absent.
func optionalID[T ~[32]byte](c *coder, name, kind string, p *Option[T]) {
	if c.option(name, kind, &p.Valid) {
		id(c, name, &p.V)
	}
}

// optionalAlias visits a name, as of an [AliasName], that may be absent.
func (c *coder) optionalAlias(name string, p *Option[AliasName]) {
	if c.option(name, "Option<String>", &p.Valid) {
		c.alias(name, (*string)(&p.V))
	}
}

// optionalMask visits a set of bits in one byte that may be absent.
func (c *coder) optionalMask(name string, p *Option[ContextCapability]) {
	if c.option(name, "Option<u8>", &p.Valid) {
		c.mask8(name, (*uint8)(&p.V), AllCapabilities)
	}
}

// holds reports whether a variant with the fields of has, each a bit, has the
// field f. Where it has not, it refuses on the way out one that is set.
func (c *coder) holds(has, f uint32, name string, zero bool) bool {
	if has&f != 0 {
		return true
	}
	c.absent(name, zero)
	return false
}
