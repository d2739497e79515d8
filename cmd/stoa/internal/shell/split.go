package shell

import (
	"errors"
	"strings"
)

// split returns the words of a line, as POSIX shells quote them: ' keeps all up to the next ', " all
// but \" and \\ up to the next ", and \ the character that follows. # at the beginning of a word
// begins a comment.
func split(line string) ([]string, error) {
	words, _, err := scan(line)
	return words, err
}

// scan is split, and says where the last word begins: at the end of the line if that is behind all.
func scan(line string) (words []string, start int, err error) {
	var word strings.Builder
	begun, quote := false, rune(0)
	escaped := false
	start = len(line)
	begin := func(at int) {
		if !begun {
			begun, start = true, at
		}
	}
	for at, r := range line {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			begin(at)
			escaped = true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			begin(at)
			quote = r
		case r == ' ' || r == '\t':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun, start = false, len(line)
		case r == '#' && !begun:
			return words, len(line), nil
		default:
			begin(at)
			word.WriteRune(r)
		}
	}
	if begun {
		words = append(words, word.String())
	}
	switch {
	case quote != 0:
		return words, start, errors.New("a quote has no end")
	case escaped:
		return words, start, errors.New(`nothing follows the \`)
	}
	return words, start, nil
}
