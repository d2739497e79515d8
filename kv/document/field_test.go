package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var paths = rapid.SliceOfN(text, 1, 3)

func lookup(v any, p Path) (any, bool) {
	for _, name := range p {
		object, _ := v.(map[string]any)
		var ok bool
		if v, ok = object[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

func TestFieldsAreFoundByTheirPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, p := value(3).Draw(t, "doc"), Path(paths.Draw(t, "path"))
		got := Field(encoded(t, doc), p)
		if want, ok := lookup(doc, p); ok {
			require.Equal(t, string(encoded(t, want)), string(got))
		} else {
			require.Nil(t, got)
		}
	})
	doc := encoded(t, map[string]any{"a": map[string]any{"b": nil, "c.d": 1}})
	require.Equal(t, "null", string(Field(doc, ParsePath("a.b"))))
	require.Nil(t, Field(doc, ParsePath("a.c.d")))
	require.Equal(t, "a.b", ParsePath("a.b").String())
}

// What names begin with, where it decides in which order they stand, how they stand and
// where the search for one may end, does not keep one from being found.
func TestFieldsOfAllNamesAreFound(t *testing.T) {
	names := []string{"", "\x00", "\t", "!", "\"", "\"a", "#", "A", "\\", "\\a", "]", "a", "aa", "ab", "b", "~", "\x7f", "é", "\ue000", "\uffff", "😀", "😀a"}
	for left := range len(names) + 1 {
		object := map[string]any{}
		for i, name := range names {
			if i != left {
				object[name] = float64(i)
			}
		}
		doc, err := Canonical(encoded(t, object))
		require.NoError(t, err)
		for i, name := range names {
			if i == left {
				require.Nil(t, Field(doc, Path{name}), "%q", name)
			} else {
				require.Equal(t, strconv.Itoa(i), string(Field(doc, Path{name})), "%q", name)
			}
		}
	}
}

func TestAFieldThatIsSetIsThereAndTheOthersStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, p, v := value(3).Draw(t, "doc"), Path(paths.Draw(t, "path")), value(1).Draw(t, "value")
		got := With(encoded(t, doc), p, encoded(t, v))
		again, err := Canonical(got)
		require.NoError(t, err)
		require.Equal(t, string(again), string(got))
		require.Equal(t, string(encoded(t, v)), string(Field(got, p)))
		before, _ := doc.(map[string]any)
		for name := range before {
			if name != p[0] {
				require.Equal(t, string(encoded(t, before[name])), string(Field(got, Path{name})))
			}
		}
	})
}

func TestOfTwoObjectsTheUpperHasTheSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOfN(text, value(1), 0, 5)
		base, top := object.Draw(t, "base"), object.Draw(t, "top")
		want := maps.Clone(base)
		maps.Copy(want, top)
		require.Equal(t, string(encoded(t, want)), string(Over(encoded(t, base), encoded(t, top))))
	})
}

func TestEachValueOfAPathIsChanged(t *testing.T) {
	doc := json.RawMessage(`{"a":[{"b":1,"c":2},{"b":3},7,{}],"d":{"b":1}}`)
	n := 0
	number := func(v json.RawMessage) (json.RawMessage, error) {
		n++
		return strconv.AppendInt(nil, int64(n*10), 10), nil
	}
	got, err := Each(doc, Path{"a", "*", "b"}, number)
	require.NoError(t, err)
	require.Equal(t, `{"a":[{"b":10,"c":2},{"b":20},7,{}],"d":{"b":1}}`, string(got))
	for _, nowhere := range []Path{{"a", "b"}, {"d", "*"}, {"x", "*", "b"}, {"d", "b", "c"}} {
		got, err = Each(doc, nowhere, number)
		require.NoError(t, err)
		require.True(t, bytes.Equal(doc, got), nowhere)
	}
	refused := errors.New("no")
	_, err = Each(doc, Path{"a", "*", "c"}, func(json.RawMessage) (json.RawMessage, error) { return nil, refused })
	require.ErrorIs(t, err, refused)
}

func TestTextsAndKinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(text, rapid.String()).Draw(t, "text")
		got, ok := Text(FromText(s))
		require.True(t, ok)
		require.Equal(t, s, got)
	})
	for v, kind := range map[string]byte{`{}`: '{', `[]`: '[', `"a"`: '"', `true`: 't', `false`: 'f', `null`: 'n', `-1`: '0', `7`: '0', ``: 0} {
		require.Equal(t, kind, Kind(json.RawMessage(v)), v)
		if _, ok := Text(json.RawMessage(v)); kind != '"' {
			require.False(t, ok)
		}
	}
}

func TestDecodedValuesAreThoseOfEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := encoded(t, value(3).Draw(t, "value"))
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		var want any
		require.NoError(t, decoder.Decode(&want))
		require.Equal(t, want, Decode(raw))
	})
}
