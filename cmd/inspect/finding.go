package inspect

import (
	"encoding/hex"
	"fmt"

	"github.com/stoadb/stoa/column"
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Code   string `json:"code"`             // Codes has those of verify; a code is never used again for something else
	Column string `json:"column,omitempty"` // empty: the store as a whole
	Key    string `json:"key,omitempty"`    // in hex, cut if it is long
	Reason string `json:"reason"`
}

// String is the finding on one line.
func (f Finding) String() string {
	s := f.Code
	if f.Column != "" {
		s += "  " + f.Column
	}
	if f.Key != "" {
		s += " " + f.Key
	}
	return s + "  " + f.Reason
}

// longestKey is how many bytes of a key reports show.
const longestKey = 160

// KeyText returns the bytes of a key for reports.
func KeyText(key []byte) string {
	if len(key) <= longestKey {
		return hex.EncodeToString(key)
	}
	return fmt.Sprintf("%x… (%d bytes)", key[:longestKey], len(key))
}

// gap says which rows cannot be read: those behind after, which is the key of the
// finding, up to one that can; nil: from the start, to the end of the column.
func gap(after, before []byte, err error) string {
	which := "rows after this key"
	switch {
	case len(after) == 0 && before == nil:
		which = "all of its rows"
	case len(after) == 0:
		which = "rows before " + KeyText(before)
	case before != nil:
		which += " and before " + KeyText(before)
	}
	return err.Error() + "; " + which + " cannot be read"
}

// NewFinding returns a finding about a row, or about what begins at a key. What is no
// column is left out.
func NewFinding(code string, col column.Column, key []byte, reason string) Finding {
	f := Finding{Code: code, Key: KeyText(key), Reason: reason}
	if col.Valid() {
		f.Column = col.String()
	}
	return f
}
