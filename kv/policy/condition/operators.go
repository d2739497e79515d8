package condition

import (
	"strings"
)

func (c *compiler) unary(at int, n *unary) (part, error) {
	of, err := c.node(n.of)
	if err != nil {
		return part{}, err
	}
	p := part{at: at, nodes: of.nodes + 1}
	switch n.operator {
	case "!", "not":
		p.kind = isBool
		p.node = func(e *Env) (any, error) {
			is, err := boolean(e, &of)
			return !is, err
		}
		return p, of.mustBe(isBool)
	case "-", "+":
		sign := 1.0
		if n.operator == "-" {
			sign = -1
		}
		p.kind = isNumber
		p.node = func(e *Env) (any, error) {
			v, err := number(e, &of)
			return sign * v, err
		}
		return p, of.mustBe(isNumber)
	}
	return part{}, faultAt(at, "conditions have no operator %s", n.operator)
}

func (c *compiler) binary(at int, n *binary) (part, error) {
	parts, err := c.parts(n.left, n.right)
	if err != nil {
		return part{}, err
	}
	a, b := parts[0], parts[1]
	p := part{kind: isBool, at: at, nodes: a.nodes + b.nodes + 1}
	switch n.operator {
	case "and", "&&", "or", "||":
		stop := n.operator == "or" || n.operator == "||"
		p.node = func(e *Env) (any, error) {
			is, err := boolean(e, &a)
			if err != nil || is == stop {
				return is, err
			}
			is, err = boolean(e, &b)
			return is, err
		}
		return p, both(a, b, isBool)
	case "==", "!=":
		same := n.operator == "=="
		p.node = func(e *Env) (any, error) {
			equal, err := equality(e, at, &a, &b)
			return equal == same, err
		}
		return p, nil
	case "<", "<=", ">", ">=":
		return c.order(p, n.operator, a, b)
	case "in":
		return c.in(p, a, b)
	case "contains", "startsWith", "endsWith":
		return search(p, n.operator, a, b)
	case "matches":
		return c.matches(p, a, b)
	case "??":
		p.kind = isAny
		p.node = func(e *Env) (any, error) {
			v, err := a.node(e)
			if isMissing(err) || err == nil && v == nil {
				return b.node(e)
			}
			return v, err
		}
		return p, nil
	case "+", "-", "*", "/", "%":
		return arithmetic(p, n.operator, a, b)
	}
	return part{}, faultAt(at, "conditions have no operator %s", n.operator)
}

// both refuses two parts of which one surely is of another kind.
func both(a, b part, k kind) error {
	if err := a.mustBe(k); err != nil {
		return err
	}
	return b.mustBe(k)
}

func equality(e *Env, at int, a, b *part) (bool, error) {
	x, err := a.node(e)
	if err != nil {
		return false, err
	}
	y, err := b.node(e)
	if err != nil {
		return false, err
	}
	return e.equal(at, x, y)
}

// equal compares two values as JSON is compared: of other kinds they are not equal.
func (e *Env) equal(at int, x, y any) (bool, error) {
	switch x := x.(type) {
	case nil:
		return y == nil, foreign(at, y)
	case bool:
		b, ok := y.(bool)
		return ok && b == x, foreign(at, y)
	case float64:
		n, ok := y.(float64)
		return ok && n == x, foreign(at, y)
	case string:
		s, ok := y.(string)
		if !ok {
			return false, foreign(at, y)
		}
		return s == x, e.spend(at, min(len(s), len(x))/textStep)
	case []any:
		l, ok := y.([]any)
		if !ok || len(l) != len(x) {
			return false, foreign(at, y)
		}
		for i := range l {
			if same, err := e.equalElement(at, x[i], l[i]); !same { // nothing is the same with an error
				return false, err
			}
		}
		return true, nil
	case map[string]any:
		m, ok := y.(map[string]any)
		if !ok || len(m) != len(x) {
			return false, foreign(at, y)
		}
		return e.equalMaps(at, x, m)
	}
	return false, foreign(at, x)
}

func (e *Env) equalElement(at int, x, y any) (bool, error) {
	if err := e.spend(at, 1); err != nil {
		return false, err
	}
	return e.equal(at, x, y)
}

// equalMaps goes through a map in any order, and through all of it, so that what it
// takes and whether it fails is the same each time.
func (e *Env) equalMaps(at int, x, y map[string]any) (bool, error) {
	equal, failed := true, error(nil)
	for name, value := range x {
		other, ok := y[name]
		same, err := e.equalElement(at, value, other)
		equal = equal && ok && same
		if err != nil {
			failed = err
		}
	}
	return equal, failed
}

// foreign refuses a value that is not of JSON.
func foreign(at int, v any) error {
	if kindOf(v) == isForeign {
		return faultAt(at, "a value that is not of JSON")
	}
	return nil
}

// sameOrder refuses two parts that surely are not both numbers, nor both strings.
func sameOrder(a, b part) error {
	for _, one := range []part{a, b} {
		if err := one.mustBe(isNumber, isText); err != nil {
			return err
		}
	}
	if a.kind != isAny {
		return b.mustBe(a.kind)
	}
	return nil
}

func (c *compiler) order(p part, operator string, a, b part) (part, error) {
	if err := sameOrder(a, b); err != nil {
		return part{}, err
	}
	less, equal := operator[0] == '<', len(operator) == 2
	at := p.at
	p.node = func(e *Env) (any, error) {
		x, err := a.node(e)
		if err != nil {
			return nil, err
		}
		y, err := b.node(e)
		if err != nil {
			return nil, err
		}
		order := 0
		switch x := x.(type) {
		case float64:
			n, ok := y.(float64)
			if !ok {
				return nil, clash(b.at, kindOf(y), isNumber)
			}
			switch {
			case x < n:
				order = -1
			case x > n:
				order = 1
			}
		case string:
			s, ok := y.(string)
			if !ok {
				return nil, clash(b.at, kindOf(y), isText)
			}
			if err := e.spend(at, min(len(s), len(x))/textStep); err != nil {
				return nil, err
			}
			order = strings.Compare(x, s)
		default:
			return nil, clash(a.at, kindOf(x), isNumber, isText)
		}
		return order == 0 && equal || order < 0 && less || order > 0 && !less, nil
	}
	return p, nil
}

// in is membership: of an element in a list, of a name in a map.
func (c *compiler) in(p part, a, b part) (part, error) {
	if err := b.mustBe(isList, isMap); err != nil {
		return part{}, err
	}
	at := p.at
	if set := constantTexts(b); set != nil {
		p.node = func(e *Env) (any, error) {
			v, err := a.node(e)
			if err != nil {
				return nil, err
			}
			s, ok := v.(string)
			if !ok {
				return false, foreign(a.at, v)
			}
			return set[s], nil
		}
		return p, nil
	}
	p.node = func(e *Env) (any, error) {
		v, err := a.node(e)
		if err != nil {
			return nil, err
		}
		of, err := b.node(e)
		if err != nil {
			return nil, err
		}
		switch of := of.(type) {
		case []any:
			for _, one := range of {
				if same, err := e.equalElement(at, v, one); err != nil || same {
					return same, err
				}
			}
			return false, nil
		case map[string]any:
			name, ok := v.(string)
			if !ok {
				return nil, clash(a.at, kindOf(v), isText)
			}
			_, is := of[name]
			return is, nil
		}
		return nil, clash(b.at, kindOf(of), isList, isMap)
	}
	return p, nil
}
