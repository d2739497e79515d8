// Package fair counts what waits by whose it is, so that whoever has most waiting makes
// room first. Start at [Shares].
package fair

import (
	"container/heap"
	"slices"
	"sync"
)

// Limits are how much may wait.
type Limits struct {
	Count int   // the most
	Bytes int64 // the most bytes that they take; a single one may be larger
}

// Owner is whose something is.
type Owner struct {
	Space  [32]byte // where it waits
	Party  [32]byte // of the space: one whom it knows, or all others together, whom keys cost nothing
	Sender [32]byte // of the party
}

// Place is where one that waits is counted. The zero Place is nowhere.
type Place[T any] struct {
	Value T
	bytes int64
	of    *share[T] // nil: it is counted no longer
}

// Shares are all that wait, of a space, of a party of it, and of a sender of that. It is
// safe for concurrent use.
type Shares[T any] struct {
	mu    sync.Mutex
	each  int64 // what one weighs besides its bytes
	space Limits
	total Limits
	all   share[T]
}

// New returns shares of nothing, with the limits of a space and of all.
func New[T any](space, total Limits) *Shares[T] {
	return &Shares[T]{each: space.Bytes / int64(max(space.Count, 1)), space: space, total: total}
}

// share is what somebody has waiting: all, a space, a party or a sender.
type share[T any] struct {
	key    [32]byte
	of     *share[T] // nil: it is all, or counts no longer
	at     int       // in the parts of that
	count  int
	bytes  int64
	weight int64 // of a space: that of its heaviest party
	parts  heaviest[T]
	by     map[[32]byte]*share[T] // the parts
	line   []*Place[T]            // of a sender: as they came, with some that wait no longer
}

// Add counts one more, and returns where.
func (t *Shares[T]) Add(o Owner, bytes int64, value T) *Place[T] {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &Place[T]{Value: value, bytes: bytes, of: t.all.part(o.Space).part(o.Party).part(o.Sender)}
	p.of.line = append(p.of.line, p)
	t.weigh(p.of, 1, bytes)
	return p
}

// Remove counts one no longer, which has not been removed before.
func (t *Shares[T]) Remove(p *Place[T]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := p.of
	p.of = nil
	t.weigh(s, -1, -p.bytes)
	if len(s.line) > 64 && len(s.line) > 2*s.count {
		s.line = slices.DeleteFunc(s.line, func(p *Place[T]) bool { return p.of == nil })
	}
}

// Reset counts nothing of a space any more.
func (t *Shares[T]) Reset(space [32]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.all.by[space]
	if s == nil {
		return
	}
	t.all.count -= s.count
	t.all.bytes -= s.bytes
	t.all.drop(s)
}

// Any reports whether anything of a space waits.
func (t *Shares[T]) Any(space [32]byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.by[space] != nil
}

// Total returns how many wait, and their bytes.
func (t *Shares[T]) Total() (count int, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.count, t.all.bytes
}

// Crowded returns the one that makes room where more wait in a space, or in all, than may;
// else nil.
func (t *Shares[T]) Crowded(space [32]byte) *Place[T] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.all.by[space]; s != nil && s.exceeds(t.space) {
		return s.first()
	}
	return t.crowded()
}

// CrowdedAnywhere is Crowded for all together.
func (t *Shares[T]) CrowdedAnywhere() *Place[T] {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.crowded()
}

func (t *Shares[T]) crowded() *Place[T] {
	if !t.all.exceeds(t.total) {
		return nil
	}
	return t.all.first()
}

// weigh adds to what a sender has, and to all that it is a part of.
func (t *Shares[T]) weigh(s *share[T], count int, bytes int64) {
	for s != nil {
		of := s.of
		s.count += count
		s.bytes += bytes
		s.weight = s.bytes + t.each*int64(s.count)
		if of == &t.all && len(s.parts) > 0 {
			s.weight = s.parts[0].weight
		}
		switch {
		case of == nil:
		case s.count == 0:
			of.drop(s)
		default:
			heap.Fix(&of.parts, s.at)
		}
		s = of
	}
}

// part returns the part of s that has a key, and makes it.
func (s *share[T]) part(key [32]byte) *share[T] {
	p := s.by[key]
	if p == nil {
		if s.by == nil {
			s.by = map[[32]byte]*share[T]{}
		}
		p = &share[T]{key: key, of: s}
		s.by[key] = p
		heap.Push(&s.parts, p)
	}
	return p
}

// drop takes a part out of s.
func (s *share[T]) drop(p *share[T]) {
	heap.Remove(&s.parts, p.at)
	delete(s.by, p.key)
	p.of = nil
}

func (s *share[T]) exceeds(l Limits) bool {
	return s.count > l.Count || s.bytes > l.Bytes && s.count > 1
}

// first returns what has waited longest of whoever has most waiting.
func (s *share[T]) first() *Place[T] {
	for len(s.parts) > 0 {
		s = s.parts[0]
	}
	for s.line[0].of == nil {
		s.line = s.line[1:]
	}
	return s.line[0]
}

// heaviest is a heap of shares, the heaviest first.
type heaviest[T any] []*share[T]

func (h heaviest[T]) Len() int           { return len(h) }
func (h heaviest[T]) Less(i, j int) bool { return h[i].weight > h[j].weight }

func (h heaviest[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push is for package heap.
func (h *heaviest[T]) Push(x any) {
	s := x.(*share[T])
	s.at = len(*h)
	*h = append(*h, s)
}

// Pop is for package heap.
func (h *heaviest[T]) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return s
}
