package keys

import "reflect"

// Prefix is the leading bytes of keys of type K, a key type of this package. It
// is comparable, and held in place up to [MaxFixed] bytes.
//
// The zero Prefix matches all keys of type K: in the Group column it is the
// type's tag, elsewhere no bytes at all. Blobs is the one column that holds two
// types without a tag: a scan of it with a zero Prefix meets both.
type Prefix[K any] struct {
	n    uint8
	here [MaxFixed]byte
	long string // what does not fit
}

// AppendTo appends the bytes of the prefix to dst and returns the extended slice.
func (p Prefix[K]) AppendTo(dst []byte) []byte {
	if p.n == 0 {
		if tag := tags[reflect.TypeFor[K]()]; tag != 0 {
			dst = append(dst, tag)
		}
		return dst
	}
	return append(append(dst, p.here[:p.n]...), p.long...)
}

// tags holds the tag of each key type of the Group column. It is never written to.
var tags = func() map[reflect.Type]byte {
	m := map[reflect.Type]byte{}
	for i := range schema {
		if schema[i].Tag != 0 {
			m[schema[i].ops.goType] = schema[i].Tag
		}
	}
	return m
}()

// prefix returns the prefix of tag, unless it is 0, and parts.
func prefix[K any](tag byte, parts ...[]byte) (p Prefix[K]) {
	if tag != 0 {
		p.here[0], p.n = tag, 1
	}
	for _, part := range parts {
		n := copy(p.here[p.n:], part)
		p.n += uint8(n)
		p.long += string(part[n:])
	}
	return p
}
