package redisdump

import (
	"errors"
	"strconv"
	"strings"
)

// Words returns the words of a command, as redis-cli reads them: apart by spaces, but for
// what is in quotes. In double quotes \n, \r, \t, \b, \a, \\, \" and \xHH stand for a byte,
// in single ones \' does; a quote ends a word.
func Words(line string) ([]string, error) {
	var words []string
	for {
		if line = strings.TrimLeft(line, " \t\r"); line == "" {
			return words, nil
		}
		var word strings.Builder
		for line != "" && !strings.ContainsRune(" \t\r", rune(line[0])) {
			quote := line[0]
			if quote != '"' && quote != '\'' {
				word.WriteByte(quote)
				line = line[1:]
				continue
			}
			rest, err := quoted(&word, line[1:], quote)
			if err != nil {
				return nil, err
			}
			if line = rest; line != "" && !strings.ContainsRune(" \t\r", rune(line[0])) {
				return nil, errors.New("a space has to follow a closing quote")
			}
		}
		words = append(words, word.String())
	}
}

// quoted writes what is up to the closing quote, and returns what is behind that.
func quoted(word *strings.Builder, line string, quote byte) (rest string, err error) {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == quote:
			return line[i+1:], nil
		case c == '\\' && i+1 < len(line) && (quote == '"' || line[i+1] == '\''):
			i++
			if line[i] == 'x' && i+2 < len(line) {
				if b, err := strconv.ParseUint(line[i+1:i+3], 16, 8); err == nil {
					word.WriteByte(byte(b))
					i += 2
					continue
				}
			}
			if at := strings.IndexByte(`nrtba`, line[i]); at >= 0 && quote == '"' {
				word.WriteByte("\n\r\t\b\a"[at])
				continue
			}
			word.WriteByte(line[i])
		default:
			word.WriteByte(c)
		}
	}
	return "", errors.New("a quote is not closed")
}
