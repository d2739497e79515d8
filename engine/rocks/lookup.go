//go:build cgo

package rocks

import (
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// state is a snapshot, and when it was taken.
type state struct {
	view
	writes uint64 // of the row cache; odd: it does not know
}

func (st *store) openState() state {
	if st.rows == nil {
		return state{st.h.openView(), 1}
	}
	before := st.rows.writeCount()
	s := state{st.h.openView(), before}
	if !st.rows.unchanged(before) {
		s.writes = 1
	}
	return s
}

// known reports whether the rows that are kept are those of s; nil is the present.
func (st *store) known(s *state) bool {
	return st.rows != nil && (s == nil || st.rows.unchanged(s.writes))
}

// snapshot returns the view of s; nil is the present.
func (s *state) snapshot() *view {
	if s == nil {
		return nil
	}
	return &s.view
}

// get appends the value of key in s to dst.
func (st *store) get(s *state, dst []byte, col column.Column, key []byte) ([]byte, error) {
	if !st.known(s) {
		return st.h.get(s.snapshot(), dst, col, key)
	}
	found, p, ok := st.rows.find(dst, col, key)
	if ok && st.known(s) {
		return found, nil
	}
	at := len(dst)
	dst, err := st.h.get(s.snapshot(), dst, col, key)
	if err == nil && st.known(s) {
		st.rows.add(p, col, key, dst[at:])
	}
	return dst, err
}

// packed is the memory that a MultiGet passes its keys and lengths in.
type packed struct {
	sizes    []int // of the values that were kept, by lookup; -1: not kept
	keys     []byte
	lens     []int64 // of those that were not
	versions []rowVersion
}

// keepPacked is how much of it is kept for the next.
const keepPacked = mib

// multiGet looks up all keys in s. Values of rows that are kept come before the
// others.
func (st *store) multiGet(s *state, p *packed, buf []byte, lookups []engine.Lookup) ([]byte, error) {
	start := len(buf)
	buf = st.kept(s, p, buf, lookups)
	p.keys, p.lens = p.keys[:0], p.lens[:0]
	for i := range lookups {
		if p.sizes[i] < 0 {
			p.keys = packKey(p.keys, lookups[i].Column, lookups[i].Key)
			p.lens = append(p.lens, -1)
		}
	}
	if len(p.lens) > 0 {
		var err error
		if buf, err = st.h.multiGet(&s.view, buf, p.keys, p.lens); err != nil {
			return buf[:start], err
		}
	}
	st.deal(s, p, buf[start:], lookups)
	return buf, nil
}

// kept appends the values that the row cache has to buf, and sets the sizes.
func (st *store) kept(s *state, p *packed, buf []byte, lookups []engine.Lookup) []byte {
	start := len(buf)
	p.sizes, p.versions = p.sizes[:0], p.versions[:0]
	for i := range lookups {
		size := -1
		if st.rows != nil && s.writes&1 == 0 {
			before := len(buf)
			var at rowVersion
			var ok bool
			if buf, at, ok = st.rows.find(buf, lookups[i].Column, lookups[i].Key); ok {
				size = len(buf) - before
			} else {
				p.versions = append(p.versions, at)
			}
		}
		p.sizes = append(p.sizes, size)
	}
	if st.known(s) {
		return buf
	}
	for i := range p.sizes {
		p.sizes[i] = -1
	}
	p.versions = p.versions[:0]
	return buf[:start]
}

// deal gives each lookup its part of values, and keeps those that were read.
func (st *store) deal(s *state, p *packed, values []byte, lookups []engine.Lookup) {
	for i, n := range p.sizes {
		l := &lookups[i]
		if l.Found = n >= 0; l.Found {
			l.Value, values = values[:n:n], values[n:]
		}
	}
	missed := 0
	keep := len(p.versions) > 0 && st.known(s)
	for i, n := range p.sizes {
		if n >= 0 {
			continue
		}
		l, n := &lookups[i], p.lens[missed]
		if l.Value, l.Found = nil, n >= 0; l.Found {
			l.Value, values = values[:n:n], values[n:]
			if keep {
				st.rows.add(p.versions[missed], l.Column, l.Key, l.Value)
			}
		}
		missed++
	}
}
