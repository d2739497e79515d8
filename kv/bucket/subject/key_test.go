package subject

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv"
)

// at is which byte of a text is wrong, as an error says; -1: none.
func at(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.At
	}
	return -1
}

func TestT50TheGrammarOfKeys(t *testing.T) {
	for _, key := range []string{"a", "a/b", "a=b", "-", "/", "_", "=", "github.12345.abc123", "graph.transcription.01ARZ3NDEK", "A.b.9",
		strings.Repeat("a", MaxToken), strings.Repeat("abc.", MaxKey/4-1) + "abcd"} {
		require.NoError(t, Check(key), key)
	}
	for key, byte := range map[string]int{
		"": 0, ".a": 0, ".": 0, "a.": 1, "a.b.": 3, "a..b": 2, "..": 0, "a b": 1, "a*": 1, "a>": 1, "*": 0, ">": 0, "a.*": 2, "ü": 0, "$x": 0, "a:b": 1,
		"a\n": 1, "a.b\x00": 3, "a.bü": 3, "a\xff": 1, "a,b": 1, "a@b": 1, "a~": 1, "a`b": 1, "a[": 1, "a{": 1, "a+b": 1,
		strings.Repeat("a", MaxToken+1): MaxToken, "a." + strings.Repeat("a", MaxToken+1): MaxToken + 2,
		strings.Repeat("abc.", MaxKey/4) + "a": MaxKey,
	} {
		err := Check(key)
		require.ErrorIs(t, err, ErrKey, key)
		require.NotErrorIs(t, err, ErrFilter)
		require.Equal(t, byte, at(err), "%q: %s", key, err)
	}
	require.EqualError(t, Check(""), `subject: key: byte 0: a key has one token at least, and this one is empty`)
	require.EqualError(t, Check("a:b"), `subject: key: byte 1: a key has no ':': it has letters of ASCII, digits, - / _ = and dots between tokens; escape other text`)
	require.EqualError(t, Check("a\xff"), `subject: key: byte 1: a key has no byte 0xff: it has letters of ASCII, digits, - / _ = and dots between tokens; escape other text`)
	require.EqualError(t, Check("a\uFFFD"), "subject: key: byte 1: a key has no '\uFFFD': it has letters of ASCII, digits, - / _ = and dots between tokens; escape other text")
	require.NotErrorIs(t, Check("a:b"), Check("a;b"), "one is not the other")
	require.NotErrorIs(t, Check("a:b"), io.EOF)
	require.EqualError(t, Check("aü"), `subject: key: byte 1: a key has no 'ü': it has letters of ASCII, digits, - / _ = and dots between tokens; escape other text`)
}

func TestT50EveryByteIsInTheGrammarOrNot(t *testing.T) {
	grammar := regexp.MustCompile(`^[-/_=.a-zA-Z0-9]+$`)
	is := func(key string) bool {
		return grammar.MatchString(key) && !strings.HasPrefix(key, ".") && !strings.HasSuffix(key, ".") && !strings.Contains(key, "..")
	}
	for b := range 256 {
		for _, key := range []string{string([]byte{byte(b)}), string([]byte{'a', byte(b), 'a'})} {
			require.Equal(t, is(key), Check(key) == nil, "%q", key)
		}
	}
	enginetest.Check(t, 20_000, func(t *rapid.T) {
		key := rapid.StringMatching(`[a.=*> ü]{0,6}`).Draw(t, "key")
		require.Equal(t, is(key), Check(key) == nil, "%q", key)
	})
}

// What a store keeps keys and tokens under finds room beside them.
func TestKeysFitIntoAStore(t *testing.T) {
	require.Less(t, MaxKey, kv.MaxKey)
	require.Less(t, MaxToken, kv.MaxTerm)
}
