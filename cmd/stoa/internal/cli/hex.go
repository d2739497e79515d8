package cli

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// ParseHex decodes hex digits as people type them: upper or lower case, with or
// without 0x. The error names the position of what is wrong and never repeats
// the text, which may be a secret.
func ParseHex(what, text string) ([]byte, error) {
	digits := strings.TrimSpace(text)
	skipped := 0
	if strings.HasPrefix(digits, "0x") || strings.HasPrefix(digits, "0X") {
		digits, skipped = digits[2:], 2
	}
	for i, r := range digits {
		if !strings.ContainsRune("0123456789abcdefABCDEF", r) {
			return nil, Bad(fmt.Errorf("%s: character %d, %q, is not a hex digit", what, skipped+i+1, r), "")
		}
	}
	if len(digits)%2 != 0 {
		return nil, Bad(fmt.Errorf("%s: an odd number of hex digits, %d: one is missing or too many", what, len(digits)), "")
	}
	return hex.DecodeString(digits)
}

// ParseID returns the id that an argument is in hex.
func ParseID[T ~[32]byte](what, text string) (id T, err error) {
	b, err := ParseHex(what, text)
	if err != nil {
		return id, err
	}
	if len(b) != len(id) {
		return id, Bad(fmt.Errorf("%s: %s of hex, not %d", what, Count(len(b), "byte"), len(id)), "")
	}
	return T(b), nil
}
