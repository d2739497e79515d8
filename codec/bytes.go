package codec

import (
	"fmt"
	"reflect"
	"unicode/utf8"
)

// secretSize is the length of every secret in bytes.
const secretSize = len(Secret{})

// id visits 32 bytes.
func id[T ~[32]byte](c *coder, name string, p *T) {
	switch c.mode {
	case decoding, checking:
		if b := c.take(name, 32); b != nil {
			*p = T(b)
		}
	case encoding:
		b := [32]byte(*p)
		c.buf = append(c.buf, b[:]...)
	default:
		b := [32]byte(*p)
		c.textID(name, reflect.TypeFor[T]().Name(), &b)
		*p = T(b)
	}
}

// ids visits a list of 32-byte ids.
func ids[T ~[32]byte](c *coder, name string, p *[]T) {
	switch c.mode {
	case decoding, checking:
		b := c.counted(name, 32)
		if len(b) == 0 || c.mode == checking {
			return
		}
		*p = make([]T, len(b)/32)
		for i := range *p {
			(*p)[i] = T(b[32*i:])
		}
	case encoding:
		c.appendCount(name, len(*p))
		for _, v := range *p {
			b := [32]byte(v)
			c.buf = append(c.buf, b[:]...)
		}
	default:
		n := c.textList(name, reflect.TypeFor[T]().Name(), len(*p))
		if n > 0 && c.mode == reading {
			*p = make([]T, n)
		}
		for i := range *p {
			b := [32]byte((*p)[i])
			c.textIDItem(name, i, &b)
			(*p)[i] = T(b)
		}
		c.textListEnd()
	}
}

// secret visits 32 bytes that are never shown.
func (c *coder) secret(name string, p *Secret) {
	switch c.mode {
	case decoding, checking:
		if b := c.take(name, secretSize); b != nil {
			*p = Secret(b)
		}
	case encoding:
		c.buf = append(c.buf, p[:]...)
	default:
		c.textSecret(name, "Secret", p)
	}
}

// secretBytes visits a secret stored as a byte string, which has 32 bytes.
func (c *coder) secretBytes(name string, p *Secret) {
	switch c.mode {
	case decoding, checking:
		start := c.pos
		if n := c.count(name, 1); n != secretSize {
			c.failAt(name, start, fmt.Sprintf("%s instead of %d", plural(n, "byte"), secretSize))
			return
		}
		c.secret(name, p)
	case encoding:
		c.appendCount(name, secretSize)
		c.secret(name, p)
	default:
		c.textSecret(name, "Secret in Vec<u8>", p)
	}
}

// optionalSecret visits a secret that may be absent.
func (c *coder) optionalSecret(name string, p *Option[Secret]) {
	if c.option(name, "Option<Secret>", &p.Valid) {
		c.secret(name, &p.V)
	}
}

// optionalString visits a string that may be absent.
func (c *coder) optionalString(name string, p *Option[string]) {
	if c.option(name, "Option<String>", &p.Valid) {
		c.string(name, &p.V)
	}
}

// option visits whether an optional field is there, and reports whether its
// content is to be visited next.
func (c *coder) option(name, kind string, valid *bool) bool {
	switch c.mode {
	case decoding, checking:
		*valid = c.flag(name, "option")
	case encoding:
		c.appendFlag(*valid)
	default:
		return c.textOption(name, kind, valid)
	}
	return *valid
}

// bytes visits a counted byte string.
func (c *coder) bytes(name string, p *[]byte) {
	switch c.mode {
	case decoding, checking:
		b := c.counted(name, 1)
		if len(b) > 0 && c.mode == decoding {
			*p = append([]byte(nil), b...)
		}
	case encoding:
		c.appendCount(name, len(*p))
		c.buf = append(c.buf, *p...)
	default:
		c.textBytes(name, "Vec<u8>", p)
	}
}

// rest visits bytes without a count, up to the end of the value.
func (c *coder) rest(name string, p *[]byte) {
	switch c.mode {
	case decoding, checking:
		b := c.take(name, len(c.buf)-c.pos)
		if len(b) > 0 && c.mode == decoding {
			*p = append([]byte(nil), b...)
		}
	case encoding:
		c.buf = append(c.buf, *p...)
	default:
		c.textBytes(name, "raw bytes", p)
	}
}

// string visits a counted string of UTF-8.
func (c *coder) string(name string, p *string) {
	switch c.mode {
	case decoding, checking:
		b := c.takeString(name)
		if c.mode == decoding {
			*p = c.kept(b)
		}
	case encoding:
		if !utf8.ValidString(*p) {
			c.fail(name, fmt.Sprintf("invalid UTF-8 at byte %d of the string", invalidAt(*p)))
		}
		c.appendCount(name, len(*p))
		c.buf = append(c.buf, *p...)
	default:
		c.textString(name, "String", p)
	}
}

// alias visits a string that keeps the rules of an [AliasName].
func (c *coder) alias(name string, p *string) {
	start := c.mark()
	switch c.mode {
	case decoding, checking:
		b := c.takeString(name)
		if c.err != nil {
			return
		}
		if fault := aliasFault(b); fault != "" {
			c.failAt(name, start, fault)
			return
		}
		if c.mode == decoding {
			*p = string(b)
		}
	case printing:
		c.textString(name, "String", p)
	case listing:
		c.list(name, fmt.Sprintf("String of 1 to %d bytes", MaxAlias))
	default:
		c.string(name, p)
		if fault := aliasFault(*p); fault != "" {
			c.failAt(name, start, fault)
		}
	}
}

// together has the strings that follow in the value share one piece of memory: the rest of the value, where
// that is at most maxTogether bytes. It is for values of several strings and little else, none of it secret.
func (c *coder) together() {
	if c.mode == decoding && len(c.buf)-c.pos <= maxTogether {
		c.shared, c.sharedAt = string(c.buf[c.pos:]), c.pos
	}
}

const maxTogether = 512

// kept returns the bytes that were just taken as a string.
func (c *coder) kept(b []byte) string {
	if c.shared == "" || len(b) == 0 {
		return string(b)
	}
	return c.shared[c.pos-len(b)-c.sharedAt : c.pos-c.sharedAt]
}

func (c *coder) takeString(name string) []byte {
	b := c.counted(name, 1)
	if !utf8.Valid(b) {
		bad := invalidAt(string(b))
		c.failAt(name, c.pos-len(b)+bad, "invalid UTF-8")
		return nil
	}
	return b
}

// invalidAt returns the offset of the first byte of s that is not UTF-8.
func invalidAt(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return len(s)
}
