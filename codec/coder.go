package codec

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// coder is what a layout method drives: one struct with a mode rather than an
// interface with six implementations, so that the calls are static and nothing
// escapes to the heap.
type coder struct {
	mode  mode
	depth uint8  // used steps of path
	typ   string // the type's name, for errors
	buf   []byte // decoding, checking: the input; encoding, printing: the output
	pos   int    // decoding, checking: the next byte; encoding: where the value starts
	err   *Error // the first failure
	path  [maxDepth]step
	text  *textState // printing, reading, listing

	shared   string // decoding: the input from sharedAt on; see together
	sharedAt int
}

// mode says what a coder does with the fields it is shown.
type mode uint8

const (
	decoding mode = iota // bytes to value
	checking             // bytes to a verdict; sets fixed-size fields only and allocates nothing
	encoding             // value to bytes
	printing             // value to JSON
	reading              // JSON to value
	listing              // names and kinds of the fields
)

// maxDepth is how deep records nest below the top one.
const maxDepth = 7

// step is one part of the path to a field. Index is negative where the part is
// not an element of a list.
type step struct {
	name  string
	index int
}

func decoder(typ string, src []byte) coder { return coder{mode: decoding, typ: typ, buf: src} }
func encoder(typ string, dst []byte) coder {
	return coder{mode: encoding, typ: typ, buf: dst, pos: len(dst)}
}

// done ends decoding or checking: all bytes must have been used.
func (c *coder) done() error {
	if c.err == nil && c.pos != len(c.buf) {
		c.fail("", plural(len(c.buf)-c.pos, "trailing byte"))
	}
	if c.err != nil {
		return c.err
	}
	return nil
}

// encoded ends encoding: it returns the extended slice, or as it was.
func (c *coder) encoded() ([]byte, error) {
	if c.err != nil {
		return c.buf[:c.pos], c.err
	}
	return c.buf, nil
}

// mark returns the offset of the next byte, or -1 where there are no bytes.
func (c *coder) mark() int {
	switch c.mode {
	case decoding, checking:
		return c.pos
	case encoding:
		return len(c.buf) - c.pos
	default:
		return -1
	}
}

// fail records that the field name, at the present offset, was refused.
func (c *coder) fail(name, reason string) { c.failAt(name, c.mark(), reason) }

// failAt keeps the first failure. It takes the input away, so that whatever the
// layout still asks for comes up short, and loops end.
func (c *coder) failAt(name string, offset int, reason string) {
	if c.err != nil {
		return
	}
	c.err = &Error{Type: c.typ, Field: c.where(name), Offset: offset, Reason: reason}
	if c.mode == decoding || c.mode == checking {
		c.buf, c.pos = nil, 0
	}
}

// where returns the path of the field name below the present record.
func (c *coder) where(name string) string {
	path := ""
	for _, s := range c.path[:c.depth] {
		if path != "" && s.name != "" {
			path += "."
		}
		path += s.name
		if s.index >= 0 {
			path += "[" + strconv.Itoa(s.index) + "]"
		}
	}
	if path != "" && name != "" {
		path += "."
	}
	return path + name
}

func (c *coder) push(name string, index int) {
	c.path[c.depth] = step{name, index}
	c.depth++
}

// begin opens the record of type typ that is the field name; end closes it.
func (c *coder) begin(name, typ string) {
	if c.mode >= printing {
		c.textBegin(name, typ)
	}
	c.push(name, -1)
}

// item opens element i, a record, of the list name; end closes it.
func (c *coder) item(name string, i int) {
	if c.mode >= printing {
		c.textItem(name, i)
	}
	c.push(name, i)
}

// end closes what begin, item or variant opened.
func (c *coder) end() {
	if c.mode >= printing {
		c.textEnd()
	}
	c.depth--
}

// list visits the length of a list of records of type typ, none shorter than
// least bytes, and returns it. The layout then visits each element between item
// and end, and calls listEnd. While checking, the elements are not stored: at
// lends the layout a spare.
func list[T any](c *coder, name, typ string, p *[]T, least int) int {
	switch c.mode {
	case decoding, checking:
		n := c.count(name, least)
		if n > 0 && c.mode == decoding {
			*p = make([]T, n)
		}
		return n
	case encoding:
		c.appendCount(name, len(*p))
		return len(*p)
	default:
		n := c.textList(name, typ, len(*p))
		if n > 0 && c.mode == reading {
			*p = make([]T, n)
		}
		return n
	}
}

func (c *coder) listEnd() {
	if c.mode >= printing {
		c.textListEnd()
	}
}

// at returns element i of s, or spare where there is none.
func at[T any](s []T, i int, spare *T) *T {
	if i < len(s) {
		return &s[i]
	}
	return spare
}

// take returns the next n bytes of the input, or nil where it is too short.
func (c *coder) take(name string, n int) []byte {
	if n > len(c.buf)-c.pos {
		c.short(name, n)
		return nil
	}
	b := c.buf[c.pos : c.pos+n]
	c.pos += n
	return b
}

func (c *coder) short(name string, n int) {
	if c.err == nil {
		c.fail(name, fmt.Sprintf("needs %s, %d left", plural(n, "byte"), len(c.buf)-c.pos))
	}
}

// count reads the length of a list whose elements take at least least bytes
// each, and refuses one that the rest of the input cannot hold.
func (c *coder) count(name string, least int) int {
	at := c.pos
	n := uint64(c.take32(name))
	if left := len(c.buf) - c.pos; n*uint64(least) > uint64(left) {
		c.failAt(name, at, fmt.Sprintf("count %d larger than the input (%d bytes left)", n, left))
		return 0
	}
	return int(n)
}

// counted takes the length of a list and its elements, each of size bytes.
func (c *coder) counted(name string, size int) []byte {
	if rest := c.buf[c.pos:]; len(rest) >= 4 {
		n := uint64(binary.LittleEndian.Uint32(rest)) * uint64(size)
		if n <= uint64(len(rest)-4) {
			c.pos += 4 + int(n)
			return rest[4 : 4+n]
		}
	}
	return c.take(name, size*c.count(name, size)) // which says what is wrong
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
