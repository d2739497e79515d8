package codec

import (
	"encoding/hex"
	"fmt"
)

func (c *coder) textString(name, kind string, p *string) {
	switch c.mode {
	case printing:
		c.key(name)
		c.buf = appendQuoted(c.buf, *p)
	case reading:
		if n := c.field(name, stringNode); n != nil {
			*p = n.text
		}
	case listing:
		c.list(name, kind)
	}
}

func (c *coder) textID(name, kind string, p *[32]byte) {
	switch c.mode {
	case printing:
		c.key(name)
		c.printHex(p[:])
	case reading:
		c.readHex(name, c.field(name, stringNode), p[:])
	case listing:
		c.list(name, kind)
	}
}

func (c *coder) textIDItem(name string, i int, p *[32]byte) {
	if c.mode == printing {
		c.separate()
		c.printHex(p[:])
		return
	}
	c.readHex(fmt.Sprintf("%s[%d]", name, i), c.element(name, i, stringNode), p[:])
}

func (c *coder) printHex(b []byte) {
	c.buf = append(c.buf, '"')
	c.buf = hex.AppendEncode(c.buf, b)
	c.buf = append(c.buf, '"')
}

func (c *coder) readHex(name string, n *node, dst []byte) {
	if n == nil {
		return
	}
	if fault := parseHex(dst, n.text); fault != "" {
		c.fail(name, fault)
	}
}

func (c *coder) textSecret(name, kind string, p *Secret) {
	switch c.mode {
	case printing:
		c.key(name)
		text := p.String()
		if c.text.reveal {
			text = p.Reveal()
		}
		c.buf = appendQuoted(c.buf, text)
	case reading:
		if n := c.field(name, stringNode); n != nil {
			if fault := p.parse(n.text); fault != "" {
				c.fail(name, fault)
			}
		}
	case listing:
		c.text.secret = true
		c.list(name, kind)
	}
}

func (c *coder) textBytes(name, kind string, p *[]byte) {
	switch c.mode {
	case printing:
		c.key(name)
		c.printHex(*p)
	case reading:
		n := c.field(name, stringNode)
		if n == nil || n.text == "" {
			return
		}
		if len(n.text)%2 != 0 {
			c.fail(name, "an odd number of hex digits")
			return
		}
		*p = make([]byte, len(n.text)/2)
		c.readHex(name, n, *p)
	case listing:
		c.list(name, kind)
	}
}
