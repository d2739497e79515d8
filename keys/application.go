package keys

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// ApplicationMeta locates an application record.
//
//	App 32  →  codec.ApplicationMeta
type ApplicationMeta struct {
	App codec.ApplicationID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (ApplicationMeta) Slot() Slot[codec.ApplicationMeta] {
	return Slot[codec.ApplicationMeta]{Column: column.Application, Size: 32}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k ApplicationMeta) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ApplicationMeta", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (ApplicationMeta) Parse(src []byte) (ApplicationMeta, error) {
	var k ApplicationMeta
	c := parser("ApplicationMeta", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *ApplicationMeta) layout(c *coder) {
	id(c, "application_id", &k.App)
}
