package codec

import (
	"fmt"
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
