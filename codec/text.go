package codec

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// textState is what a coder needs to print JSON, read it, or list fields.
type textState struct {
	reveal bool // printing: secrets as they are
	comma  bool // printing: something precedes in the present object or list

	open []*node // reading: the objects and lists around the present field

	fields   []Field // listing: what was met, top level only
	secret   bool    // listing: a secret was met
	pick     int     // listing: which variant to list
	variants int     // listing: how many there are
}

// Field is one field of a record type, for people.
type Field struct {
	Name string // as in JSON; fields of a variant are put.key
	Kind string // Hash, u64, Vec<Action>, ...
}

// list records a field of the top level, while listing.
func (c *coder) list(name, kind string) {
	t := c.text
	if c.depth == 0 || t.variants > 0 && c.depth == 1 {
		t.fields = append(t.fields, Field{Name: c.where(name), Kind: kind})
	}
}

// key prints the name of a field.
func (c *coder) key(name string) {
	c.separate()
	c.buf = appendQuoted(c.buf, name)
	c.buf = append(c.buf, ':')
}

func (c *coder) separate() {
	if c.text.comma {
		c.buf = append(c.buf, ',')
	}
	c.text.comma = true
}

func (c *coder) openWith(b byte) {
	c.buf = append(c.buf, b)
	c.text.comma = false
}

func (c *coder) closeWith(b byte) {
	c.buf = append(c.buf, b)
	c.text.comma = true
}

// field returns the node of a field of the object being read, which must be of
// the given kind. It returns nil after a failure.
func (c *coder) field(name string, kind nodeKind) *node {
	if c.err != nil {
		return nil
	}
	n := c.top().member(name)
	if n == nil {
		c.fail(name, "missing")
		return nil
	}
	return c.expect(name, n, kind)
}

func (c *coder) expect(name string, n *node, kind nodeKind) *node {
	if n.kind != kind {
		c.fail(name, fmt.Sprintf("%s instead of %s", n.kind, kind))
		return nil
	}
	return n
}

func (c *coder) top() *node { return c.text.open[len(c.text.open)-1] }

// enter makes n, or where reading failed an empty node, the object being read.
func (c *coder) enter(n *node) {
	if n == nil {
		n = new(node)
	}
	c.text.open = append(c.text.open, n)
}

func (c *coder) textBegin(name, typ string) {
	switch c.mode {
	case printing:
		c.key(name)
		c.openWith('{')
	case reading:
		c.enter(c.field(name, objectNode))
	case listing:
		c.list(name, typ)
	}
}

func (c *coder) textItem(name string, i int) {
	switch c.mode {
	case printing:
		c.separate()
		c.openWith('{')
	case reading:
		c.enter(c.element(name, i, objectNode))
	}
}

// element returns element i of the list being read.
func (c *coder) element(name string, i int, kind nodeKind) *node {
	if c.err != nil {
		return nil
	}
	return c.expect(fmt.Sprintf("%s[%d]", name, i), c.top().items[i], kind)
}

func (c *coder) textEnd() {
	switch c.mode {
	case printing:
		c.closeWith('}')
	case reading:
		if name, ok := c.top().unasked(); ok && c.err == nil {
			c.fail(name, "unknown field (known: "+strings.Join(c.top().asked, ", ")+")")
		}
		c.text.open = c.text.open[:len(c.text.open)-1]
	}
}

func (c *coder) textList(name, typ string, n int) int {
	switch c.mode {
	case printing:
		c.key(name)
		c.openWith('[')
		return n
	case reading:
		list := c.field(name, listNode)
		c.enter(list)
		if list == nil {
			return 0
		}
		return len(list.items)
	default:
		c.list(name, "Vec<"+typ+">")
		return 0
	}
}

func (c *coder) textListEnd() {
	switch c.mode {
	case printing:
		c.closeWith(']')
	case reading:
		c.text.open = c.text.open[:len(c.text.open)-1]
	}
}

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
		c.list(name, "u128")
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
