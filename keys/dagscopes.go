package keys

import (
	"encoding/binary"
	"fmt"

	"github.com/stoadb/stoa/codec"
)

// The checks of the scopes of package dag.

// bytesOf accepts fragments of n bytes.
func bytesOf(n int) func([]byte) string {
	return func(fragment []byte) string { return sized(fragment, n) }
}

func sized(fragment []byte, n int) string {
	if len(fragment) != n {
		return fmt.Sprintf("%d bytes instead of %d", len(fragment), n)
	}
	return ""
}

// leadingByte returns the leading byte, 0 of nothing.
func leadingByte(fragment []byte) byte {
	if len(fragment) == 0 {
		return 0
	}
	return fragment[0]
}

func pendingFragment(fragment []byte) string {
	switch kind := leadingByte(fragment); kind {
	case 'a':
		return sized(fragment, 1+32+8)
	case 'i', 'm', 'r':
		return sized(fragment, 1+32+32)
	case 'w':
		return sized(fragment, 1+32+32+32)
	default:
		return fmt.Sprintf("kind %#02x is none of a, i, m, r, w", kind)
	}
}

func refusedFragment(fragment []byte) string {
	switch kind := leadingByte(fragment); kind {
	case 's':
		return sized(fragment, 1+32+8)
	case 'i':
		return sized(fragment, 1+32+32)
	default:
		return fmt.Sprintf("kind %#02x is none of s, i", kind)
	}
}

func cursorFragment(fragment []byte) string {
	if n := len(fragment) - 32; n < 1 || n > 64 {
		return fmt.Sprintf("%d bytes, not 33 to 96", len(fragment))
	}
	return ""
}

func malformed(typ string, value []byte, want string) error {
	return &codec.Error{Type: typ, Offset: 0, Reason: fmt.Sprintf("%d bytes, which are not %s", len(value), want)}
}

// uptimeValue accepts boot 16 ‖ physical time u64 ‖ uptime u64.
func uptimeValue(value []byte) error {
	if len(value) != 16+8+8 {
		return malformed("dag-uptime", value, "a boot id and two times")
	}
	return nil
}

// maxPlaces is how many parents a delta has at most.
const maxPlaces = 65_536

// maxKeys is how many keys a delta writes at most.
const maxKeys = 8192

// orderValue accepts delta_id 32 ‖ hlc 24 ‖ parents u32 ‖ at most maxPlaces places of 8 bytes ‖ at most maxKeys
// more; and what older builds wrote, without the number of parents and what comes after them.
func orderValue(value []byte) error {
	const fixed = 32 + 24
	parents, keys := 0, 0
	switch n := len(value) - fixed; {
	case n < 0 || n%4 != 0:
		parents = -1
	case n%8 == 0:
		parents = n / 8
	default:
		given := binary.LittleEndian.Uint32(value[fixed:])
		parents = int(min(given, maxPlaces+1))
		keys = n/8 - parents
	}
	if parents < 0 || parents > maxPlaces || keys < 0 || keys > maxKeys {
		return malformed("dag-order", value, fmt.Sprintf("an id, a stamp, at most %d places and at most %d more", maxPlaces, maxKeys))
	}
	if [24]byte(value[32:]) == [24]byte{} && len(value) == fixed {
		return nil // the delta was withdrawn
	}
	_, err := codec.HybridTimestamp{}.Decode(value[32:fixed])
	return err
}

// versionNumber accepts the number of a version.
func versionNumber(scope string) func([]byte) error {
	return func(value []byte) error {
		if len(value) != 8 || binary.LittleEndian.Uint64(value) == 0 {
			return malformed(scope, value, "a number that is not 0")
		}
		return nil
	}
}

// tailValue accepts seq u64 ‖ root 32.
func tailValue(value []byte) error {
	if len(value) != 8+32 {
		return malformed("dag-tail", value, "a place and a root")
	}
	return nil
}

func versionValue(value []byte) error {
	if len(value) == 33 && value[0] == 1 || len(value) == 1 && value[0] == 2 {
		return nil
	}
	return malformed("dag-version", value, "01 and a hash, or 02")
}

// pendingValue accepts what the rows of any kind have.
func pendingValue(value []byte) error {
	if n := len(value); n != 0 && n != 8 && n != 32+8 {
		return malformed("dag-pending", value, "none, 8 or 40")
	}
	return nil
}

// refusedValue accepts a place, or a refusal: delta_id 32 ‖ reason u8 ‖ ancestor
// 32 ‖ expected 32 ‖ computed 32 ‖ detail.
func refusedValue(value []byte) error {
	if n := len(value); n != 8 && n < 4*32+1 {
		return malformed("dag-refused", value, "a place or a refusal")
	}
	return nil
}

func contextValue(value []byte) error {
	if n := len(value); n != 32+24+1+1 && n != 32+24+1+1+8 {
		return malformed("dag-context", value, "a base of 56 bytes, flags and a phase, and maybe a number")
	}
	return nil
}

// The rows of package content.

func cutFragment(fragment []byte) string {
	switch kind := leadingByte(fragment); kind {
	case 'h':
		return sized(fragment, 1+32+32)
	case 'm':
		return sized(fragment, 1+32+32+32)
	default:
		return fmt.Sprintf("kind %#02x is none of h, m", kind)
	}
}

// cutValue accepts ids, or nothing.
func cutValue(value []byte) error {
	if len(value)%32 != 0 {
		return malformed("dag-cut", value, "ids of 32 bytes each")
	}
	return nil
}

// idValue accepts an id, as the value of a scope.
func idValue(scope string) func([]byte) error {
	return func(value []byte) error {
		if len(value) != 32 {
			return malformed(scope, value, "an id")
		}
		return nil
	}
}

// timedValue accepts an id, a time and an envelope.
func timedValue(value []byte) error {
	if len(value) < 32+8 {
		return malformed("dag-signed", value, "an id, a time and an envelope")
	}
	_, err := codec.DeltaEnvelope{}.Decode(value[32+8:])
	return err
}

func stateValue(value []byte) error {
	if len(value) < 4 || int64(len(value)-4) < int64(binary.LittleEndian.Uint32(value)) {
		return malformed("dag-seeded", value, "a length, an app_key and a value")
	}
	return nil
}

// seedingValue accepts rows u64 ‖ root 32 and two byte strings.
func seedingValue(value []byte) error {
	rest := value[min(len(value), 8+32):]
	for range 2 {
		if len(rest) < 4 || int64(len(rest)-4) < int64(binary.LittleEndian.Uint32(rest)) {
			return malformed("dag-seeding", value, "a number, a root and two byte strings")
		}
		rest = rest[4+binary.LittleEndian.Uint32(rest):]
	}
	if len(rest) > 0 {
		return malformed("dag-seeding", value, "a number, a root and two byte strings")
	}
	return nil
}
