package condition

import (
	"errors"
	"unicode/utf8"

	"github.com/expr-lang/expr/file"
)

// Env is what a condition can ask for: by name agent and action, context as a
// whole, and every field of the context. The names agent, action and context
// always are the decision's own, whatever fields the context has: context.agent is the field. So who
// sends a context can't pass for another.
//
// Context is as encoding/json reads JSON: nil, bool, float64, string, []any and
// map[string]any; anything else in it is an error when a condition comes to it. It is not
// changed. An Env may be used again, by one goroutine at a time.
type Env struct {
	Agent, Action string
	Context       map[string]any

	steps int
	slots []any // elements of loops and values of let, by their number
}

// Program is a compiled condition. It is safe for concurrent use; the bytes that it takes are in
// README.md.
type Program struct {
	source string
	test   node
	slots  int
}

// Source returns the text that the program was compiled from.
func (p *Program) Source() string { return p.source }

// Compile reads a condition. What it returns an error for, an *Error, is never true nor
// false: text that is too long or nested too deep, a mistake in it, a function that conditions don't
// have, what surely is no boolean.
func Compile(source string) (*Program, error) {
	p, err := compile(source)
	if err != nil {
		return nil, err.(*fault).place(source)
	}
	return p, nil
}

func compile(source string) (*Program, error) {
	if len(source) > MaxSource {
		return nil, faultAt(0, "a condition has at most %d bytes, not %d", MaxSource, len(source))
	}
	if !utf8.ValidString(source) {
		return nil, faultAt(0, "a condition is UTF-8")
	}
	text, err := lower(source)
	if err != nil {
		return nil, err
	}
	tree, err := parse(text)
	if err != nil {
		return nil, err
	}
	c := &compiler{}
	root, err := c.node(tree)
	if err != nil {
		return nil, err
	}
	if err := root.mustBe(isBool); err != nil {
		return nil, err
	}
	return &Program{source: source, test: root.node, slots: c.slots}, nil
}

// notParsed returns an error of the lexer as a fault at its place.
func notParsed(err error) error {
	var e *file.Error
	if !errors.As(err, &e) {
		return faultAt(0, "%v", err)
	}
	return faultAt(e.From, "%s", e.Message)
}

// Eval tells whether the condition is true of the environment. Every failure is an error, an
// *Error that says where: a name that is not there, a value of a kind that an operator doesn't
// take, a result that is no boolean, more work than MaxSteps. Whoever asks takes an error for the
// answer that allows least. The same environment has the same answer, always.
func (p *Program) Eval(env *Env) (bool, error) {
	steps := MaxSteps
	return p.EvalWithin(env, &steps)
}

// EvalWithin is Eval for one of several conditions that share what they may take: it
// takes what it needs from steps, at most MaxSteps, and fails where that is not enough.
func (p *Program) EvalWithin(env *Env, steps *int) (bool, error) {
	if len(env.slots) < p.slots {
		env.slots = make([]any, p.slots)
	}
	env.steps = min(*steps, MaxSteps)
	granted := env.steps
	value, err := p.test(env)
	*steps -= granted - max(env.steps, 0)
	clear(env.slots)
	is, ok := value.(bool)
	if err == nil && !ok {
		err = faultAt(0, "the result is a %s, not a boolean", kindOf(value))
	}
	if err != nil {
		return false, err.(*fault).place(p.source)
	}
	return is, nil
}

// spend takes n steps of what the evaluation may do.
func (e *Env) spend(at, n int) error {
	if e.steps -= n; e.steps < 0 {
		return faultAt(at, "more than %d steps of work", MaxSteps)
	}
	return nil
}
