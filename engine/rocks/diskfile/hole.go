package diskfile

import (
	"fmt"
	"path/filepath"
)

// Hole is a place behind which a file, or a row of logs, is not what was written,
// though there is more: a power loss leaves one where some of what was not synced
// reached the disk and what was before it did not, and so does damage. A file that only
// ends too early, in a record or with zeros, has none.
type Hole struct {
	File
	Offset int64 // everything before it is whole
	Reason string
	Later  []File // the logs behind this one
	Bytes  int64  // from the hole on, in all of these files
	// Refused says that nothing is wrong with the files, but that whoever wrote what is
	// behind it was told that it was not done.
	Refused bool
	// Records is how many whole ones there are behind it. First and Last are the least and
	// the greatest sequence of their changes, 0 where none has any.
	Records     uint64
	First, Last uint64
}

// String says what it is, for people.
func (h *Hole) String() string {
	s := fmt.Sprintf("%s from byte %d on (%s)", filepath.Base(h.Path), h.Offset, h.Reason)
	switch n := len(h.Later); {
	case n == 1:
		s += " and " + filepath.Base(h.Later[0].Path)
	case n > 1:
		s += fmt.Sprintf(" and the %d logs after it", n)
	}
	s += fmt.Sprintf(", %d bytes; whole records behind it: %d", h.Bytes, h.Records)
	if h.Last > 0 {
		s += fmt.Sprintf(", sequences %d to %d", h.First, h.Last)
	}
	return s
}

// behind counts a whole record behind the hole.
func (h *Hole) behind(b Batch) {
	h.Records++
	if b.Count == 0 {
		return
	}
	if h.Last == 0 || b.Sequence < h.First {
		h.First = b.Sequence
	}
	h.Last = max(h.Last, b.Sequence+uint64(b.Count)-1)
}
