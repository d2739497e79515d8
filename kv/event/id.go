package event

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// ID is the id of an entry: later ones are greater, also where the clock has been set
// back. The zero ID is before all.
type ID struct {
	Ms  uint64 // when the entry was added, in ms since 1970; never before that of an earlier entry
	Seq uint64 // the entry's number in its stream, from 1 and without a gap
}

// String is the id as people and clients spell it, as 1710775800000-42.
func (id ID) String() string {
	return strconv.FormatUint(id.Ms, 10) + "-" + strconv.FormatUint(id.Seq, 10)
}

// Compare returns -1, 0 or 1 where id is before, is, or is after another.
func (id ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Ms, other.Ms), cmp.Compare(id.Seq, other.Seq))
}

// IsZero reports whether it is the zero ID.
func (id ID) IsZero() bool { return id == ID{} }

// Time is when the entry was added.
func (id ID) Time() time.Time { return time.UnixMilli(int64(min(id.Ms, maxMs))).UTC() }

// maxMs is the last moment that there is, in ms since 1970.
const maxMs = uint64(1<<63-1) / uint64(time.Millisecond)

// ParseID returns the id that text spells: ms-seq, or ms alone, which is before all entries
// of that moment; "" and "0" are the zero ID. It returns ErrInvalidArgument for other text.
func ParseID(text string) (ID, error) {
	if text == "" {
		return ID{}, nil
	}
	ms, seq, both := strings.Cut(text, "-")
	var id ID
	var err error
	if id.Ms, err = strconv.ParseUint(ms, 10, 64); err == nil && both {
		id.Seq, err = strconv.ParseUint(seq, 10, 64)
	}
	if err != nil || id.Ms > maxMs {
		return ID{}, invalid("id", "an id is ms-seq as 1710775800000-42, or ms alone: when an entry was added, in ms since 1970, and its number in the stream")
	}
	return id, nil
}

// MarshalText spells the id; see [ID.String].
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what String spells, and what [ParseID] takes besides.
func (id *ID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseID(string(text))
	return err
}
