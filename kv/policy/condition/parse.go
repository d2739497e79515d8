package condition

import (
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"
	"github.com/expr-lang/expr/parser/utils"
)

// parser reads the tokens of a source by precedence, as the library's parser does: what
// conditions have it reads the same, which a test of many sources compares, and what they
// lack it refuses where it comes to it. It is here since the library's brings along what
// calls methods by names that it is given: a linker then has to keep all methods of all types,
// which makes the program a quarter larger.
type parser struct {
	tokens []lexer.Token // EOF is the last
	at     int           // of the token that is next
	loops  int           // predicates around it
	nodes  int
}

// parse returns the tree of a source whose keywords are in lower case and that [lower]
// has not found nested too deep.
func parse(source string) (tree term, err error) {
	tokens, err := lexer.Lex(file.NewSource(source))
	if err != nil {
		return nil, notParsed(err)
	}
	p := &parser{tokens: tokens}
	defer func() {
		switch f := recover().(type) {
		case nil:
		case *fault:
			tree, err = nil, f
		default: // a mistake of this package
			tree, err = nil, faultAt(0, "the condition can't be parsed: %v", f)
		}
	}()
	tree = p.sequence()
	if !p.token().Is(lexer.EOF) {
		p.unexpected()
	}
	return tree, nil
}

func (p *parser) token() lexer.Token { return p.tokens[p.at] }

// next returns the token that is next, and goes behind it.
func (p *parser) next() lexer.Token {
	t := p.token()
	p.at = min(p.at+1, len(p.tokens)-1)
	return t
}

// is tells whether the next token is an operator or a bracket.
func (p *parser) is(kind lexer.Kind, value string) bool { return p.token().Is(kind, value) }

// takes goes behind the next token if it is that.
func (p *parser) takes(kind lexer.Kind, value string) bool {
	is := p.is(kind, value)
	if is {
		p.next()
	}
	return is
}

// must goes behind the next token, which is of a kind, and has a value if one is named.
func (p *parser) must(kind lexer.Kind, values ...string) lexer.Token {
	if !p.token().Is(kind, values...) {
		p.unexpected()
	}
	return p.next()
}

func (p *parser) unexpected() { p.fail(p.token(), "unexpected token %v", p.token()) }

// fail ends the parsing with a fault at a token.
func (p *parser) fail(t lexer.Token, format string, args ...any) {
	panic(faultAt(t.From, format, args...))
}

// placed counts a node at a token, and returns its place.
func (p *parser) placed(t lexer.Token) place {
	if p.nodes++; p.nodes > MaxNodes {
		p.fail(t, "a condition has at most %d nodes", MaxNodes)
	}
	return place(t.From)
}

// sequence is an expression. The library's language has several, of which the last counts,
// and which conditions have no use for.
func (p *parser) sequence() term {
	one := p.expression(0)
	if semicolon := p.token(); p.takes(lexer.Operator, ";") && !p.token().Is(lexer.EOF) {
		p.fail(semicolon, "conditions have one expression")
	}
	return one
}

// infix is an operator between two operands.
type infix struct {
	precedence int
	right      bool // it binds what is right of it first
}

var infixes = map[string]infix{
	"|":  {precedence: 0},
	"or": {precedence: 10}, "||": {precedence: 10},
	"and": {precedence: 15}, "&&": {precedence: 15},
	"==": {precedence: 20}, "!=": {precedence: 20}, "<": {precedence: 20}, ">": {precedence: 20}, "<=": {precedence: 20}, ">=": {precedence: 20},
	"in": {precedence: 20}, "matches": {precedence: 20}, "contains": {precedence: 20}, "startsWith": {precedence: 20}, "endsWith": {precedence: 20},
	"..": {precedence: 25},
	"+":  {precedence: 30}, "-": {precedence: 30},
	"*": {precedence: 60}, "/": {precedence: 60}, "%": {precedence: 60},
	"**": {precedence: 100, right: true}, "^": {precedence: 100, right: true},
	"??": {precedence: 500},
}

// prefixes are operators before an operand, with their precedence.
var prefixes = map[string]int{"not": 50, "!": 50, "-": 90, "+": 90}

func isOrder(operator string) bool { return slices.Contains([]string{"<", ">", "<=", ">="}, operator) }

