package document

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Vectors of RFC 8785: its sections 3.2.2 to 3.2.4 and its appendix B.
func TestCanonicalForm(t *testing.T) {
	for in, want := range map[string]string{
		`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`: `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{"\u20ac":"Euro","\r":"CR","\ufb33":"Hebrew","1":"One","\ud83d\ude00":"Smile","\u0080":"Control","\u00f6":"o"}`:                                                      "{\"\\r\":\"CR\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"o\",\"€\":\"Euro\",\"😀\":\"Smile\",\"\ufb33\":\"Hebrew\"}",
		"-0": "0", "-0.0": "0", "5e-324": "5e-324", "-1.7976931348623157e308": "-1.7976931348623157e+308", "1e21": "1e+21", "1e20": "100000000000000000000",
		"295147905179352830000": "295147905179352830000", "9.5367431640625e-7": "9.5367431640625e-7", "0.000001": "0.000001", "1.0": "1", " 1\n": "1", "9007199254740992": "9007199254740992", "9223372036854775807.0": "9223372036854776000",
	} {
		got, err := Canonical([]byte(in))
		require.NoError(t, err, in)
		require.Equal(t, want, string(got))
	}
	for _, bad := range []string{"", " ", "nul", "01", "1.", ".5", "1e", "+1", "-", "1 2", "[1,]", "[1", "{", `{"a"}`, `{"a":1,}`, `{a:1}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`,
		`"`, `"\x"`, `"\u12"`, `"\u1`, `"\`, `"\ud800"`, `"\udc00\ud800"`, "\"\x01\"", "\"\xff\"", "1e999", "9007199254740993", "-9007199254740993", "NaN", "Infinity", "'a'"} {
		_, err := Canonical(slices.Clip([]byte(bad)))
		var syntax *SyntaxError
		require.ErrorAs(t, err, &syntax, "%q", bad)
	}
}

// Canonical agrees with encoding/json on what a value is, and is stable.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":[1,2.5e7,"x\u0000"],"a":null}`, `"😀"`, `-0`, `[[[]]]`, `1e400`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := Canonical(in)
		if err != nil {
			return
		}
		var before, after any
		require.NoError(t, json.Unmarshal(in, &before))
		require.NoError(t, json.Unmarshal(out, &after))
		require.True(t, reflect.DeepEqual(before, after), "%s became %s", in, out) // -0 is 0
		again, err := Canonical(out)
		require.NoError(t, err)
		require.Equal(t, string(out), string(again))
	})
}

func TestNestingIsBounded(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat(`{"a":[`, n) + strings.Repeat("]}", n)) }
	_, err := Canonical(nested(MaxDepth / 2))
	require.NoError(t, err)
	for _, n := range []int{MaxDepth/2 + 1, 100_000} {
		_, err = Canonical(nested(n))
		require.ErrorContains(t, err, "nested deeper than 128")
	}
}

// value draws JSON values of few names, so that objects meet, some of which are ordered
// otherwise as UTF-8 than as UTF-16.
func value(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }), rapid.Map(text, func(s string) any { return s }))
	if depth == 0 {
		return leaf
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) })
	return rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(inner, 0, 3), func(s []any) any { return s }),
		rapid.Map(rapid.MapOfN(text, inner, 0, 5), func(m map[string]any) any { return m }))
}

var text = rapid.SampledFrom([]string{"", "a", "b", "a.b", "ab", `q"`, `\`, "\n", "é", "\ue000", "\uffff", "😀", "😀a", "😁", " ", "\x00", "*"})

func encoded(t require.TestingT, v any) json.RawMessage {
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	out, err := Canonical(raw)
	require.NoError(t, err)
	return out
}

// Names are in the order of their UTF-16, whatever order they came in, and each once.
func TestNamesAreOrderedAsUTF16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.OneOf(text, rapid.String()), func(s string) string { return s }).Draw(t, "names")
		var src []byte
		for _, name := range names {
			quoted, err := json.Marshal(name)
			require.NoError(t, err)
			src = append(append(append(src, ','), quoted...), ":1"...)
		}
		out, err := Canonical([]byte("{" + strings.TrimPrefix(string(src), ",") + "}"))
		require.NoError(t, err)
		want := append([]string(nil), names...)
		slices.SortFunc(want, func(a, b string) int { return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) })
		require.Equal(t, want, append([]string(nil), slices.Collect(Names(out))...))
		if len(names) > 0 {
			_, err = Canonical([]byte("{" + string(src[1:]) + string(src) + "}"))
			require.ErrorContains(t, err, "a name twice")
		}
	})
}

// An integer that is short enough to be exact is left as it stands, which is what it is as
// a double.
func TestIntegersAreThoseOfTheirDoubles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.Int64Range(-MaxSafe, MaxSafe), rapid.Int64Range(-20, 20), rapid.Map(rapid.Int64Range(0, 15), func(zeros int64) int64 {
			return int64(math.Pow10(int(zeros)))
		})).Draw(t, "n")
		out, err := Canonical(strconv.AppendInt(nil, n, 10))
		require.NoError(t, err)
		require.Equal(t, string(appendNumber(nil, float64(n))), string(out))
	})
	for _, zero := range []string{"0", "-0"} {
		out, err := Canonical([]byte(zero))
		require.NoError(t, err)
		require.Equal(t, "0", string(out))
	}
	for _, malformed := range []string{"01", "-01", "-", "1.", "+1"} {
		_, err := Canonical([]byte(malformed))
		require.Error(t, err, malformed)
	}
}

func TestASyntaxErrorSaysWhere(t *testing.T) {
	for text, at := range map[string]int{`{"a":x}`: 5, `["abc`: 1, `[1,2`: 4, `[1] 2`: 4, `{"a":"\ud800"}`: 12} {
		_, err := Canonical([]byte(text))
		var syntax *SyntaxError
		require.ErrorAs(t, err, &syntax)
		require.Equal(t, at, syntax.At, text)
	}
}
