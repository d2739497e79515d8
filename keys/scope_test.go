package keys

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
)

func TestScopesHaveOneText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScope(t)
		text, err := json.Marshal(s)
		require.NoError(t, err)
		var back Scope
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, s, back)
	})
}

func TestKVScopesKeepTheirParts(t *testing.T) {
	s := NewKVScope(7, 0x01020304, 0x05060708090A0B0C)
	require.Equal(t, Scope{0, 7, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, s)
	require.True(t, s.IsKV())
	require.Equal(t, uint8(7), s.System())
	require.Equal(t, uint32(0x01020304), s.Space())
	require.Equal(t, uint64(0x05060708090A0B0C), s.Tenant())
	require.Equal(t, "000700000102030405060708090a0b0c", s.String())
}

func TestTextsThatAreNoScope(t *testing.T) {
	for _, text := range []string{"", "a\x00", "\x00", "é", "tab\t", "seventeen-letters", strings.Repeat("1", 32),
		"00070001" + strings.Repeat("0", 24), strings.Repeat("z", 32), "00" + strings.Repeat("A", 30)} {
		var s Scope
		require.ErrorIs(t, s.UnmarshalText([]byte(text)), ErrLayout, "%q", text)
	}
}

func TestANameInTheProgramIsAScope(t *testing.T) {
	s, err := NewScope("nobody")
	require.NoError(t, err)
	require.Equal(t, s, MustScope("nobody"))
	require.Panics(t, func() { MustScope("") })
}

func genericKey(t *testing.T, scope string, fragment []byte) []byte {
	s, err := NewScope(scope)
	require.NoError(t, err)
	b, err := Generic{Scope: s, Fragment: NewBytes(fragment)}.AppendBinary(nil)
	require.NoError(t, err)
	return b
}

func TestDeclaredScopesAreDistinctNames(t *testing.T) {
	seen := map[string]bool{}
	for s := range Scopes() {
		require.False(t, seen[s.Name], s.Name)
		seen[s.Name] = true
		named, err := NewScope(s.Name)
		require.NoError(t, err)
		require.Equal(t, named, s.Scope())
		require.NotEmpty(t, s.Holds)
		require.NotEmpty(t, s.Fragment)
		require.NotEmpty(t, s.Value)
	}
	for _, name := range []string{"stoa.test", "sync-in-progres", "ssl_certs:server", "sse-sessions"} {
		require.True(t, seen[name], name)
	}
}

func TestUndeclaredScopesShowButAreNotWritten(t *testing.T) {
	key := genericKey(t, "nobody", []byte{1})
	info, err := Identify(column.Generic, key)
	require.NoError(t, err)
	text, err := info.KeyJSON(key)
	require.NoError(t, err)
	require.JSONEq(t, `{"scope":"nobody","fragment":"01"}`, string(text))

	for _, err := range []error{CheckKey(column.Generic, key), Check(column.Generic, key, nil)} {
		require.EqualError(t, err, `keys: Generic.scope in Generic at byte 0: "nobody" is not declared `+
			`(declared: stoa.test, sync-in-progres, ssl_certs:server, sse-sessions, dag-clock, dag-uptime, dag-trie, dag-tail, dag-order, dag-seq, `+
			`dag-head, dag-gone, dag-late, dag-version, dag-pending, dag-refused, dag-context, dag-cursor, dag-seeded, dag-seeding, dag-aside, dag-staging, dag-signed, dag-envelope, dag-cut, dag-held, gov-op, gov-pending, gov-reissued, gov-home, gov-rules, gov-followed, gov-restored, gov-peer)`)
	}
}

func TestScopesCheckTheirFragments(t *testing.T) {
	zeros, ones := make([]byte, 32), append(make([]byte, 31), 1)
	require.NoError(t, CheckKey(column.Generic, genericKey(t, "stoa.test", nil)))
	require.NoError(t, CheckKey(column.Generic, genericKey(t, "stoa.test", make([]byte, MaxVariable))))
	require.NoError(t, CheckKey(column.Generic, genericKey(t, "sync-in-progres", ones)))
	require.NoError(t, CheckKey(column.Generic, genericKey(t, "sse-sessions", ones)))
	require.NoError(t, CheckKey(column.Generic, genericKey(t, "ssl_certs:server", zeros)))
	kv := NewKVScope(1, 2, 3)
	require.NoError(t, CheckKey(column.Generic, kv[:]))
	require.NoError(t, Check(column.Generic, kv[:], []byte("anything")))

	for scope, fragment := range map[string][]byte{
		"sync-in-progres": ones[:31], "sse-sessions": nil, "ssl_certs:server": ones,
	} {
		err := Check(column.Generic, genericKey(t, scope, fragment), nil)
		require.ErrorIs(t, err, ErrLayout)
		require.ErrorContains(t, err, "keys: Generic.fragment in Generic at byte 16: in scope "+scope)
	}
}
