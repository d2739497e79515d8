package codec

import (
	"fmt"
)

// MaxAlias is the longest name of an alias, in bytes.
const MaxAlias = 50

// AliasName is the value of GroupAlias, GroupMemberAlias and GroupContextAlias: 1
// to [MaxAlias] bytes of UTF-8 without NUL.
type AliasName string

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v AliasName) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("AliasName", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (AliasName) Decode(src []byte) (v AliasName, err error) {
	c := decoder("AliasName", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v AliasName) run(c coder) (AliasName, coder) { v.layout(&c); return v, c }

func (v *AliasName) layout(c *coder) {
	c.alias("name", (*string)(v))
}

// aliasFault says what is wrong with the length or content of a name, which is
// known to be UTF-8.
func aliasFault[T []byte | string](s T) string {
	if len(s) == 0 {
		return "empty name"
	}
	if len(s) > MaxAlias {
		return fmt.Sprintf("name of %d bytes, more than %d", len(s), MaxAlias)
	}
	for i := range len(s) {
		if s[i] == 0 {
			return fmt.Sprintf("NUL at byte %d of the name", i)
		}
	}
	return ""
}

// AliasValue is what an alias stands for: column Alias. The kind in the key says
// whether the id is a context's, an identity's or an application's.
type AliasValue struct {
	ID Hash
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v AliasValue) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("AliasValue", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (AliasValue) Decode(src []byte) (v AliasValue, err error) {
	c := decoder("AliasValue", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v AliasValue) run(c coder) (AliasValue, coder) { v.layout(&c); return v, c }

func (v *AliasValue) layout(c *coder) {
	id(c, "id", &v.ID)
}
