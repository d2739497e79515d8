package subject

import (
	"bytes"
	"slices"
)

// Set is filters, of which a key is to match one. Any number of goroutines may use it at
// once.
type Set struct {
	root    node
	filters []Filter
}

// node is where some filters are after the tokens that lead to it.
type node struct {
	next map[string]*node // by a token
	one  *node            // by any token
	end  bool             // a filter ends here
	rest bool             // a filter goes on with one token or more, whichever they are
}

// NewSet returns the set of some filters, which matches nothing without any. It returns
// ErrFilter for more than MaxFilters.
func NewSet(filters ...Filter) (*Set, error) {
	if len(filters) > MaxFilters {
		return nil, refuse(KindFilter, 0, "a set has at most %d filters, these are %d", MaxFilters, len(filters))
	}
	s := &Set{filters: slices.Clone(filters)}
	for _, f := range filters {
		s.root.add(f.tokens)
	}
	return s, nil
}

func (n *node) add(tokens []string) {
	for _, token := range tokens {
		if isRest(token) {
			n.rest = true
			return
		}
		n = n.child(token)
	}
	n.end = true
}

// child is the node that a token of a filter leads to, which is made if there is none.
func (n *node) child(token string) *node {
	if isOne(token) {
		if n.one == nil {
			n.one = &node{}
		}
		return n.one
	}
	if n.next == nil {
		n.next = map[string]*node{}
	}
	c := n.next[token]
	if c == nil {
		c = &node{}
		n.next[token] = c
	}
	return c
}

// Match reports whether a key matches one of the filters; see [Filter.Match]. It looks
// at those that begin as the key does and at none of the others: a token of the key costs
// one look, and one more where a filter has * in its place.
func (s *Set) Match(key []byte) bool { return s.root.match(key) }

func (n *node) match(key []byte) bool {
	for ; n != nil; n = n.one {
		if n.rest {
			return true
		}
		token, after, more := bytes.Cut(key, dots)
		next := n.next[string(token)]
		if !more {
			return next != nil && next.end || n.one != nil && n.one.end
		}
		if next.match(after) {
			return true
		}
		key = after // and the same with any token in the place of this one
	}
	return false
}

// Ranges returns where the keys that match a filter are, in order and apart from each
// other; see [Plan].
func (s *Set) Ranges() []Range {
	var all []Range
	for _, f := range s.filters {
		if r := f.Plan().Range; r.End == nil || bytes.Compare(r.Start, r.End) < 0 {
			all = append(all, r)
		}
	}
	// Of two ranges one has the other, or they are apart, since each is all that begins with some
	// tokens, or one key. The one that has the other begins before it.
	slices.SortFunc(all, func(a, b Range) int { return bytes.Compare(a.Start, b.Start) })
	apart := all[:0]
	for _, r := range all {
		if last := len(apart) - 1; last < 0 || apart[last].End != nil && bytes.Compare(r.Start, apart[last].End) >= 0 {
			apart = append(apart, r)
		}
	}
	return apart
}
