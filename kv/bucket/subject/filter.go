package subject

import (
	"bytes"
	"strings"
)

// Filter is a pattern that keys match. The zero Filter matches nothing.
type Filter struct {
	text   string
	tokens []string
	never  bool // a token is beside a wildcard, which no key has
}

// Parse reads a filter: a key in which a token may be *, which is exactly one token,
// whichever, and the last one >, which is one token or more. It returns ErrFilter for what
// is neither. A * beside other characters of a token, and a > at the end of the last one,
// is no wildcard, as for NATS: no key has such a token, so it matches nothing.
func Parse(pattern string) (Filter, error) {
	f := Filter{text: pattern}
	err := eachToken(KindFilter, pattern, func(at int, token string) error {
		f.tokens = append(f.tokens, token)
		for i := range len(token) {
			last := at+i == len(pattern)-1
			switch c := token[i]; {
			case c == rest && !last:
				return refuse(KindFilter, at+i, "> is the last token, and nothing follows it: one or more tokens at the end, as in owner.>")
			case c == one || c == rest:
				f.never = f.never || len(token) > 1
			case !isOfToken(c):
				return refuse(KindFilter, at+i, "a filter has no %s: it has what keys have, and the tokens * and >", character(token, i))
			}
		}
		return nil
	})
	if err != nil {
		return Filter{}, err
	}
	return f, nil
}

// String is the pattern that the filter was read from.
func (f Filter) String() string { return f.text }

// Match reports whether a key matches, which is one that [Check] takes. It is bytes, as a
// store has it; []byte(text) in the call costs nothing.
func (f Filter) Match(key []byte) bool {
	for i, want := range f.tokens {
		if isRest(want) {
			return true
		}
		token, after, more := bytes.Cut(key, dots)
		if !isOne(want) && want != string(token) {
			return false
		}
		if !more {
			return i == len(f.tokens)-1
		}
		key = after
	}
	return false
}

var dots = []byte{dot}

func isOne(token string) bool  { return token == string(one) }
func isRest(token string) bool { return token == string(rest) }

// isWild reports whether a token stands for others.
func isWild(token string) bool { return isOne(token) || isRest(token) }

// Range is keys from Start on and before End, in the order of their bytes. End is nil where
// nothing bounds them.
type Range struct{ Start, End []byte }

// Plan says where the keys that match a filter are.
type Plan struct {
	// Range has all of them: those that begin with the tokens before the first wildcard,
	// or the one key of a filter that has none. Of a filter that matches nothing it is empty: End is
	// not after Start.
	Range
	// Last is the last token of each of them, for an index by it; "": it can be any.
	Last string
	// Exact: the filter has no wildcard, and Start is the one key that matches.
	Exact bool
}

// Plan returns where the keys that match are.
func (f Filter) Plan() Plan {
	if f.never || len(f.tokens) == 0 {
		return Plan{Range: Range{[]byte{}, []byte{}}}
	}
	var p Plan
	if last := f.tokens[len(f.tokens)-1]; !isWild(last) {
		p.Last = last
	}
	literal := 0
	for literal < len(f.tokens) && !isWild(f.tokens[literal]) {
		literal++
	}
	p.Start = []byte(strings.Join(f.tokens[:literal], "."))
	switch literal {
	case len(f.tokens):
		p.Exact, p.End = true, append(bytes.Clone(p.Start), 0)
	case 0: // from the first key to the last
	default:
		p.End = append(bytes.Clone(p.Start), dot+1)
		p.Start = append(p.Start, dot)
	}
	return p
}
