package engine

import (
	"bytes"

	"github.com/stoadb/stoa/column"
)

// merger is the pager of what is stored in a range together with changes.
type merger struct {
	changes *changes
	column  column.Column
	stored  *Iterator
	more    bool        // stored stands on an entry
	rows    []sortedRow // the changed rows that come next
	array   [8]sortedRow
	rest    Range // where those behind them are
	whole   bool  // there are none
	most    int   // entries of the next page
}

// firstMerged is how many entries the first page has at most, since many scans want
// one; each further page has up to four times as many.
const firstMerged = 2

// fill gets the changed rows that come next.
func (m *merger) fill() {
	m.rows = m.array[:0]
	m.changes.visit(m.column, &m.rest, func(s sortedRow) bool {
		m.rows = append(m.rows, s)
		return len(m.rows) < len(m.array)
	})
	if m.whole = len(m.rows) < len(m.array); m.whole {
		return
	}
	last := m.rows[len(m.rows)-1].key
	if m.rest.Reverse {
		m.rest.End = last
	} else {
		m.rest.Start = append(bytes.Clone(last), 0) // the next key that there can be
	}
}

// Page appends the entries that come next; see [Pager].
func (m *merger) Page(dst []byte, maxEntries, maxBytes int) ([]byte, int, error) {
	maxEntries = min(maxEntries, m.most)
	m.most *= 4
	n := 0
	for start := len(dst); n < maxEntries && len(dst)-start < maxBytes; {
		if len(m.rows) == 0 && !m.whole {
			m.fill()
		}
		if !m.more && (len(m.rows) == 0 || m.stored.Err() != nil) {
			break
		}
		order := m.order()
		if order < 0 {
			if key := m.stored.Key(); !m.changes.dropped(m.column, key, -1) {
				dst = AppendEntry(dst, key, m.stored.Value())
				n++
			}
		} else {
			i := int(m.rows[0].row)
			if r := &m.changes.rows[i]; !r.deleted && !m.changes.dropped(m.column, r.key, i) {
				dst = AppendEntry(dst, r.key, r.value)
				n++
			}
			m.rows = m.rows[1:]
		}
		if order <= 0 {
			m.more = m.stored.Next()
		}
	}
	return dst, n, m.stored.Err()
}

// order is negative if what comes next is stored, positive if it is a changed row, and
// 0 if that takes the place of what is stored.
func (m *merger) order() int {
	switch {
	case !m.more:
		return 1
	case len(m.rows) == 0:
		return -1
	}
	order := bytes.Compare(m.stored.Key(), m.rows[0].key)
	if m.rest.Reverse {
		return -order
	}
	return order
}

// Close closes the iterator over what is stored.
func (m *merger) Close() error { return m.stored.Close() }
