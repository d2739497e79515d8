package keys

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// Generic locates an entry of a scope.
//
//	Scope 16 ‖ Fragment var  →  codec.Raw
type Generic struct {
	Scope    Scope
	Fragment Bytes
}

// Slot says where the keys are and what is stored under them; see [Key].
func (Generic) Slot() Slot[codec.Raw] {
	return Slot[codec.Raw]{Column: column.Generic, Size: 16, MaxVar: MaxVariable}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k Generic) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("Generic", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (Generic) Parse(src []byte) (Generic, error) {
	var k Generic
	c := parser("Generic", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *Generic) layout(c *coder) {
	c.scope("scope", &k.Scope)
	c.rest("fragment", &k.Fragment)
}

// EntriesOf is the prefix of the entries of a scope.
func EntriesOf(scope Scope) Prefix[Generic] { return prefix[Generic](0, scope[:]) }

// EntriesUnder is the prefix of the entries of a scope whose fragments begin with
// leading.
func EntriesUnder(scope Scope, leading []byte) Prefix[Generic] {
	return prefix[Generic](0, scope[:], leading)
}

func genericError(field string, offset int, reason string) *Error {
	return &Error{Column: column.Generic, Type: "Generic", Field: field, Offset: offset, Reason: reason}
}

func (c *coder) scope(name string, p *Scope) {
	start := c.mark()
	switch c.mode {
	case parsing, encoding:
		c.part(p[:])
		if fault, at := p.fault(); fault != "" {
			c.failAt(name, start+at, fault)
		}
	case printing:
		c.key(name)
		c.quotedText(p.String())
	case filling:
		c.fillScope(name)
	case listing:
		c.list(name, "scope", len(p))
	}
}

func (c *coder) fillScope(name string) {
	text, ok := c.word(name)
	if !ok {
		return
	}
	s, err := parseScope(text)
	if err != nil {
		c.fail(name, err.(*Error).Reason)
		return
	}
	c.buf = append(c.buf, s[:]...)
}
