package codec

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Secret is 32 bytes of key material. However it is printed, logged or
// marshalled, it shows as "redacted:" and 8 hex digits of its SHA-256, enough to
// tell two keys apart; only Bytes and Reveal give it away. Two things no type can
// prevent: fmt calls no method on unexported fields, so that a Secret belongs in
// exported ones; nor for %p, which vet refuses.
type Secret [32]byte

// redactedMark begins the printed form of every secret.
const redactedMark = "redacted:"

// Bytes returns a copy of the secret itself.
func (s Secret) Bytes() []byte { return append([]byte(nil), s[:]...) }

// Reveal returns the secret itself in hex.
func (s Secret) Reveal() string { return hex.EncodeToString(s[:]) }

// Equal compares in constant time.
func (s Secret) Equal(o Secret) bool { return subtle.ConstantTimeCompare(s[:], o[:]) == 1 }

// IsZero reports whether all bytes are zero, in constant time.
func (s Secret) IsZero() bool { return s.Equal(Secret{}) }

// String returns the redacted form.
func (s Secret) String() string {
	sum := sha256.Sum256(s[:])
	return redactedMark + hex.EncodeToString(sum[:4])
}

// Format writes the redacted form, whatever the verb and its flags.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// GoString returns the redacted form.
func (s Secret) GoString() string { return s.String() }

// LogValue returns the redacted form.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns the redacted form. It never fails.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON returns the redacted form as a JSON string. It never fails.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// UnmarshalText accepts the 64 lower-case hex digits that Reveal returns. The
// redacted form, like anything else, is [ErrMalformed].
func (s *Secret) UnmarshalText(text []byte) error {
	if fault := s.parse(string(text)); fault != "" {
		return &Error{Type: "Secret", Offset: -1, Reason: fault}
	}
	return nil
}

func (s *Secret) parse(text string) (fault string) {
	if strings.HasPrefix(text, redactedMark) {
		return "redacted: the secret itself is needed, as 64 hex digits"
	}
	return parseHex(s[:], text)
}