// expression reads what binds at least as strongly as a precedence.
func (p *parser) expression(precedence int) term {
	if precedence == 0 && p.is(lexer.Operator, "let") {
		return p.let()
	}
	if precedence == 0 && p.is(lexer.Operator, "if") {
		return p.ifElse()
	}
	left, before := p.operand(), ""
	for p.token().Is(lexer.Operator) {
		begin := p.at
		negated := p.takes(lexer.Operator, "not")
		if negated && !negatedSuffix(p.token()) {
			p.unexpected()
		}
		operator := p.token()
		in, ok := infixes[operator.Value]
		if !ok || in.precedence < precedence {
			p.at = begin
			break
		}
		p.next()
		switch {
		case operator.Value == "|":
			left = p.call(p.must(lexer.Identifier), left)
		case before == "??" && operator.Value != "??":
			p.fail(operator, "Operator (%v) and coalesce expressions (??) cannot be mixed. Wrap either by parentheses.", operator.Value)
		case isOrder(operator.Value):
			left = p.order(left, operator, in.precedence)
		default:
			above := in.precedence + 1
			if in.right {
				above = in.precedence
			}
			right := p.expression(above)
			left = &binary{p.placed(operator), operator.Value, left, right}
			if negated {
				left = &unary{p.placed(operator), "not", left}
			}
		}
		before = operator.Value
	}
	if precedence == 0 {
		return p.ternary(left)
	}
	return left
}

// negatedSuffix tells whether a not belongs to the operator behind it.
func negatedSuffix(t lexer.Token) bool { return negated[t.Value] && t.Is(lexer.Operator) }

// order reads a < b, or a < b < c, which is a < b && b < c.
func (p *parser) order(left term, operator lexer.Token, precedence int) (all term) {
	for {
		right := p.expression(precedence + 1)
		one := &binary{p.placed(operator), operator.Value, left, right}
		if all == nil {
			all = one
		} else {
			all = &binary{p.placed(operator), "&&", all, one}
		}
		if t := p.token(); !t.Is(lexer.Operator) || !isOrder(t.Value) {
			return all
		}
		left, operator = right, p.next()
	}
}

func (p *parser) let() term {
	p.next()
	name := p.must(lexer.Identifier)
	p.must(lexer.Operator, "=")
	value := p.expression(0)
	p.must(lexer.Operator, ";")
	in := p.sequence()
	return &let{p.placed(name), name.Value, value, in}
}

func (p *parser) ifElse() term {
	p.next()
	c := &conditional{test: p.expression(0)}
	block := func() term {
		p.must(lexer.Bracket, "{")
		one := p.sequence()
		p.must(lexer.Bracket, "}")
		return one
	}
	c.yes = block()
	p.must(lexer.Operator, "else")
	if p.is(lexer.Operator, "if") {
		c.no = p.ifElse()
	} else {
		c.no = block()
	}
	return c
}

// ternary reads what may follow a test: ? yes : no, or ?: no.
func (p *parser) ternary(test term) term {
	for p.takes(lexer.Operator, "?") {
		c := &conditional{test: test, yes: test}
		if !p.is(lexer.Operator, ":") {
			c.yes = p.expression(0)
		}
		p.must(lexer.Operator, ":")
		c.no = p.expression(0)
		p.placed(p.token())
		test = c
	}
	return test
}

// operand reads what stands before, between and behind infixes, with its prefixes and with
// what is behind it.
func (p *parser) operand() term {
	t := p.token()
	precedence, prefixed := prefixes[t.Value]
	switch {
	case t.Is(lexer.Operator) && prefixed:
		p.next()
		of := p.expression(precedence)
		return p.behind(&unary{p.placed(t), t.Value, of})
	case p.takes(lexer.Bracket, "("):
		one := p.sequence()
		p.must(lexer.Bracket, ")")
		return p.behind(one)
	case p.loops > 0 && p.takes(lexer.Operator, "#"):
		name := ""
		if p.token().Is(lexer.Identifier) {
			name = p.next().Value
		}
		return p.behind(&pointer{p.placed(t), name})
	case p.loops > 0 && p.is(lexer.Operator, "."): // of #
		return p.behind(&pointer{p.placed(t), ""})
	case p.takes(lexer.Operator, "::"):
		return p.behind(p.call(p.must(lexer.Identifier)))
	case t.Is(lexer.Identifier):
		p.next()
		if value, ok := words[t.Value]; ok {
			return &literal{p.placed(t), value}
		}
		if p.is(lexer.Bracket, "(") {
			return p.behind(p.call(t))
		}
		return p.behind(&identifier{p.placed(t), t.Value})
	case t.Is(lexer.Number):
		p.next()
		return &literal{p.placed(t), p.number(t)}
	case t.Is(lexer.String):
		p.next()
		return p.behind(&literal{p.placed(t), t.Value})
	case t.Is(lexer.Bytes):
		p.fail(t, "conditions have no bytes")
	case t.Is(lexer.Bracket, "["):
		return p.behind(p.array())
	case t.Is(lexer.Bracket, "{"):
		p.fail(t, "conditions write no maps")
	}
	p.unexpected()
	return nil
}

