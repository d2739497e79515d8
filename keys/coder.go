package keys

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/stoadb/stoa/column"
)

// coder is what the layout method of a key type drives: it visits the parts of
// the key in stored order. One struct with a mode, so that nothing escapes.
type coder struct {
	mode  mode
	tag   byte
	col   column.Column
	typ   string
	size  int
	limit int    // the longest key
	buf   []byte // parsing: the input; else the output
	pos   int    // parsing: the next byte; encoding: where the key starts
	err   *Error
	text  *textState // printing, filling, listing
}

// mode says what a coder does with the parts it is shown.
type mode uint8

const (
	parsing  mode = iota // bytes to key
	encoding             // key to bytes
	printing             // key to JSON
	filling              // named texts to bytes
	listing              // names and kinds of the parts
)

func newCoder[V any](m mode, typ string, s Slot[V], buf []byte) coder {
	return coder{mode: m, typ: typ, col: s.Column, tag: s.Tag, size: s.Size, limit: s.Size + s.MaxVar, buf: buf}
}

// encoder starts a key at the end of dst.
func encoder[V any](typ string, s Slot[V], dst []byte) coder {
	c := newCoder(encoding, typ, s, dst)
	c.pos = len(dst)
	if c.tag != 0 {
		c.buf = append(c.buf, c.tag)
	}
	return c
}

// encoded ends encoding: it returns the extended slice, or as it was.
func (c *coder) encoded() ([]byte, error) {
	if c.err != nil {
		return c.buf[:c.pos], c.err
	}
	return c.buf, nil
}

// parser starts at the first part of src, whose length and tag it checks: the
// parts themselves cannot come up short.
func parser[V any](typ string, s Slot[V], src []byte) coder {
	c := newCoder(parsing, typ, s, src)
	if fault, at := c.misfit(src); fault != "" {
		c.failAt("", at, fault)
	} else if c.tag != 0 {
		c.pos = 1
	}
	return c
}

func (c *coder) misfit(src []byte) (fault string, at int) {
	if c.tag != 0 && len(src) > 0 && src[0] != c.tag {
		return fmt.Sprintf("prefix %#02x instead of %#02x", src[0], c.tag), 0
	}
	return misfit(len(src), c.size, c.limit)
}

// misfit says what is wrong with the length n of a key, and where.
func misfit(n, size, limit int) (fault string, at int) {
	switch {
	case n >= size && n <= limit:
		return "", 0
	case size == limit:
		return fmt.Sprintf("%d bytes instead of %d", n, size), min(n, size)
	case n < size:
		return fmt.Sprintf("%d bytes, fewer than %d", n, size), n
	default:
		return fmt.Sprintf("%d bytes, more than %d", n, limit), limit
	}
}

// parsed returns what parsing gave: the key, or the zero key and the error.
func parsed[K any](k K, c *coder) (K, error) {
	if c.err != nil {
		var zero K
		return zero, c.err
	}
	return k, nil
}

// mark returns the offset of the next part, or -1 where there are no bytes.
func (c *coder) mark() int {
	switch c.mode {
	case parsing:
		return c.pos
	case encoding:
		return len(c.buf) - c.pos
	default:
		return -1
	}
}

// failAt keeps the first failure, and takes the input away.
func (c *coder) failAt(field string, offset int, reason string) {
	if c.err != nil {
		return
	}
	c.err = &Error{Column: c.col, Type: c.typ, Field: field, Offset: offset, Reason: reason}
	if c.mode == parsing {
		c.buf, c.pos = nil, 0
	}
}

func (c *coder) fail(field, reason string) { c.failAt(field, c.mark(), reason) }

// part visits the fixed bytes b of a part, while parsing or encoding.
func (c *coder) part(b []byte) {
	if c.mode == encoding {
		c.buf = append(c.buf, b...)
	} else if c.err == nil {
		c.pos += copy(b, c.buf[c.pos:])
	}
}

// id visits 32 bytes.
func id[T ~[32]byte](c *coder, name string, p *T) {
	switch c.mode {
	case parsing:
		if c.err == nil {
			*p = T(c.buf[c.pos:])
			c.pos += len(*p)
		}
	case encoding:
		b := [32]byte(*p)
		c.buf = append(c.buf, b[:]...)
	default:
		b := [32]byte(*p)
		c.textHex(name, reflect.TypeFor[T]().Name(), b[:])
	}
}

func (c *coder) seq(name string, p *Seq) {
	if c.mode <= encoding {
		c.part(p[:])
	} else {
		c.textSeq(name, p)
	}
}

// index visits a number of 32 bits.
func (c *coder) index(name string, p *uint32) {
	if c.mode <= encoding {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], *p)
		c.part(b[:])
		*p = binary.BigEndian.Uint32(b[:])
	} else {
		c.textIndex(name, p)
	}
}

// rest visits the variable part, which comes last.
func (c *coder) rest(name string, p *Bytes) {
	switch c.mode {
	case parsing:
		if c.err == nil {
			*p = NewBytes(c.buf[c.pos:])
		}
	case encoding:
		if p.Len() > MaxVariable {
			c.fail(name, fmt.Sprintf("%d bytes, more than %d", p.Len(), MaxVariable))
		}
		c.buf = p.AppendTo(c.buf)
	default:
		c.textBytes(name, p)
	}
}
