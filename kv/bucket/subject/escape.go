package subject

import "strings"

const (
	escape = '='
	hexes  = "0123456789ABCDEF"
	// empty is the token of no text: a token has one byte at least.
	empty = "="
)

// Escape returns the token of a text, or of any bytes: different ones of different texts, and the
// same one each time. Letters of ASCII, digits and - / _ stand for themselves; any other
// byte is = and its two hexadecimal digits in upper case, as in quoted-printable; and no text is
// a = alone. So a text that is a token without = is its own token. It has no dot: it is one
// token of a key, at most three times as long as the text.
func Escape(text string) string {
	if text == "" {
		return empty
	}
	n := 0
	for i := range len(text) {
		if !isHarmless(text[i]) {
			n++
		}
	}
	if n == 0 {
		return text
	}
	token := make([]byte, 0, len(text)+2*n)
	for i := range len(text) {
		c := text[i]
		if isHarmless(c) {
			token = append(token, c)
			continue
		}
		token = append(token, escape, hexes[c>>4], hexes[c&15])
	}
	return string(token)
}

// Unescape returns the text whose token [Escape] made. It returns ErrEscaped for what Escape
// makes of no text.
func Unescape(token string) (string, error) {
	switch token {
	case "":
		return "", refuse(KindEscaped, 0, "it is empty, and no token is; that of no text is =")
	case empty:
		return "", nil
	}
	text := make([]byte, 0, len(token))
	for i := 0; i < len(token); i++ {
		c := token[i]
		if isHarmless(c) {
			text = append(text, c)
			continue
		}
		if c != escape {
			return "", refuse(KindEscaped, i, "an escaped token has no %s", character(token, i))
		}
		if len(token)-i < 3 || strings.IndexByte(hexes, token[i+1]) < 0 || strings.IndexByte(hexes, token[i+2]) < 0 {
			return "", refuse(KindEscaped, i, "two hexadecimal digits in upper case follow a =")
		}
		c = byte(strings.IndexByte(hexes, token[i+1])<<4 | strings.IndexByte(hexes, token[i+2]))
		if isHarmless(c) {
			return "", refuse(KindEscaped, i, "it escapes %q, which stands for itself", c)
		}
		text = append(text, c)
		i += 2
	}
	return string(text), nil
}
