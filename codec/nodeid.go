package codec

import (
	"cmp"
	"fmt"
	"math/bits"
	"strconv"
)

// NodeID names a node in timestamps: 128 bits, written in decimal. Zero is not
// a node.
type NodeID struct{ Hi, Lo uint64 }

// tenTo19 is the greatest power of ten in a uint64.
const tenTo19 = 10_000_000_000_000_000_000

// IsZero reports whether id is zero.
func (id NodeID) IsZero() bool { return id == NodeID{} }

// Compare orders ids as numbers: negative where id comes before o.
func (id NodeID) Compare(o NodeID) int {
	return cmp.Or(cmp.Compare(id.Hi, o.Hi), cmp.Compare(id.Lo, o.Lo))
}

// String returns the id in decimal.
func (id NodeID) String() string { return string(id.appendDecimal(nil)) }

// Hex returns the id as 32 hex digits, as people are shown it.
func (id NodeID) Hex() string { return fmt.Sprintf("%016x%016x", id.Hi, id.Lo) }

func (id NodeID) appendDecimal(dst []byte) []byte {
	if id.Hi == 0 {
		return strconv.AppendUint(dst, id.Lo, 10)
	}
	q, r := bits.Div64(id.Hi%tenTo19, id.Lo, tenTo19)
	top, middle := bits.Div64(id.Hi/tenTo19, q, tenTo19)
	if top != 0 {
		dst = strconv.AppendUint(dst, top, 10)
		dst = appendPadded(dst, middle)
	} else {
		dst = strconv.AppendUint(dst, middle, 10)
	}
	return appendPadded(dst, r)
}

// appendPadded appends n as exactly 19 digits.
func appendPadded(dst []byte, n uint64) []byte {
	for p := uint64(tenTo19 / 10); p > 0; p /= 10 {
		dst = append(dst, '0'+byte(n/p%10))
	}
	return dst
}

// MarshalText returns the id in decimal. It never fails.
func (id NodeID) MarshalText() ([]byte, error) { return id.appendDecimal(nil), nil }

// UnmarshalText accepts 1 to 39 decimal digits below 2^128; else [ErrMalformed].
func (id *NodeID) UnmarshalText(text []byte) error {
	v, fault := parseNodeID(string(text))
	if fault != "" {
		return &Error{Type: "NodeID", Offset: -1, Reason: fault}
	}
	*id = v
	return nil
}

// ParseNodeID returns the id that s stands for in decimal, or [ErrMalformed].
func ParseNodeID(s string) (id NodeID, err error) {
	err = id.UnmarshalText([]byte(s))
	return id, err
}

func parseNodeID(s string) (id NodeID, fault string) {
	if s == "" {
		return id, "no digits"
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return NodeID{}, "not a whole decimal number"
		}
		over, hi := bits.Mul64(id.Hi, 10)
		carry, lo := bits.Mul64(id.Lo, 10)
		lo, c := bits.Add64(lo, uint64(s[i]-'0'), 0)
		hi, c2 := bits.Add64(hi, carry, c)
		if over != 0 || c2 != 0 {
			return NodeID{}, "larger than 128 bits"
		}
		id = NodeID{Hi: hi, Lo: lo}
	}
	return id, ""
}
