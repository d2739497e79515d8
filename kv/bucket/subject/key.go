package subject

import "strings"

// isHarmless reports whether a byte stands for itself in a token, escaped or not.
func isHarmless(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '/' || b == '_'
}

// isOfToken reports whether a token may have a byte.
func isOfToken(b byte) bool { return isHarmless(b) || b == escape }

// Check returns ErrKey, which says what is wrong and at which byte, unless a text is a key:
// tokens of letters, digits and - / _ = with a dot between them, of at most MaxToken bytes each
// and MaxKey bytes together. It is what ^[-/_=.a-zA-Z0-9]+$ matches, without a dot at an end
// or beside another.
func Check(key string) error {
	return eachToken(KindKey, key, func(at int, token string) error {
		for i := range len(token) {
			if !isOfToken(token[i]) {
				return refuse(KindKey, at+i, "a key has no %s: it has letters of ASCII, digits, - / _ = and dots between tokens; escape other text", character(token, i))
			}
		}
		return nil
	})
}

// eachToken calls check for each token of a key or a filter with its place, after it has
// looked at lengths and dots. The first error ends it.
func eachToken(kind Kind, text string, check func(at int, token string) error) error {
	if len(text) > MaxKey {
		return refuse(kind, MaxKey, "a %s has at most %d bytes, this one has %d", kind, MaxKey, len(text))
	}
	if text == "" {
		return refuse(kind, 0, "a %s has one token at least, and this one is empty", kind)
	}
	for at := 0; at <= len(text); {
		token, _, _ := strings.Cut(text[at:], ".")
		end := at + len(token)
		switch {
		case token == "" && at == 0:
			return refuse(kind, 0, "a %s does not begin with a dot", kind)
		case at == len(text):
			return refuse(kind, at-1, "a %s does not end with a dot", kind)
		case token == "":
			return refuse(kind, at, "a %s has no two dots beside each other: a token is missing between them", kind)
		case len(token) > MaxToken:
			return refuse(kind, at+MaxToken, "a token has at most %d bytes, this one has %d", MaxToken, len(token))
		}
		if err := check(at, token); err != nil {
			return err
		}
		at = end + 1
	}
	return nil
}
