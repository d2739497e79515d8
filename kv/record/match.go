package record

import (
	"regexp"
	"regexp/syntax"
)

// matcher tells whether a text matches a regular expression. For one of the kind of most
// ids and hashes it looks at each byte once.
type matcher struct {
	run        run // nil: none, the expression is asked
	expression *regexp.Regexp
}

// newMatcher returns an error if there is no such expression. One that is not asked is
// not compiled, which is most of the work.
func newMatcher(pattern string) (*matcher, error) {
	if run, ok := newRun(pattern); ok {
		return &matcher{run: run}, nil
	}
	expression, err := regexp.Compile(pattern)
	return &matcher{expression: expression}, err
}

func (m *matcher) matches(text string) bool {
	if m.run != nil {
		return runs(m.run, text)
	}
	return m.expression.MatchString(text)
}

func (m *matcher) matchesBytes(text []byte) bool {
	if m.run != nil {
		return runs(m.run, text)
	}
	return m.expression.Match(text)
}

// run is an expression of the kind of ^id-[0-9]{8}-[a-z]+$: all of the text, byte by byte,
// of which only the last may come in several numbers.
type run []step

// step is bytes of ASCII, and how many of them there are.
type step struct {
	bytes       [128]bool
	least, most int // most is -1 for any number
}

func newRun(pattern string) (run, bool) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || parsed.Op != syntax.OpConcat || len(parsed.Sub) < 3 {
		return nil, false
	}
	parts := parsed.Sub
	last := len(parts) - 1
	if parts[0].Op != syntax.OpBeginText || parts[last].Op != syntax.OpEndText {
		return nil, false
	}
	var r run
	for _, part := range parts[1:last] {
		if len(r) > 0 && r[len(r)-1].least != r[len(r)-1].most { // what follows might be its own
			return nil, false
		}
		if part.Op == syntax.OpLiteral && part.Flags&syntax.FoldCase == 0 {
			for _, c := range part.Rune {
				s := step{least: 1, most: 1}
				if c >= 128 {
					return nil, false
				}
				s.bytes[c] = true
				r = append(r, s)
			}
			continue
		}
		s := step{least: 1, most: 1}
		switch part.Op {
		case syntax.OpRepeat:
			s.least, s.most = part.Min, part.Max
		case syntax.OpPlus:
			s.most = -1
		case syntax.OpStar:
			s.least, s.most = 0, -1
		case syntax.OpQuest:
			s.least = 0
		}
		if len(part.Sub) == 1 {
			part = part.Sub[0]
		}
		if part.Op != syntax.OpCharClass {
			return nil, false
		}
		for i := 0; i < len(part.Rune); i += 2 {
			if part.Rune[i+1] >= 128 {
				return nil, false
			}
			for c := part.Rune[i]; c <= part.Rune[i+1]; c++ {
				s.bytes[c] = true
			}
		}
		r = append(r, s)
	}
	return r, true
}

func runs[T string | []byte](r run, text T) bool {
	for i := range r {
		s, n := &r[i], 0
		for n < len(text) && n != s.most && text[n] < 128 && s.bytes[text[n]] {
			n++
		}
		if n < s.least {
			return false
		}
		text = text[n:]
	}
	return len(text) == 0
}
