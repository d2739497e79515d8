package keys

import (
	"fmt"
	"strconv"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// AliasKind says what an alias stands for. The zero AliasKind is none.
type AliasKind uint8

// The kinds of alias.
const (
	AliasContext     AliasKind = 1 + iota // a context
	AliasIdentity                         // a public key, in the context that is its scope
	AliasApplication                      // an application
)

var aliasKinds = []string{AliasContext: "context", AliasIdentity: "public_key", AliasApplication: "application"}

// Valid reports whether k is one of the kinds.
func (k AliasKind) Valid() bool { return k >= AliasContext && k <= AliasApplication }

// String returns "context", "public_key", "application", or "AliasKind(n)".
func (k AliasKind) String() string {
	if !k.Valid() {
		return fmt.Sprintf("AliasKind(%d)", uint8(k))
	}
	return aliasKinds[k]
}

// Alias locates what a name stands for.
//
//	Kind 1 ‖ Scope 32 ‖ Name 50  →  codec.AliasValue
type Alias struct {
	Kind  AliasKind
	Scope codec.ContextID // of AliasIdentity; zeros for the other kinds
	Name  Name
}

// Slot says where the keys are and what is stored under them; see [Key].
func (Alias) Slot() Slot[codec.AliasValue] {
	return Slot[codec.AliasValue]{Column: column.Alias, Size: 83}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k Alias) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("Alias", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (Alias) Parse(src []byte) (Alias, error) {
	var k Alias
	c := parser("Alias", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *Alias) layout(c *coder) {
	c.aliasKind("kind", &k.Kind)
	start := c.mark()
	id(c, "scope", &k.Scope)
	if c.mode <= encoding && k.Kind != AliasIdentity && !k.Scope.IsZero() {
		c.failAt("scope", start, "zeros are required, but for an alias of a public key")
	}
	c.name("name", &k.Name)
}

// AliasesIn is the prefix of the aliases of one kind in one scope.
func AliasesIn(kind AliasKind, scope codec.ContextID) Prefix[Alias] {
	return prefix[Alias](0, []byte{byte(kind)}, scope[:])
}

func (c *coder) aliasKind(name string, p *AliasKind) {
	start := c.mark()
	switch c.mode {
	case parsing, encoding:
		b := [1]byte{byte(*p)}
		c.part(b[:])
		*p = AliasKind(b[0])
		if !p.Valid() {
			c.failAt(name, start, fmt.Sprintf("%d is no kind of alias (1 context, 2 public key, 3 application)", *p))
		}
	case printing:
		c.key(name)
		c.buf = strconv.AppendUint(c.buf, uint64(*p), 10)
	case filling:
		c.fillKind(name, p)
	case listing:
		c.list(name, "alias kind", 1)
	}
}

// fillKind accepts a kind as its number or its name.
func (c *coder) fillKind(name string, p *AliasKind) {
	s, ok := c.given(name)
	if !ok {
		return
	}
	for k := AliasContext; k.Valid(); k++ {
		if s.text == strconv.Itoa(int(k)) || s.text == k.String() {
			c.buf = append(c.buf, byte(k))
			return
		}
	}
	c.fail(name, "none of 1 or context, 2 or public_key, 3 or application")
}

func (c *coder) name(name string, p *Name) {
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
		c.fillName(name)
	case listing:
		c.list(name, "name", len(p))
	}
}

// fillName pads a whole name; in a prefix the text stands for all names that
// begin with it.
func (c *coder) fillName(name string) {
	text, ok := c.word(name)
	if !ok {
		return
	}
	n, err := NewName(text)
	switch {
	case err != nil:
		c.fail(name, err.(*Error).Reason)
	case c.text.partial:
		c.buf = append(c.buf, text...)
	default:
		c.buf = append(c.buf, n[:]...)
	}
}
