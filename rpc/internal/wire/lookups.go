package wire

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// AppendLookups appends the packed keys of lookups to dst, as a MultiGetRequest
// has them.
func AppendLookups(dst []byte, lookups []engine.Lookup) []byte {
	size := 0
	for i := range lookups {
		size += 4 + len(lookups[i].Key)
	}
	dst = slices.Grow(dst, size)
	for i := range lookups {
		l := &lookups[i]
		dst = append(dst, byte(l.Column))
		dst = binary.AppendUvarint(dst, uint64(len(l.Key)))
		dst = append(dst, l.Key...)
	}
	return dst
}

// ParseLookups appends the keys that packed has to dst. Keys are parts of
// packed. It returns a *fault.Error that is engine.ErrBatch or engine.ErrTooLarge.
func ParseLookups(dst []engine.Lookup, packed []byte) ([]engine.Lookup, error) {
	for rest := packed; len(rest) > 0; {
		if len(dst) == MaxLookups {
			return dst, fault.New(stoav1.ErrorKind_ERROR_KIND_TOO_LARGE,
				fmt.Sprintf("rpc: more than %d keys in one MultiGet; ask for fewer at a time", MaxLookups),
				fault.FieldReason, "too many keys", fault.FieldLimit, fmt.Sprint(MaxLookups))
		}
		col := column.Column(rest[0])
		if !col.Valid() {
			return dst, packedError("no column %d in lookup %d", rest[0], len(dst))
		}
		n, k := uvarint(rest[1:])
		if k == 0 || n > uint64(len(rest)-1-k) {
			return dst, packedError("the key of lookup %d is cut short or its length is not minimal", len(dst))
		}
		end := 1 + k + int(n)
		dst = append(dst, engine.Lookup{Column: col, Key: rest[1+k : end : end]})
		rest = rest[end:]
	}
	return dst, nil
}

// AppendValue appends what a lookup found to the packed values of a
// MultiGetResponse.
func AppendValue(dst, value []byte, found bool) []byte {
	if !found {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(value))+1)
	return append(dst, value...)
}

// ParseValues sets what lookups found from packed values, of which the values
// are parts. It returns engine.ErrCorrupt if they do not fit.
func ParseValues(packed []byte, lookups []engine.Lookup) error {
	for i := range lookups {
		l := &lookups[i]
		n, k := uvarint(packed)
		if k == 0 || n > 0 && n-1 > uint64(len(packed)-k) {
			return fmt.Errorf("rpc: multiget: %w: the answer does not parse", engine.ErrCorrupt)
		}
		packed = packed[k:]
		if l.Found = n > 0; !l.Found {
			l.Value = nil
			continue
		}
		l.Value, packed = packed[:n-1:n-1], packed[n-1:]
	}
	if len(packed) > 0 {
		return fmt.Errorf("rpc: multiget: %w: the answer has more values than were asked for", engine.ErrCorrupt)
	}
	return nil
}

// uvarint reads a number of minimal length; k is 0 if there is none.
func uvarint(s []byte) (n uint64, k int) {
	n, k = binary.Uvarint(s)
	if k <= 0 || k > 1 && s[k-1] == 0 {
		return 0, 0
	}
	return n, k
}

func packedError(format string, args ...any) *fault.Error {
	text := fmt.Sprintf(format, args...)
	return fault.New(stoav1.ErrorKind_ERROR_KIND_BATCH, "rpc: malformed lookups: "+text, fault.FieldReason, text)
}
