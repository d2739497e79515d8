package codec

import (
	"fmt"
	"slices"
	"strings"
)

// textOption reports whether the content of an optional field comes next.
func (c *coder) textOption(name, kind string, valid *bool) bool {
	switch c.mode {
	case printing:
		if !*valid {
			c.key(name)
			c.buf = append(c.buf, "null"...)
		}
		return *valid
	case reading:
		n := c.top().member(name)
		*valid = n == nil || n.kind != nullNode // a missing one fails as its content is read
		return *valid
	default:
		if kind == "Option<Secret>" {
			c.text.secret = true
		}
		c.list(name, kind)
		return false
	}
}

func (c *coder) textEnum(name, typ string, p *uint8, names []string) {
	switch c.mode {
	case printing:
		c.key(name)
		c.buf = appendQuoted(c.buf, names[*p])
	case reading:
		n := c.field(name, stringNode)
		if n == nil {
			return
		}
		i := slices.Index(names, n.text)
		if i < 0 {
			c.fail(name, fmt.Sprintf("%.40q is none of %s", n.text, strings.Join(names, ", ")))
			return
		}
		*p = uint8(i)
	case listing:
		c.list(name, typ+": "+strings.Join(names, ", "))
	}
}

func (c *coder) textVariant(p *uint8, names []string) {
	switch c.mode {
	case printing:
		c.key(names[*p])
		c.openWith('{')
	case reading:
		c.enter(c.readVariant(p, names))
	case listing:
		if c.depth == 0 {
			c.text.variants = len(names)
			*p = uint8(c.text.pick)
			c.list(names[*p], fmt.Sprintf("variant %d", *p))
		}
	}
}

// readVariant returns the fields of the one variant that the object names.
func (c *coder) readVariant(p *uint8, names []string) *node {
	if c.err != nil {
		return nil
	}
	for i, name := range names {
		if n := c.top().member(name); n != nil {
			*p = uint8(i)
			return c.expect(name, n, objectNode)
		}
	}
	c.fail("", "needs one of "+strings.Join(names, ", "))
	return nil
}
