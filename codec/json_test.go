package codec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var ones = strings.Repeat("11", 32)

func typeOf(t *testing.T, name string) Type {
	typ, ok := TypeByName(name)
	require.True(t, ok, name)
	return typ
}

func TestJSONRefusalsNameTheField(t *testing.T) {
	for _, c := range []struct{ typ, text, field, reason string }{
		{"GroupMemberRole", `{"role":"owner"}`, "role", `"owner" is none of admin, member, read_only`},
		{"GroupMemberRole", `{"role":1}`, "role", "a number instead of a string"},
		{"GroupMemberRole", `{}`, "role", "missing"},
		{"GroupMemberRole", `{"role":"admin","x":1}`, "x", "unknown field (known: role)"},
		{"GroupMemberRole", `{"role":"admin","role":"admin"}`, "", "role: given twice"},
		{"GroupMemberRole", `{"Role":"admin"}`, "role", "missing"},
		{"GroupMemberRole", `["admin"]`, "", "a list instead of an object"},
		{"GroupMemberRole", ``, "", "no JSON"},
		{"GroupMemberRole", `{"role":"admin"} {}`, "", "something follows the JSON object"},
		{"GroupMemberRole", "{\"role\":\"\xff\"}", "", "JSON is not valid UTF-8"},
		{"GroupContextIndex", `{"x":{}}`, "x", "unknown field"},
		{"ContextGroupRef", `{"group_id":"11"}`, "group_id", "2 hex digits instead of 64"},
		{"ContextGroupRef", `{"group_id":"` + strings.Repeat("AA", 32) + `"}`, "group_id", "character 1 is not a lower-case hex digit"},
		{"GroupOpLog", `{"op":"abc"}`, "op", "an odd number of hex digits"},
		{"GroupOpLog", `{"op":null}`, "op", "null instead of a string"},
		{"GroupOpHeadValue", `{"sequence":"1","dag_heads":["` + ones + `","22"]}`, "dag_heads[1]", "2 hex digits instead of 64"},
		{"GroupOpHeadValue", `{"sequence":"1","dag_heads":{}}`, "dag_heads", "an object instead of a list"},
		{"GroupLocalGovNonce", `{"nonce":"18446744073709551616"}`, "nonce", "not a whole number from 0 to 18446744073709551615"},
		{"GroupLocalGovNonce", `{"nonce":1.5}`, "nonce", "not a whole number"},
		{"GroupLocalGovNonce", `{"nonce":1e3}`, "nonce", "not a whole number"},
		{"GroupLocalGovNonce", `{"nonce":true}`, "nonce", "true or false instead of a string"},
		{"HybridTimestamp", `{"time":"1","id":"0"}`, "id", "0 is not a node id"},
		{"HybridTimestamp", `{"time":"1","id":"x"}`, "id", "not a whole decimal number"},
		{"GroupContextMemberCap", `{"capability":256}`, "capability", "not a whole number from 0 to 255"},
		{"GroupContextMemberCap", `{"capability":128}`, "capability", "unknown capability bits 0x80 (known: 0x7f)"},
		{"GroupContextMemberCap", `{"capability":"1"}`, "capability", "a string instead of a number"},
		{"GroupAlias", `{"name":""}`, "name", "empty name"},
		{"GroupAlias", `{"name":"a\u0000"}`, "name", "NUL at byte 1 of the name"},
		{"GroupAlias", `{"name":"` + strings.Repeat("a", 51) + `"}`, "name", "name of 51 bytes, more than 50"},
		{"Action", `{}`, "", "needs one of put, delete"},
		{"Action", `{"move":{}}`, "", "needs one of put, delete"},
		{"Action", `{"put":{"key":"00"}}`, "put.value", "missing"},
		{"Action", `{"delete":{"key":"00","value":"00"}}`, "delete.value", "unknown field (known: key)"},
		{"Action", `{"put":{"key":"","value":""},"delete":{"key":""}}`, "delete", "unknown field"},
		{"GroupKeyEntry", `{"key":"redacted:01234567"}`, "key", "redacted: the secret itself is needed"},
		{"ContextIdentityValue", `{"private_key":null}`, "sender_key", "missing"},
		{"ContextIdentityValue", `{"private_key":"redacted:01234567","sender_key":null}`, "private_key", "redacted: the secret itself is needed"},
		{"ContextMetaValue", `{"application":1}`, "application", "a number instead of an object"},
	} {
		_, err := typeOf(t, c.typ).FromJSON([]byte(c.text))
		require.ErrorIs(t, err, ErrMalformed, c.text)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, c.typ, e.Type)
		require.Equal(t, c.field, e.Field, c.text)
		require.Contains(t, e.Reason, c.reason, c.text)
	}
}

