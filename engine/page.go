package engine

import "encoding/binary"

// A page is a run of entries, packed one after the other:
//
//	key length uvarint | key | value length uvarint | value
//
// Engines hand entries over in pages, and scans send them over the socket as
// they are.

// Pager hands out the entries of a range page by page. It is what an Iterator
// stands on. It is not safe for concurrent use.
type Pager interface {
	// Page appends the next entries to dst: at most maxEntries, and no more
	// once they take maxBytes, but at least one if one is left. It returns the
	// grown dst and the number of entries. A number of 0 with a nil error is
	// the end of the range.
	Page(dst []byte, maxEntries, maxBytes int) ([]byte, int, error)
	// Close gives back what the pager holds. It may be called more than once.
	Close() error
}

// Lender is a Pager that has its entries in pages of its own, which Next of an
// Iterator then walks through without a copy.
type Lender interface {
	Pager
	// Lend returns the next entries, maxEntries at most, and their number, which
	// is 0 at the end of the range. They are valid until the next call of Lend,
	// Page or Close.
	Lend(maxEntries int) ([]byte, int, error)
}

// AppendEntry appends an entry to a page.
func AppendEntry(page, key, value []byte) []byte {
	page = binary.AppendUvarint(page, uint64(len(key)))
	page = append(page, key...)
	page = binary.AppendUvarint(page, uint64(len(value)))
	return append(page, value...)
}

// CutEntry splits the first entry off a page. Key and value are parts of page.
// ok is false if page is empty or does not start with an entry.
func CutEntry(page []byte) (key, value, rest []byte, ok bool) {
	if key, rest, ok = cut(page); !ok {
		return nil, nil, page, false
	}
	if value, rest, ok = cut(rest); !ok {
		return nil, nil, page, false
	}
	return key, value, rest, true
}

// cut splits a length and as many bytes off s.
func cut(s []byte) (part, rest []byte, ok bool) {
	if len(s) > 0 && s[0] < 0x80 { // one byte of length, the usual case
		n := int(s[0])
		if n >= len(s) {
			return nil, nil, false
		}
		return s[1 : 1+n : 1+n], s[1+n:], true
	}
	n, k := binary.Uvarint(s)
	if k <= 0 || n > uint64(len(s)-k) || (k > 1 && s[k-1] == 0) {
		return nil, nil, false
	}
	end := k + int(n)
	return s[k:end:end], s[end:], true
}
