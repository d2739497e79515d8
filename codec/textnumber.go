package codec

import (
	"fmt"
	"strconv"
)

func (c *coder) textNumber(name, kind string, p *uint64, most uint64) {
	switch c.mode {
	case printing:
		c.key(name)
		c.buf = strconv.AppendUint(c.buf, *p, 10)
	case reading:
		if n := c.field(name, numberNode); n != nil {
			c.parseUint(name, n.text, p, most)
		}
	case listing:
		c.list(name, kind)
	}
}

func (c *coder) textU64(name string, p *uint64) {
	switch c.mode {
	case printing:
		c.key(name)
		c.buf = append(c.buf, '"')
		c.buf = strconv.AppendUint(c.buf, *p, 10)
		c.buf = append(c.buf, '"')
	case reading:
		if text, ok := c.decimal(name); ok {
			c.parseUint(name, text, p, 1<<64-1)
		}
	case listing:
		c.list(name, "u64")
	}
}

func (c *coder) textNodeID(name string, p *NodeID) {
	switch c.mode {
	case printing:
		c.key(name)
		c.buf = append(c.buf, '"')
		c.buf = p.appendDecimal(c.buf)
		c.buf = append(c.buf, '"')
	case reading:
		text, ok := c.decimal(name)
		if !ok {
			return
		}
		v, fault := parseNodeID(text)
		if fault != "" {
			c.fail(name, fault)
		}
		*p = v
	case listing:
		c.list(name, "u128 above 0")
	}
}

// decimal returns the text of a number that may stand in quotes.
func (c *coder) decimal(name string) (string, bool) {
	if n := c.top().member(name); n != nil && n.kind == numberNode {
		return n.text, c.err == nil
	}
	n := c.field(name, stringNode)
	if n == nil {
		return "", false
	}
	return n.text, true
}

func (c *coder) parseUint(name, text string, p *uint64, most uint64) {
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil || v > most {
		c.fail(name, fmt.Sprintf("not a whole number from 0 to %d", most))
		return
	}
	*p = v
}

func (c *coder) textBool(name string, p *bool) {
	switch c.mode {
	case printing:
		c.key(name)
		c.buf = strconv.AppendBool(c.buf, *p)
	case reading:
		if n := c.field(name, boolNode); n != nil {
			*p = n.text == "true"
		}
	case listing:
		c.list(name, "bool")
	}
}
