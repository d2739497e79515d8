package keys

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Scope is the first 16 bytes of a key in the Generic column. A named scope is
// printable ASCII, zero padded; a key-value scope begins with a zero byte:
//
//	00 ‖ system u8 ‖ 00 00 ‖ space u32 BE ‖ tenant u64 BE
//
// Other bytes are no scope, and have no valid key.
type Scope [16]byte

// NewScope returns the scope of that name, of 1 to 16 printable ASCII characters;
// else [ErrLayout]. It need not be declared: [Scopes] lists those that are.
func NewScope(name string) (s Scope, err error) {
	if len(name) > len(s) {
		return s, genericError("scope", -1, fmt.Sprintf("name of %d bytes, more than %d", len(name), len(s)))
	}
	copy(s[:], name)
	if fault, _ := s.fault(); fault != "" || s.IsKV() || s.String() != name {
		return Scope{}, genericError("scope", -1, "a name is 1 to 16 printable ASCII characters")
	}
	return s, nil
}

// MustScope returns the scope of a name that stands in the program, and panics
// where [NewScope] returns an error.
func MustScope(name string) Scope {
	s, err := NewScope(name)
	if err != nil {
		panic(err)
	}
	return s
}

// NewKVScope returns the scope of one key-value space of one tenant.
func NewKVScope(system uint8, space uint32, tenant uint64) (s Scope) {
	s[1] = system
	binary.BigEndian.PutUint32(s[4:], space)
	binary.BigEndian.PutUint64(s[8:], tenant)
	return s
}

// IsKV reports whether s is a key-value scope; System, Space and Tenant are
// meaningful only then.
func (s Scope) IsKV() bool { return s[0] == 0 }

// System returns which key-value system the scope belongs to.
func (s Scope) System() uint8 { return s[1] }

// Space returns the number of the space.
func (s Scope) Space() uint32 { return binary.BigEndian.Uint32(s[4:]) }

// Tenant returns the number of the tenant.
func (s Scope) Tenant() uint64 { return binary.BigEndian.Uint64(s[8:]) }

// String returns the name of a named scope, and 32 hex digits for any other.
func (s Scope) String() string {
	if fault, _ := s.fault(); fault != "" || s.IsKV() {
		return hex.EncodeToString(s[:])
	}
	return string(bytes.TrimRight(s[:], "\x00"))
}

// MarshalText returns what String does. It never fails.
func (s Scope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText accepts a name as [NewScope] does, or the 32 lower-case hex
// digits of a key-value scope; else [ErrLayout].
func (s *Scope) UnmarshalText(text []byte) error {
	v, err := parseScope(string(text))
	if err == nil {
		*s = v
	}
	return err
}

func parseScope(text string) (s Scope, err error) {
	if len(text) != 2*len(s) {
		return NewScope(text)
	}
	raw, fault := parseHex(text)
	if fault == "" {
		copy(s[:], raw)
		fault, _ = s.fault()
	}
	if fault == "" && !s.IsKV() {
		fault = "32 hex digits stand for a key-value scope, which begins with 00"
	}
	if fault != "" {
		return Scope{}, genericError("scope", -1, fault)
	}
	return s, nil
}

// fault says why the bytes are no scope, and where.
func (s *Scope) fault() (reason string, at int) {
	if s.IsKV() {
		if s[2] != 0 || s[3] != 0 {
			return "bytes 2 and 3 of a key-value scope are zero", 2
		}
		return "", 0
	}
	padding := false
	for i, b := range s {
		switch {
		case b == 0:
			padding = true
		case padding:
			return "a byte after the padding began", i
		case b < 0x20 || b > 0x7E:
			return "a name is printable ASCII", i
		}
	}
	return "", 0
}
