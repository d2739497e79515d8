package shell

import (
	"errors"
	"strings"
)

// split returns the words of a line, as POSIX shells quote them: ' keeps all up to the next ', " all
// but \" and \\ up to the next ", and \ the character that follows. # at the beginning of a word
// begins a comment.
func split(line string) ([]string, error) {
	words, partial, err := scan(line)
	if err != nil {
		return nil, err
	}
	if partial != nil {
		words = append(words, *partial)
	}
	return words, nil
}

// scan is split, with the word at the end by itself, nil if there is none: behind a space.
func scan(line string) (words []string, partial *string, err error) {
	var word strings.Builder
	begun, quote := false, rune(0)
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			begun, quote = true, r
		case r == ' ' || r == '\t':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		case r == '#' && !begun:
			return words, nil, nil
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if begun {
		last := word.String()
		partial = &last
	}
	switch {
	case quote != 0:
		return words, partial, errors.New("a quote has no end")
	case escaped:
		return words, partial, errors.New(`nothing follows the \`)
	}
	return words, partial, nil
}
