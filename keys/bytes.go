package keys

import "encoding/hex"

// inlineBytes is how many bytes a Bytes holds in place.
const inlineBytes = 64

// Bytes is the variable part of a key: comparable, immutable, and a copy, so
// that it never aliases a buffer of the caller. Up to 64 bytes are held in
// place, without an allocation; more are held in a string. The zero Bytes is
// empty.
type Bytes struct {
	n    uint8 // bytes in use of here; 0 where long is used
	here [inlineBytes]byte
	long string // more than inlineBytes, else empty
}

// NewBytes returns a copy of b.
func NewBytes(b []byte) (v Bytes) {
	if len(b) > inlineBytes {
		v.long = string(b)
		return v
	}
	v.n = uint8(copy(v.here[:], b))
	return v
}

// Len returns the number of bytes.
func (v Bytes) Len() int { return int(v.n) + len(v.long) }

// AppendTo appends the bytes to dst and returns the extended slice.
func (v Bytes) AppendTo(dst []byte) []byte {
	if v.long != "" {
		return append(dst, v.long...)
	}
	return append(dst, v.here[:v.n]...)
}

// String returns the bytes in hex.
func (v Bytes) String() string { return hex.EncodeToString(v.AppendTo(nil)) }
