package subject

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
)

func TestT51EscapedTokens(t *testing.T) {
	for text, token := range map[string]string{
		"": "=", "=": "=3D", "_": "_", "$x": "=24x", "_$x": "_=24x", "~41~": "=7E41=7E", "a:b": "a=3Ab", "\n": "=0A", "a.b": "a=2Eb", "ü": "=C3=BC",
		"=3D": "=3D3D", "*": "=2A", ">": "=3E", " ": "=20", "\x00": "=00", "\xff": "=FF", "abc/DEF-0_9": "abc/DEF-0_9",
	} {
		require.Equal(t, token, Escape(text))
		back, err := Unescape(token)
		require.NoError(t, err, token)
		require.Equal(t, text, back)
		require.NoError(t, Check(token))
	}
	require.Zero(t, testing.AllocsPerRun(10, func() { Escape("abc/DEF-0_9-and-so-on-for-more-than-thirty-two") }), "it is its own token")
	for token, byte := range map[string]int{"": 0, "==": 0, "=3d": 0, "a=3": 1, "a=": 1, "=41": 0, "a=2F": 1, "a.b": 1, "a b": 1, "=ü0": 0, "=3D=": 3} {
		_, err := Unescape(token)
		require.ErrorIs(t, err, ErrEscaped, token)
		require.Equal(t, byte, at(err), token)
	}
}

// Any text has a token, different ones have different tokens, and the token is of that text
// alone; what is harmless is its own token.
func TestT51EscapeIsInjective(t *testing.T) {
	random := enginetest.Random(t)
	tokens, n := map[string]string{}, enginetest.Scale(1_000_000)
	for i := range n {
		text := someText(random)
		token := Escape(text)
		require.Equal(t, token, Escape(text))
		back, err := Unescape(token)
		if err != nil || back != text || Check(token) != nil || strings.Contains(token, ".") {
			t.Fatalf("%q is %q, which is %q: %v", text, token, back, err)
		}
		if i < 100_000 { // of which a map has all
			if other, there := tokens[token]; there && other != text {
				t.Fatalf("%q and %q have one token", text, other)
			}
			tokens[token] = text
		}
		if Check(text) == nil && !strings.ContainsAny(text, ".=") && token != text {
			t.Fatalf("%q is harmless, and not its own token", text)
		}
		// And from the other side: what Unescape takes is what Escape makes.
		altered := []byte(token)
		altered[random.IntN(len(altered))] = "=0123456789ABCDEFabz_."[random.IntN(22)]
		if text, err := Unescape(string(altered)); err == nil && Escape(text) != string(altered) {
			t.Fatalf("%q is taken for %q, whose token is another", altered, text)
		}
	}
}

// someText is a short text of characters of all kinds, or bytes that are none.
func someText(random *rand.Rand) string {
	var b []byte
	for range random.IntN(8) {
		switch random.IntN(6) {
		case 0:
			b = append(b, byte(random.IntN(256)))
		case 1:
			b = utf8.AppendRune(b, rune(random.IntN(utf8.MaxRune)))
		case 2:
			b = append(b, "=$_~.:*> \n/-"[random.IntN(12)])
		default:
			b = append(b, "0123456789ABCDEFabcz"[random.IntN(20)])
		}
	}
	return string(b)
}

func TestT52Segments(t *testing.T) {
	for bytes, token := range map[string]string{"": "", "\x00": "AA", "\xff\xff": "__8", "\xfb\xff\xfe": "-__-", "hello": "aGVsbG8"} {
		require.Equal(t, token, Segment([]byte(bytes)))
		back, err := ParseSegment(token)
		require.NoError(t, err)
		require.Equal(t, bytes, string(back))
	}
	for token, byte := range map[string]int{
		"AA==": 2, "AA=": 2, "A+A": 1, "A/A": 1, "A.A": 1, "AA\n": 2, "A A": 1, "ü": 0, // what base64url without padding has not
		"A": 0, "AAAAA": 4, // no whole byte
		"AB": 1, "AAB": 2, "_-_": 2, // bits that stand for nothing
	} {
		_, err := ParseSegment(token)
		require.ErrorIs(t, err, ErrSegment, token)
		require.Equal(t, byte, at(err), token)
	}
	random := enginetest.Random(t)
	for range enginetest.Scale(20_000) {
		bytes := make([]byte, 1+random.IntN(20))
		for i := range bytes {
			bytes[i] = byte(random.IntN(256))
		}
		token := Segment(bytes)
		require.NoError(t, Check(token))
		require.Equal(t, token, Escape(token), "it is harmless")
		back, err := ParseSegment(token)
		require.NoError(t, err)
		require.Equal(t, bytes, back)
		_, err = ParseSegment(base64.URLEncoding.EncodeToString(bytes))
		require.Equal(t, len(bytes)%3 != 0, err != nil, "it is padded")
	}
}
