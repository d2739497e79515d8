// Package condition evaluates the conditions of policies and delegations: boolean
// expressions in the language of expr-lang/expr, such as
//
//	recipient.domain NOT IN approved_domains
//
// [Compile] reads a source once, [Program.Eval] asks it of an [Env], which is what a
// decision knows. Conditions are written by those who write policies and asked by whoever
// makes a request, so neither may cost much: what the text may be, how long it may run and what
// it may allocate is bounded, and it sees nothing but its Env. The library's lexer reads
// the source; parser and evaluation are of this package, since the library's machine can't be stopped
// and counts no text. README.md has the language.
package condition

// Limits.
const (
	MaxSource = 4 << 10 // bytes of a source
	MaxNodes  = 1000    // nodes of its tree
	// MaxNesting is how deep brackets may be nested, and how many operators
	// there may be that nest what comes after them: the parser calls itself for each.
	MaxNesting = 64
	// MaxSteps is the work of one evaluation beyond that of going through the tree
	// once: a step is a node that a loop goes through again, an element that is
	// compared or made, or 16 bytes of text that are.
	MaxSteps = 100_000
	// MaxPattern is how many instructions the regular expressions of a source
	// may have together.
	MaxPattern = 2000

	textStep = 16 // bytes of text that are a step
)
