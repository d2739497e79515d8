package condition

import (
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
)

// arithmetic is an operator of numbers; + joins strings too.
func arithmetic(p part, operator string, a, b part) (part, error) {
	at := p.at
	p.kind = isNumber
	if operator == "+" {
		p.node = func(e *Env) (any, error) { return plus(e, at, &a, &b) }
		if p.kind = a.kind; p.kind == isAny {
			p.kind = b.kind
		}
		return p, sameOrder(a, b)
	}
	p.node = func(e *Env) (any, error) {
		x, err := number(e, &a)
		if err != nil {
			return nil, err
		}
		y, err := number(e, &b)
		if err != nil {
			return nil, err
		}
		switch operator {
		case "-":
			return finite(at, x-y)
		case "*":
			return finite(at, x*y)
		case "/":
			return finite(at, x/y)
		}
		if x != math.Trunc(x) || y != math.Trunc(y) {
			return nil, faultAt(at, "%% takes integers")
		}
		return finite(at, math.Mod(x, y))
	}
	return p, both(a, b, isNumber)
}

func plus(e *Env, at int, a, b *part) (any, error) {
	x, err := a.node(e)
	if err != nil {
		return nil, err
	}
	if s, ok := x.(string); ok {
		t, err := text(e, b)
		if err != nil {
			return nil, err
		}
		if err := e.spend(at, 1+(len(s)+len(t))/textStep); err != nil {
			return nil, err
		}
		return s + t, nil
	}
	n, ok := x.(float64)
	if !ok {
		return nil, clash(a.at, kindOf(x), isNumber, isText)
	}
	m, err := number(e, b)
	if err != nil {
		return nil, err
	}
	return finite(at, n+m)
}

// finite refuses what is no number of JSON, as the quotient of a division by zero.
func finite(at int, n float64) (any, error) {
	if math.IsInf(n, 0) || math.IsNaN(n) {
		return nil, faultAt(at, "the result is no number")
	}
	return n, nil
}

// search is an operator that looks for one string in another.
func search(p part, operator string, a, b part) (part, error) {
	find := strings.Contains
	switch operator {
	case "startsWith":
		find = strings.HasPrefix
	case "endsWith":
		find = strings.HasSuffix
	}
	at := p.at
	p.node = func(e *Env) (any, error) {
		s, err := text(e, &a)
		if err != nil {
			return nil, err
		}
		t, err := text(e, &b)
		if err != nil {
			return nil, err
		}
		if err := e.spend(at, len(s)/textStep); err != nil {
			return nil, err
		}
		return find(s, t), nil
	}
	return p, both(a, b, isText)
}

// matches is a regular expression, which stands in the source as it is.
func (c *compiler) matches(p part, a, b part) (part, error) {
	pattern, ok := b.value.(string)
	if !ok {
		return part{}, faultAt(b.at, "a pattern of matches stands in the condition, in quotes")
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return part{}, faultAt(b.at, "%v", err)
	}
	size := instructions(tree)
	if c.patterns += size; c.patterns > MaxPattern {
		return part{}, faultAt(b.at, "the patterns are longer than %d instructions", MaxPattern)
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return part{}, faultAt(b.at, "%v", err)
	}
	at := p.at
	p.node = func(e *Env) (any, error) {
		s, err := text(e, &a)
		if err != nil {
			return nil, err
		}
		if err := e.spend(at, (len(s)+1)*size); err != nil {
			return nil, err
		}
		return compiled.MatchString(s), nil
	}
	return p, a.mustBe(isText)
}

// instructions is about how many a regular expression compiles to, MaxPattern and one
// at most.
func instructions(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		n = min(n+instructions(sub), MaxPattern+1)
	}
	return min(n*max(re.Min, re.Max, 1), MaxPattern+1)
}

// constantTexts returns the strings of a list if it stands in the source and is of strings
// only, and else nil.
func constantTexts(p part) map[string]bool {
	if !p.constant {
		return nil
	}
	values := p.value.([]any)
	set := make(map[string]bool, len(values))
	for _, v := range values {
		s, ok := v.(string)
		if !ok {
			return nil
		}
		set[s] = true
	}
	return set
}