// words are names of values.
var words = map[string]any{"true": true, "false": false, "nil": nil}

// number returns what a number is, as a condition has it.
func (p *parser) number(t lexer.Token) float64 {
	digits := strings.ReplaceAll(t.Value, "_", "")
	low := strings.ToLower(digits)
	if !strings.HasPrefix(low, "0x") && strings.ContainsAny(low, ".e") {
		n, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			p.fail(t, "invalid float literal: %v", err)
		}
		return n
	}
	base := 10
	if strings.HasPrefix(low, "0x") || strings.HasPrefix(low, "0b") || strings.HasPrefix(low, "0o") {
		base = 0
	}
	n, err := strconv.ParseInt(digits, base, 64)
	if err != nil {
		p.fail(t, "invalid integer literal: %v", err)
	}
	if n > maxExact {
		p.fail(t, "an integer over 2^53, which numbers don't hold exactly")
	}
	return float64(n)
}

// call reads the arguments of a function, of which one that is given comes first.
func (p *parser) call(name lexer.Token, given ...term) term {
	loop := slices.ContainsFunc(loops, func(l loop) bool { return l.name == name.Value })
	if !loop && !slices.ContainsFunc(functions, func(f function) bool { return f.name == name.Value }) {
		p.fail(name, "conditions have no function %s", name.Value)
	}
	c := &call{place: p.placed(name), name: name.Value, arguments: given}
	p.must(lexer.Bracket, "(")
	for first := true; !p.is(lexer.Bracket, ")"); first = false {
		if !first {
			p.must(lexer.Operator, ",")
			if p.is(lexer.Bracket, ")") {
				break
			}
		}
		if loop && len(c.arguments) == 1 {
			c.arguments = append(c.arguments, p.predicate())
		} else {
			c.arguments = append(c.arguments, p.expression(0))
		}
	}
	p.must(lexer.Bracket, ")")
	if loop && len(c.arguments) != 2 {
		p.fail(name, "%s takes a list and what to ask of each element", name.Value)
	}
	return c
}

func (p *parser) predicate() term {
	begin := p.token()
	p.loops++
	var asks term
	if p.takes(lexer.Bracket, "{") {
		asks = p.sequence()
		p.must(lexer.Bracket, "}")
	} else {
		asks = p.expression(0)
	}
	p.loops--
	return &predicate{p.placed(begin), asks}
}

func (p *parser) array() term {
	a := &array{}
	begin := p.next()
	for !p.is(lexer.Bracket, "]") {
		if len(a.elements) > 0 {
			p.must(lexer.Operator, ",")
			if p.is(lexer.Bracket, "]") {
				break
			}
		}
		a.elements = append(a.elements, p.expression(0))
	}
	p.must(lexer.Bracket, "]")
	a.place = p.placed(begin)
	return a
}

// behind reads what may be behind an operand: .field, ?.field, [index] and ?.[index].
func (p *parser) behind(of term) term {
	for {
		t := p.token()
		optional := t.Is(lexer.Operator, "?.")
		switch {
		case optional && p.tokens[p.at+1].Is(lexer.Bracket, "["):
			p.next()
			of = p.index(of, true)
		case optional || t.Is(lexer.Operator, "."):
			p.next()
			of = p.field(of, optional)
		case t.Is(lexer.Bracket, "["):
			of = p.index(of, false)
		default:
			return of
		}
	}
}

// field is a member by its name, which goes on with the chain that it is of.
func (p *parser) field(of term, optional bool) term {
	name := p.next()
	if !name.Is(lexer.Identifier) && !(name.Is(lexer.Operator) && utils.IsValidIdentifier(name.Value)) {
		p.fail(p.token(), "expected name")
	}
	before, chained := of.(*chain)
	if chained {
		of = before.of
	}
	m := &member{place: p.placed(name), of: of, property: &literal{p.placed(name), name.Value}, optional: optional}
	if p.is(lexer.Bracket, "(") {
		p.fail(name, "values have no methods")
	}
	if chained || optional {
		return &chain{p.placed(name), m}
	}
	return m
}

func (p *parser) index(of term, optional bool) term {
	begin := p.next()
	if p.is(lexer.Operator, ":") {
		p.fail(begin, "conditions have no slices")
	}
	property := p.expression(0)
	if p.is(lexer.Operator, ":") {
		p.fail(begin, "conditions have no slices")
	}
	p.must(lexer.Bracket, "]")
	m := &member{place: p.placed(begin), of: of, property: property, optional: optional}
	if optional {
		return &chain{p.placed(begin), m}
	}
	return m
}
