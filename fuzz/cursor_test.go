package fuzz

import (
	"bytes"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// space is where in a column keys are made: under a prefix with which all of
// them are keys of the schema, so that a daemon takes them too.
type space struct {
	col    column.Column
	prefix string
}

var spaces = [...]space{
	{column.State, "state state state state state st"},
	{column.PrivateState, "private private private private "},
	{column.Generic, "stoa.test\x00\x00\x00\x00\x00\x00\x00"},
}

// cursor makes operations of the bytes of an input. Past their end it reads
// zeros.
type cursor []byte

func (c *cursor) done() bool { return len(*c) == 0 }

// below returns a number from 0 up to, but without, n, of one byte.
func (c *cursor) below(n int) int {
	if c.done() {
		return 0
	}
	b := (*c)[0]
	*c = (*c)[1:]
	return int(b) % n
}

func (c *cursor) space() space { return spaces[c.below(len(spaces))] }

// letters are what keys are made of: the ends of the range of bytes, and what
// lies between.
const letters = "\x00ab\xFF"

// in returns a key of a space, of up to 3 letters.
func (c *cursor) in(s space) []byte {
	key := []byte(s.prefix)
	for range c.below(4) {
		key = append(key, letters[c.below(len(letters))])
	}
	return key
}

func (c *cursor) target() (column.Column, []byte) {
	s := c.space()
	return s.col, c.in(s)
}

// value returns a few bytes, or, now and then, more than a page or a block has.
func (c *cursor) value() []byte {
	n := c.below(32)
	if n >= 30 {
		return bytes.Repeat([]byte{byte(n)}, 5000*(n-29)*(1+c.below(8)))
	}
	value := make([]byte, n)
	for i := range value {
		value[i] = byte(c.below(256))
	}
	return value
}

// bounds returns a range; whether it has bounds and a limit is drawn too.
func (c *cursor) bounds() (column.Column, engine.Range) {
	s, shape := c.space(), c.below(16)
	var r engine.Range
	if shape&1 > 0 {
		r.Start = c.in(s)
	}
	if shape&2 > 0 {
		r.End = c.in(s)
	}
	r.Reverse = shape&4 > 0
	if shape&8 > 0 {
		r.Limit = c.below(6)
	}
	return s.col, r
}

// batch returns changes and expectations.
func (c *cursor) batch() *engine.Batch {
	b := &engine.Batch{Durability: engine.WAL}
	for range c.below(8) {
		s := c.space()
		switch c.below(5) {
		case 0, 1, 2:
			b.Put(s.col, c.in(s), c.value())
		case 3:
			b.Delete(s.col, c.in(s))
		case 4:
			b.DeleteRange(s.col, c.in(s), c.in(s)) // refused if the end is not after the start
		}
	}
	for range c.below(6) / 4 {
		if col, key := c.target(); c.below(2) == 0 {
			b.ExpectAbsent(col, key)
		} else {
			b.Expect(col, key, c.value())
		}
	}
	return b
}
