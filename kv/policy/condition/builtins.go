package condition

import (
	"math"
	"slices"
	"strings"
)

// function is one that conditions may call, of those that the library has.
type function struct {
	name     string
	least    int // arguments
	most     int
	kinds    [2]kind // of the first two arguments; isAny: function sees to it
	result   kind
	evaluate func(e *Env, at int, arguments []any) (any, error)
}

// functions are those that conditions may call. What else the library has is refused in
// README.md, with the reason.
var functions = []function{
	{"len", 1, 1, [2]kind{}, isNumber, length},
	{"type", 1, 1, [2]kind{}, isText, typeName},
	{"lower", 1, 1, [2]kind{isText}, isText, ofText(strings.ToLower)},
	{"upper", 1, 1, [2]kind{isText}, isText, ofText(strings.ToUpper)},
	{"trim", 1, 1, [2]kind{isText}, isText, ofText(strings.TrimSpace)},
	{"hasPrefix", 2, 2, [2]kind{isText, isText}, isBool, ofTexts(strings.HasPrefix)},
	{"hasSuffix", 2, 2, [2]kind{isText, isText}, isBool, ofTexts(strings.HasSuffix)},
	{"split", 2, 2, [2]kind{isText, isText}, isList, split},
	{"abs", 1, 1, [2]kind{isNumber}, isNumber, ofNumber(math.Abs)},
	{"ceil", 1, 1, [2]kind{isNumber}, isNumber, ofNumber(math.Ceil)},
	{"floor", 1, 1, [2]kind{isNumber}, isNumber, ofNumber(math.Floor)},
	{"round", 1, 1, [2]kind{isNumber}, isNumber, ofNumber(math.Round)},
	{"min", 1, MaxNodes, [2]kind{}, isNumber, extreme(func(a, b float64) bool { return a < b })},
	{"max", 1, MaxNodes, [2]kind{}, isNumber, extreme(func(a, b float64) bool { return a > b })},
	{"first", 1, 1, [2]kind{isList}, isAny, func(_ *Env, at int, a []any) (any, error) { return fetch(at, a[0], 0.0) }},
	{"last", 1, 1, [2]kind{isList}, isAny, func(_ *Env, at int, a []any) (any, error) { return fetch(at, a[0], -1.0) }},
	{"sum", 1, 1, [2]kind{isList}, isNumber, sum},
}

// Functions returns the names of the library's functions that conditions may call.
func Functions() []string {
	var names []string
	for _, f := range functions {
		names = append(names, f.name)
	}
	for _, l := range loops {
		names = append(names, l.name)
	}
	slices.Sort(names)
	return names
}

func (c *compiler) function(at int, n *call) (part, error) {
	for i := range loops {
		if l := &loops[i]; l.name == n.name {
			return c.loop(at, l, n)
		}
	}
	for i := range functions {
		if f := &functions[i]; f.name == n.name {
			return c.call(at, f, n)
		}
	}
	return part{}, faultAt(at, "conditions have no function %s", n.name)
}

func (c *compiler) call(at int, f *function, n *call) (part, error) {
	if len(n.arguments) < f.least || len(n.arguments) > f.most {
		return part{}, faultAt(at, "%s does not take %d arguments", f.name, len(n.arguments))
	}
	parts, err := c.parts(n.arguments...)
	if err != nil {
		return part{}, err
	}
	p := part{kind: f.result, at: at, nodes: 1}
	for i, one := range parts {
		p.nodes += one.nodes
		if i < 2 && f.kinds[i] != isAny {
			if err := one.mustBe(f.kinds[i]); err != nil {
				return part{}, err
			}
		}
	}
	p.node = func(e *Env) (any, error) {
		arguments := make([]any, len(parts))
		for i := range parts {
			var err error
			if arguments[i], err = parts[i].node(e); err != nil {
				return nil, err
			}
			if i < 2 && f.kinds[i] != isAny && kindOf(arguments[i]) != f.kinds[i] {
				return nil, clash(parts[i].at, kindOf(arguments[i]), f.kinds[i])
			}
		}
		return f.evaluate(e, at, arguments)
	}
	return p, nil
}

func length(e *Env, at int, a []any) (any, error) {
	switch v := a[0].(type) {
	case string:
		return float64(len([]rune(v))), e.spend(at, len(v)/textStep)
	case []any:
		return float64(len(v)), nil
	case map[string]any:
		return float64(len(v)), nil
	}
	return nil, clash(at, kindOf(a[0]), isText, isList, isMap)
}

// typeName names the kind of a value as the library does.
func typeName(_ *Env, at int, a []any) (any, error) {
	switch kindOf(a[0]) {
	case isNil:
		return "nil", nil
	case isBool:
		return "bool", nil
	case isNumber:
		return "float", nil
	case isText:
		return "string", nil
	case isList:
		return "array", nil
	case isMap:
		return "map", nil
	}
	return nil, foreign(at, a[0])
}

func ofText(f func(string) string) func(*Env, int, []any) (any, error) {
	return func(e *Env, at int, a []any) (any, error) {
		s := a[0].(string)
		if err := e.spend(at, 1+len(s)/textStep); err != nil {
			return nil, err
		}
		return f(s), nil
	}
}

func ofTexts(f func(a, b string) bool) func(*Env, int, []any) (any, error) {
	return func(e *Env, at int, a []any) (any, error) {
		s, t := a[0].(string), a[1].(string)
		return f(s, t), e.spend(at, len(t)/textStep)
	}
}

func ofNumber(f func(float64) float64) func(*Env, int, []any) (any, error) {
	return func(_ *Env, _ int, a []any) (any, error) { return f(a[0].(float64)), nil }
}

// split charges an element for each byte: every one may be a part.
func split(e *Env, at int, a []any) (any, error) {
	s, separator := a[0].(string), a[1].(string)
	if err := e.spend(at, 1+len(s)); err != nil {
		return nil, err
	}
	texts := strings.Split(s, separator)
	made := make([]any, len(texts))
	for i, t := range texts {
		made[i] = t
	}
	return made, nil
}

// numbers calls f for each number of the arguments, and of the lists among them.
func numbers(e *Env, at int, values []any, deeper bool, f func(float64)) error {
	for _, v := range values {
		if err := e.spend(at, 1); err != nil {
			return err
		}
		switch v := v.(type) {
		case float64:
			f(v)
		case []any:
			if !deeper {
				return clash(at, isList, isNumber)
			}
			if err := numbers(e, at, v, false, f); err != nil {
				return err
			}
		default:
			return clash(at, kindOf(v), isNumber)
		}
	}
	return nil
}

// extreme is the number of its arguments, and of the lists among them, that comes before the others.
func extreme(before func(a, b float64) bool) func(*Env, int, []any) (any, error) {
	return func(e *Env, at int, a []any) (any, error) {
		found, best := false, 0.0
		err := numbers(e, at, a, true, func(n float64) {
			if !found || before(n, best) {
				found, best = true, n
			}
		})
		if err == nil && !found {
			err = missingAt(at, "no numbers")
		}
		return best, err
	}
}

func sum(e *Env, at int, a []any) (any, error) {
	total := 0.0
	if err := numbers(e, at, a[0].([]any), false, func(n float64) { total += n }); err != nil {
		return nil, err
	}
	return finite(at, total)
}