func TestJSONNamesNestedFields(t *testing.T) {
	text := `{"delta_id":"` + ones + `","parents":[],"actions":[{"put":{"key":"","value":""}},{"put":{"key":"0","value":""}}]}`
	_, err := typeOf(t, "ContextDagDeltaValue").FromJSON([]byte(text))
	require.EqualError(t, err, "codec: ContextDagDeltaValue.actions[1].put.key: an odd number of hex digits")
}

func TestJSONTakesNumbersForU64(t *testing.T) {
	for _, text := range []string{`{"time":7,"id":21345817372864405881847059188222722578}`, `{"time":"7","id":"21345817372864405881847059188222722578"}`} {
		b, err := typeOf(t, "HybridTimestamp").FromJSON([]byte(text))
		require.NoError(t, err)
		v, err := HybridTimestamp{}.Decode(b)
		require.NoError(t, err)
		require.Equal(t, "21345817372864405881847059188222722578", v.ID.String())
		require.Equal(t, uint64(7), v.Time)
	}
}

func TestJSONHidesSecretsUnlessAsked(t *testing.T) {
	v := NamespaceIdentityValue{PublicKey: Identity{1}, PrivateKey: Secret{2}, SenderKey: Secret{3}}
	b, err := v.AppendBinary(nil)
	require.NoError(t, err)
	typ := typeOf(t, "NamespaceIdentityValue")

	hidden, err := typ.JSON(b, false)
	require.NoError(t, err)
	require.Equal(t, `{"public_key":"`+v.PublicKey.String()+`","private_key":"`+v.PrivateKey.String()+`","sender_key":"`+v.SenderKey.String()+`"}`, string(hidden))
	_, err = typ.FromJSON(hidden)
	require.ErrorIs(t, err, ErrMalformed)

	shown, err := typ.JSON(b, true)
	require.NoError(t, err)
	require.Contains(t, string(shown), v.PrivateKey.Reveal())
	back, err := typ.FromJSON(shown)
	require.NoError(t, err)
	require.Equal(t, b, back)
}

func TestJSONKeepsTextThatNeedsEscapes(t *testing.T) {
	v := Event{Kind: "<a & \"b\">\n\x00\u2028é", Data: []byte{0}}
	b, err := v.AppendBinary(nil)
	require.NoError(t, err)
	text, err := typeOf(t, "Event").JSON(b, true)
	require.NoError(t, err)
	require.True(t, json.Valid(text))
	require.Contains(t, string(text), "<a &")
	back, err := typeOf(t, "Event").FromJSON(text)
	require.NoError(t, err)
	require.Equal(t, b, back)
}

func TestJSONRefusesDeepNesting(t *testing.T) {
	deep := `{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`
	_, err := typeOf(t, "GroupContextIndex").FromJSON([]byte(deep))
	require.ErrorContains(t, err, "nested deeper than 16")
}

func TestFieldsOfATypeAreThoseOfItsJSON(t *testing.T) {
	v := GroupUpgradeValue{Migration: Some("m")}
	b, err := v.AppendBinary(nil)
	require.NoError(t, err)
	text, err := typeOf(t, "GroupUpgradeValue").JSON(b, true)
	require.NoError(t, err)
	at := 0
	for _, f := range typeOf(t, "GroupUpgradeValue").Fields {
		i := strings.Index(string(text)[at:], `"`+f.Name+`":`)
		require.GreaterOrEqual(t, i, 0, f.Name)
		at += i
	}
	require.Equal(t, []Field{
		{"put", "variant 0"}, {"put.key", "Vec<u8>"}, {"put.value", "Vec<u8>"},
		{"delete", "variant 1"}, {"delete.key", "Vec<u8>"},
	}, typeOf(t, "Action").Fields)
}
