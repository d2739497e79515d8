package engine

import (
	"fmt"
	"math"
	"sync"

	"github.com/stoadb/stoa/column"
)

// How an Iterator sizes the pages that it asks for: few entries first, since
// many scans are short, then up to about 256 KiB at once.
const (
	firstPageEntries = 32
	maxPageEntries   = 1024
	maxPageBytes     = 256 << 10
)

// pages lends iterators the memory of the pages that Next walks through.
var pages = sync.Pool{New: func() any { return new([]byte) }}

// Iterator visits the entries of a range in order. It starts before the first
// one. It is not safe for concurrent use.
type Iterator struct {
	pager      Pager
	lender     Lender  // the pager, if it is one
	page       *[]byte // lent; nil before the first page and once closed
	rest       []byte
	key, value []byte
	want       int // entries to ask for next
	left       int // entries until the limit; negative: none
	entries    int // of the last page
	closed     bool
	err        error
}

// NewIterator returns an iterator over the entries of p that ends after limit
// of them, or with p if limit is 0. Closing it closes p.
func NewIterator(p Pager, limit int) *Iterator {
	if limit <= 0 {
		limit = -1
	}
	lender, _ := p.(Lender)
	return &Iterator{pager: p, lender: lender, want: firstPageEntries, left: limit}
}

// Next moves to the next entry, the first time to the first one. It returns
// false at the end and on an error; Err tells them apart.
func (it *Iterator) Next() bool {
	if len(it.rest) == 0 && !it.fill() {
		it.key, it.value = nil, nil
		return false
	}
	var ok bool
	if it.key, it.value, it.rest, ok = CutEntry(it.rest); !ok {
		it.err = fmt.Errorf("engine: iterate: %w: page does not parse", ErrCorrupt)
		it.rest = nil
		return false
	}
	return true
}

func (it *Iterator) fill() bool {
	if !it.ready() {
		return false
	}
	if it.lender != nil {
		it.borrow()
		return len(it.rest) > 0
	}
	if it.page == nil {
		it.page = pages.Get().(*[]byte)
	}
	*it.page, it.rest, it.err = it.nextPage((*it.page)[:0], it.want, maxPageBytes)
	it.want = min(4*it.want, maxPageEntries)
	if it.err != nil {
		it.rest = nil
	}
	return len(it.rest) > 0
}

// borrow takes the lender's next page.
func (it *Iterator) borrow() {
	most := math.MaxInt
	if it.left >= 0 {
		most = it.left
	}
	it.rest, it.entries, it.err = it.lender.Lend(most)
	if it.left >= 0 {
		it.left = max(it.left-it.entries, 0)
	}
	if it.err != nil {
		it.rest = nil
	}
}

// ready reports whether there may be more, and sets the error of a closed
// iterator.
func (it *Iterator) ready() bool {
	if it.closed && it.err == nil {
		it.err = ErrClosed
	}
	return it.err == nil && it.left != 0
}

func (it *Iterator) nextPage(dst []byte, entries, bytes int) (grown, added []byte, err error) {
	if it.left >= 0 {
		entries = min(entries, it.left)
	}
	before := len(dst)
	grown, n, err := it.pager.Page(dst, entries, bytes)
	it.entries = n
	if it.left >= 0 {
		it.left = max(it.left-n, 0)
	}
	return grown, grown[before:], err
}

// Page appends the entries that follow to dst as a page, at most maxEntries
// and about maxBytes of them, and returns the grown dst. A result as long as
// dst is the end, or an error if Err is not nil. Next and Page are not to be
// mixed on one iterator.
func (it *Iterator) Page(dst []byte, maxEntries, maxBytes int) []byte {
	if !it.ready() {
		return dst
	}
	dst, _, it.err = it.nextPage(dst, maxEntries, maxBytes)
	return dst
}

// PageEntries returns how many entries the last call of Page added, if it added
// any.
func (it *Iterator) PageEntries() int { return it.entries }

// Limited reports whether as many entries were handed out as the range has at most.
func (it *Iterator) Limited() bool { return it.left == 0 }

// Key returns the key of the current entry. It is valid until the next call of
// Next or Close.
func (it *Iterator) Key() []byte { return it.key }

// Value returns the value of the current entry. It is valid until the next
// call of Next or Close.
func (it *Iterator) Value() []byte { return it.value }

// Err returns the error that ended the iteration, or nil if it reached its end.
// An iteration that stopped without asking Err has not shown that it saw
// everything.
func (it *Iterator) Err() error { return it.err }

// Close gives back what the iterator holds. It may be called more than once.
func (it *Iterator) Close() error {
	it.rest, it.key, it.value, it.closed = nil, nil, nil, true
	if it.page != nil && cap(*it.page) <= keepBytes {
		pages.Put(it.page)
	}
	it.page = nil
	return it.pager.Close()
}

// Each calls fn with the entries of a range, until it returns an error, which it returns. Key and value
// are valid during the call.
func Each(r Reader, col column.Column, rg Range, fn func(key, value []byte) error) error {
	it, err := r.Iterate(col, rg)
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }() // what it has to say, Err has said
	for it.Next() {
		if err := fn(it.Key(), it.Value()); err != nil {
			return err
		}
	}
	return it.Err()
}
