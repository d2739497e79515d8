package document

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// readAll reads a text, which may be none of JSON, in every way that there is.
func readAll(text []byte) {
	Decode(text)
	for range Names(text) {
	}
	for name, value := range Properties(text) {
		Text(name)
		Decode(value)
	}
	for element := range Elements(text) {
		Kind(element)
	}
	for _, path := range []Path{{"a"}, {"a", "b"}, {"a", "*"}, {"a", "*", "b"}, {"*"}} {
		Field(text, path)
		With(text, path, json.RawMessage("1"))
		_, _ = Each(text, path, func(value json.RawMessage) (json.RawMessage, error) {
			Text(value)
			return json.RawMessage("2"), nil
		})
	}
	for _, patch := range []string{`{"a":null}`, `{"a":{"b":1,"z":null}}`, `{"":1,"b":{}}`, `[]`} {
		Merge(text, json.RawMessage(patch))
		Over(text, json.RawMessage(patch))
		Merge(json.RawMessage(patch), text)
	}
}

// What damage has left of a document is read as far as it goes: nothing panics, and
// everything ends.
func TestDamagedDocumentsAreReadAsFarAsTheyGo(t *testing.T) {
	whole := []byte(`{"a":[{"b":"x\\\"y"},[1,-2.5,true],{}],"b":{"c":"é","d":null},"e":"\\"}`)
	want, err := Canonical(whole)
	require.NoError(t, err)
	require.Equal(t, string(want), string(whole))
	for at := range whole {
		readAll(whole[:at])
		readAll(whole[at:])
		for b := range 256 {
			damaged := append([]byte{}, whole...)
			damaged[at] = byte(b)
			readAll(damaged)
		}
	}
	for _, text := range []string{`"`, `"\`, `{"`, `{"a"`, `{"a":`, `{"a":"`, `[`, `[,`, `[}`, `[,,]`, `{,}`, `{"a":}`, `{"a"}`, `{"a":1`, `{"a":]`, "{\"\xff\":1}", `-`} {
		readAll([]byte(text))
	}
	require.Nil(t, Decode(json.RawMessage("1x")), "no number")
}

// FuzzDamaged reads what is no JSON in every way that there is.
func FuzzDamaged(f *testing.F) {
	f.Add([]byte(`{"a":[{"b":"x"},1],"b":{"c":null}}`))
	f.Fuzz(func(_ *testing.T, text []byte) { readAll(text) })
}
