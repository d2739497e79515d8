package codec

import (
	"bytes"
	"encoding/hex"
	"fmt"
)

// The ids of the store. Each is a type of its own, so that one cannot stand for
// another; all are 32 bytes, and written as 64 lower-case hex digits.
type (
	// Hash is a SHA-256 digest, or 32 bytes that mean no particular record.
	Hash [32]byte
	// ContextID names a context.
	ContextID [32]byte
	// DeltaID names a delta of a context's DAG.
	DeltaID [32]byte
	// OpID names a governance operation of a namespace or group.
	OpID [32]byte
	// GroupID names a group; a namespace is a root group and has one too.
	GroupID [32]byte
	// Identity is an Ed25519 public key.
	Identity [32]byte
	// ApplicationID names an application.
	ApplicationID [32]byte
	// BlobID names a blob: the SHA-256 of its content. Zeros mean none.
	BlobID [32]byte
	// KeyID names a key: an Ed25519 public key, or the SHA-256 of a group key.
	KeyID [32]byte
	// EnvelopeID names a delta as it travels: signed and sealed.
	EnvelopeID [32]byte
)

// String returns the id in hex.
func (id Hash) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether all bytes are zero.
func (id Hash) IsZero() bool { return id == Hash{} }

// MarshalText returns the id in hex. It never fails.
func (id Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText accepts exactly what MarshalText returns; else [ErrMalformed].
func (id *Hash) UnmarshalText(text []byte) error { return unmarshalHex("Hash", id[:], text) }

// String returns the id in hex.
func (id ContextID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether all bytes are zero.
func (id ContextID) IsZero() bool { return id == ContextID{} }

// MarshalText returns the id in hex. It never fails.
func (id ContextID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText accepts exactly what MarshalText returns; else [ErrMalformed].
func (id *ContextID) UnmarshalText(text []byte) error { return unmarshalHex("ContextID", id[:], text) }

// String returns the id in hex.
func (id DeltaID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether all bytes are zero.
func (id DeltaID) IsZero() bool { return id == DeltaID{} }

// MarshalText returns the id in hex. It never fails.
func (id DeltaID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText accepts exactly what MarshalText returns; else [ErrMalformed].
func (id *DeltaID) UnmarshalText(text []byte) error { return unmarshalHex("DeltaID", id[:], text) }

// String returns the id in hex.
func (id OpID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether all bytes are zero.
func (id OpID) IsZero() bool { return id == OpID{} }

// MarshalText returns the id in hex. It never fails.
func (id OpID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText accepts exactly what MarshalText returns; else [ErrMalformed].
func (id *OpID) UnmarshalText(text []byte) error { return unmarshalHex("OpID", id[:], text) }

// String returns the id in hex.
func (id GroupID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether all bytes are zero.
func (id GroupID) IsZero() bool { return id == GroupID{} }

// MarshalText returns the id in hex. It never fails.
func (id GroupID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText accepts exactly what MarshalText returns; else [ErrMalformed].
func (id *GroupID) UnmarshalText(text []byte) error { return unmarshalHex("GroupID", id[:], text) }

// String returns the id in hex.
func (id Identity) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether all bytes are zero.
func (id Identity) IsZero() bool { return id == Identity{} }

// MarshalText returns the id in hex. It never fails.
func (id Identity) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText accepts exactly what MarshalText returns; else [ErrMalformed].
func (id *Identity) UnmarshalText(text []byte) error { return unmarshalHex("Identity", id[:], text) }

// String returns the id in hex.
func (id ApplicationID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether all bytes are zero.
func (id ApplicationID) IsZero() bool { return id == ApplicationID{} }

// MarshalText returns the id in hex. It never fails.
func (id ApplicationID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText accepts exactly what MarshalText returns; else [ErrMalformed].
func (id *ApplicationID) UnmarshalText(text []byte) error {
	return unmarshalHex("ApplicationID", id[:], text)
}

// String returns the id in hex.
func (id BlobID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether all bytes are zero.
func (id BlobID) IsZero() bool { return id == BlobID{} }

// MarshalText returns the id in hex. It never fails.
func (id BlobID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText accepts exactly what MarshalText returns; else [ErrMalformed].
func (id *BlobID) UnmarshalText(text []byte) error { return unmarshalHex("BlobID", id[:], text) }

// String returns the id in hex.
func (id KeyID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether all bytes are zero.
func (id KeyID) IsZero() bool { return id == KeyID{} }

// MarshalText returns the id in hex. It never fails.
func (id KeyID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText accepts exactly what MarshalText returns; else [ErrMalformed].
func (id *KeyID) UnmarshalText(text []byte) error { return unmarshalHex("KeyID", id[:], text) }

// String returns the id in hex.
func (id EnvelopeID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether all bytes are zero.
func (id EnvelopeID) IsZero() bool { return id == EnvelopeID{} }

// MarshalText returns the id in hex. It never fails.
func (id EnvelopeID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText accepts exactly what MarshalText returns; else [ErrMalformed].
func (id *EnvelopeID) UnmarshalText(text []byte) error {
	return unmarshalHex("EnvelopeID", id[:], text)
}

// CompareID orders ids by their bytes.
func CompareID[ID ~[32]byte](a, b ID) int {
	x, y := [32]byte(a), [32]byte(b)
	return bytes.Compare(x[:], y[:])
}

// Ascending reports whether ids are in order, none of them twice.
func Ascending[ID ~[32]byte](ids []ID) bool {
	for i := 1; i < len(ids); i++ {
		if CompareID(ids[i-1], ids[i]) >= 0 {
			return false
		}
	}
	return true
}

// unmarshalHex fills dst from text, which must be lower-case hex of that size.
func unmarshalHex(typ string, dst, text []byte) error {
	if fault := parseHex(dst, string(text)); fault != "" {
		return &Error{Type: typ, Offset: -1, Reason: fault}
	}
	return nil
}

// parseHex fills dst from lower-case hex, or says why it cannot. It never
// repeats the text, which may be a secret.
func parseHex(dst []byte, text string) (fault string) {
	for i := range len(text) {
		if !isHexDigit(text[i]) {
			return fmt.Sprintf("character %d is not a lower-case hex digit", i+1)
		}
	}
	if len(text) != 2*len(dst) {
		return fmt.Sprintf("%d hex digits instead of %d", len(text), 2*len(dst))
	}
	if _, err := hex.Decode(dst, []byte(text)); err != nil {
		return err.Error()
	}
	return ""
}

func isHexDigit(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }
