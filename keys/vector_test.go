package keys_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

// vectors is the shape of testdata/schema.json, the golden bytes of every key type.
type vectors struct {
	Keys      []vector `json:"keys"`
	Values    []vector `json:"values"`
	BadValues []vector `json:"bad_values"`
	BadKeys   []vector `json:"bad_keys"`
}

type vector struct {
	Column string          `json:"column"`
	Type   string          `json:"type"`
	Fields json.RawMessage `json:"fields"`
	Hex    string          `json:"hex"`
	Bytes  int             `json:"bytes"`
	Why    string          `json:"why"`
}

func loadVectors(t testing.TB) vectors {
	src, err := os.ReadFile("testdata/schema.json")
	require.NoError(t, err)
	var v vectors
	require.NoError(t, json.Unmarshal(src, &v))
	return v
}

func (v vector) bytes(t testing.TB) []byte {
	b, err := hex.DecodeString(v.Hex)
	require.NoError(t, err)
	return b
}

func (v vector) compact(t testing.TB) string {
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, v.Fields))
	return b.String()
}

func (v vector) column(t testing.TB) column.Column {
	col, ok := column.Parse(v.Column)
	require.True(t, ok, v.Column)
	return col
}

func TestKeysMatchGoldenBytes(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range loadVectors(t).Keys {
		seen[v.Type] = true
		key := v.bytes(t)
		require.Len(t, key, v.Bytes)

		info, err := keys.Identify(v.column(t), key)
		require.NoError(t, err, v.Type)
		require.Equal(t, v.Type, info.Name)
		require.NoError(t, keys.CheckKey(info.Column, key))

		text, err := info.KeyJSON(key)
		require.NoError(t, err)
		require.Equal(t, v.compact(t), string(text))

		back, err := info.KeyFromJSON(v.Fields)
		require.NoError(t, err)
		require.Equal(t, key, back)
	}
	for info := range keys.Schema() {
		require.True(t, seen[info.Name], "no golden key of %s", info.Name)
	}
}

func TestValuesMatchGoldenBytes(t *testing.T) {
	seen := map[string]bool{"ContextPrivateState": true, "Generic": true, "UpgradePolicy": true, "GroupUpgradeStatus": true}
	for _, op := range []string{"GroupOp", "SignedGroupOp", "RootOp", "NamespaceOp", "SignedNamespaceOp", "StoredNamespaceOp",
		"OpaqueSkeleton", "RotationSkeleton", "Invitation", "KeyEnvelope", "PreviousKey", "KeyRotation"} {
		seen[op] = true // packages group and namespace have the vectors
	}
	for _, v := range loadVectors(t).Values {
		seen[v.Type] = true
		value := v.bytes(t)
		require.Len(t, value, v.Bytes)

		typ, ok := codec.TypeByName(v.Type)
		require.True(t, ok, v.Type)
		require.NoError(t, typ.Check(value), v.Type)

		text, err := typ.JSON(value, true)
		require.NoError(t, err)
		require.Equal(t, v.compact(t), string(text), v.Type)

		back, err := typ.FromJSON(v.Fields)
		require.NoError(t, err)
		require.Equal(t, value, append([]byte{}, back...), v.Type)
	}
	for _, name := range []string{"CarriedKey", "NewKey", "SealedSkeleton", "StatedMember", "DeltaEnvelope"} { // namespace/testdata and namespace/envelope have them
		seen[name] = true
	}
	for typ := range codec.Types() {
		require.True(t, seen[typ.Name], "no golden value of %s", typ.Name)
	}
}

func TestBadValuesAreRefusedWithPlaceAndReason(t *testing.T) {
	for _, v := range loadVectors(t).BadValues {
		typ, ok := codec.TypeByName(v.Type)
		require.True(t, ok, v.Type)
		err := typ.Check(v.bytes(t))
		require.ErrorIs(t, err, codec.ErrMalformed, v.Why)
		var e *codec.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, v.Type, e.Type)
		require.GreaterOrEqual(t, e.Offset, 0, v.Why)
		require.NotEmpty(t, e.Reason)
		_, err = typ.JSON(v.bytes(t), true)
		require.ErrorIs(t, err, codec.ErrMalformed, v.Why)
	}
}

func TestBadKeysAreRefusedWithPlaceAndReason(t *testing.T) {
	for _, v := range loadVectors(t).BadKeys {
		_, err := keys.Identify(v.column(t), v.bytes(t))
		require.ErrorIs(t, err, keys.ErrLayout, v.Why)
		var e *keys.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, v.column(t), e.Column)
		require.GreaterOrEqual(t, e.Offset, 0, v.Why)
		require.NotEmpty(t, e.Reason)
		t.Log(err)
		require.ErrorIs(t, keys.CheckKey(v.column(t), v.bytes(t)), keys.ErrLayout)
		require.ErrorIs(t, keys.Check(v.column(t), v.bytes(t), nil), keys.ErrLayout)
	}
}
