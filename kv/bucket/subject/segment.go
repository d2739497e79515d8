package subject

import "encoding/base64"

// strict refuses padding, other alphabets, line breaks, and bits that stand for nothing.
var strict = base64.RawURLEncoding.Strict()

// Segment returns the token of some bytes, which is base64url without padding (RFC 4648,
// 5). That of no bytes is empty, which is no token.
func Segment(bytes []byte) string { return strict.EncodeToString(bytes) }

// ParseSegment returns the bytes whose token [Segment] made. It returns ErrSegment for any
// other text: one with padding, with + or /, with bits behind the last byte that are not
// zero.
func ParseSegment(token string) ([]byte, error) {
	for i := range len(token) {
		if c := token[i]; !isHarmless(c) || c == '/' {
			return nil, refuse(KindSegment, i, "base64url has no %s: it has letters, digits, - and _, and here no padding", character(token, i))
		}
	}
	bytes, err := strict.DecodeString(token)
	if err != nil {
		return nil, refuse(KindSegment, max(len(token)-1, 0), "it does not end with a whole byte: no bytes are spelled so")
	}
	return bytes, nil
}
