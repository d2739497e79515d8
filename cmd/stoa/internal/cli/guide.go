package cli

import (
	"fmt"
	"strings"
	"unicode"
)

// Guide tells a person what comes next, a line for each step.
func (p *Process) Guide(steps ...string) {
	if p.JSON {
		return
	}
	for _, step := range steps {
		fmt.Fprintln(p.Stderr, step)
	}
}

// Quoted returns a word that a shell reads as text.
func Quoted(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("/._-+@%,:", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
