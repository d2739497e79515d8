package condition

// kind is what sort of value something is, as far as it is known.
type kind uint8

const (
	isAny kind = iota
	isNil
	isBool
	isNumber
	isText
	isList
	isMap
	isForeign
)

var kindNames = [...]string{isAny: "any", isNil: "nil", isBool: "boolean", isNumber: "number", isText: "string", isList: "list", isMap: "map", isForeign: "value that is not of JSON"}

func (k kind) String() string { return kindNames[k] }

// kindOf returns the kind of a value, which is not isAny.
func kindOf(v any) kind {
	switch v.(type) {
	case nil:
		return isNil
	case bool:
		return isBool
	case float64:
		return isNumber
	case string:
		return isText
	case []any:
		return isList
	case map[string]any:
		return isMap
	}
	return isForeign
}

// node is a compiled part of a condition. Its errors are faults.
type node func(*Env) (any, error)

// part is a node with what is known of its value before it is evaluated.
type part struct {
	node
	kind  kind
	at    int // characters before it in the source
	nodes int // of its tree, which is what a loop goes through
	// constant is set where the value is known, and the same for every evaluation.
	constant bool
	value    any // nil unless it is constant
}

// mustBe refuses a part that surely is of another kind.
func (p part) mustBe(kinds ...kind) error {
	if p.kind == isAny {
		return nil
	}
	for _, k := range kinds {
		if p.kind == k {
			return nil
		}
	}
	return clash(p.at, p.kind, kinds...)
}

func clash(at int, have kind, want ...kind) error {
	text := want[0].String()
	for _, k := range want[1:] {
		text += " or " + k.String()
	}
	return faultAt(at, "a %s where a %s is wanted", have, text)
}

func constant(at int, value any) part {
	return part{node: func(*Env) (any, error) { return value, nil }, kind: kindOf(value), at: at, nodes: 1, constant: true, value: value}
}

// boolean evaluates a part that has to be a boolean.
func boolean(e *Env, p *part) (bool, error) {
	v, err := p.node(e)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, clash(p.at, kindOf(v), isBool)
	}
	return b, nil
}

// number evaluates a part that has to be a number.
func number(e *Env, p *part) (float64, error) {
	v, err := p.node(e)
	if err != nil {
		return 0, err
	}
	n, ok := v.(float64)
	if !ok {
		return 0, clash(p.at, kindOf(v), isNumber)
	}
	return n, nil
}

// text evaluates a part that has to be a string.
func text(e *Env, p *part) (string, error) {
	v, err := p.node(e)
	if err != nil {
		return "", err
	}
	s, ok := v.(string)
	if !ok {
		return "", clash(p.at, kindOf(v), isText)
	}
	return s, nil
}

// list evaluates a part that has to be a list.
func list(e *Env, p *part) ([]any, error) {
	v, err := p.node(e)
	if err != nil {
		return nil, err
	}
	l, ok := v.([]any)
	if !ok {
		return nil, clash(p.at, kindOf(v), isList)
	}
	return l, nil
}
