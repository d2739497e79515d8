package condition

import (
	"strings"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"
)

// keywords are the operators that may be written in upper case.
var keywords = map[string]string{"NOT": "not", "IN": "in", "AND": "and", "OR": "or"}

// negated are the operators that a not before them belongs to.
var negated = map[string]bool{"in": true, "IN": true, "contains": true, "startsWith": true, "endsWith": true, "matches": true}

// lower returns the source with its keywords in lower case: every character stays in its
// place. It refuses what would take the parser deep. What stands in quotes or
// in comments, or behind a dot, is no keyword.
func lower(source string) (string, error) {
	tokens, err := lexer.Lex(file.NewSource(source))
	if err != nil {
		return "", notParsed(err)
	}
	runes := []rune(source)
	depth, operators := 0, 0
	before := lexer.Token{Kind: lexer.Operator}
	for i, t := range tokens {
		word := t.Value
		if lowered := keywords[word]; lowered != "" && t.Kind == lexer.Identifier && !names(before, t) {
			copy(runes[t.From:], []rune(lowered))
			t.Kind, word = lexer.Operator, lowered
		}
		switch {
		case t.Kind == lexer.Bracket && (word == "(" || word == "[" || word == "{"):
			depth++
		case t.Kind == lexer.Bracket:
			depth--
		case t.Kind == lexer.Operator && nests(word, before, tokens[i+1:]):
			operators++
		}
		if depth > MaxNesting || operators > MaxNesting {
			return "", faultAt(t.From, "nested too deep: at most %d brackets in each other, and %d of not, !, -x, +x, ? :, let and if", MaxNesting, MaxNesting)
		}
		before = t
	}
	return string(runes), nil
}

// names tells whether a word is the name of what the token before it asks for: of a field
// behind a dot, or of a pointer behind its #.
func names(before, word lexer.Token) bool {
	return before.Is(lexer.Operator, ".") || before.Is(lexer.Operator, "?.") || before.Kind == lexer.Operator && strings.HasPrefix(before.Value, "#") && before.To == word.From
}

// nests tells whether the parser calls itself for what comes after the operator, and for
// each such operator in it once more.
func nests(operator string, before lexer.Token, after []lexer.Token) bool {
	switch operator {
	case "not":
		return !negated[after[0].Value] // the last token is the end
	case "+", "-":
		return before.Kind == lexer.Operator // behind a bracket it is one deep
	case "!", "?", "?:", "**", "^", "let", "if":
		return true
	}
	return false
}
