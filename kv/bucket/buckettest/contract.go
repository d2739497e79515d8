package buckettest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/contract"
)

// of is a contract of the service s, with one alias that is a, and its schema.
func of(schema, alias string) []byte {
	return fmt.Appendf(nil, `{"service":"s","schemas":{"E":%s},"resources":{"kv":{"a":%s}}}`, schema, alias)
}

// with is such a contract, whose alias has fields besides those that it must have.
func with(fields string) []byte {
	return of(EntrySchema, `{"purpose":"p","schema":{"schema":"E"}`+fields+`}`)
}

// What is no contract is refused with the place in it, and nothing waits for a decision.
func t2T3T5T6T7ContractsThatAreNone(t *testing.T, h *Host) {
	for text, field := range map[string]string{
		string(of(EntrySchema, `{"purpose":"p"}`)):                                               "/resources/kv/a/schema",
		string(of(EntrySchema, `{"purpose":"p","schema":{"schema":"Other"}}`)):                   "/resources/kv/a/schema/schema",
		string(of(EntrySchema, `{"schema":{"schema":"E"}}`)):                                     "/resources/kv/a/purpose",
		string(of(EntrySchema, `{"purpose":" ","schema":{"schema":"E"}}`)):                       "/resources/kv/a/purpose",
		string(with(`,"history":0`)):                                                             "/resources/kv/a/history",
		string(with(`,"history":65`)):                                                            "/resources/kv/a/history",
		string(with(`,"history":1.5`)):                                                           "/resources/kv/a/history",
		string(with(`,"ttlMs":-1`)):                                                              "/resources/kv/a/ttlMs",
		string(with(`,"maxValueBytes":0`)):                                                       "/resources/kv/a/maxValueBytes",
		string(with(`,"ttl":5`)):                                                                 "/resources/kv/a/ttl",
		string(of(`{"type":"text"}`, `{"purpose":"p","schema":{"schema":"E"}}`)):                 "/schemas/E/type",
		string(of(`{"$ref":"file:///etc/hostname"}`, `{"purpose":"p","schema":{"schema":"E"}}`)): "/schemas/E/$ref",
	} {
		_, err := h.Propose(ctx, []byte(text))
		var e *contract.Error
		require.ErrorAs(t, err, &e, text)
		require.Equal(t, field, e.Field, text)
		_, err = h.Authority(ctx, "s")
		h.Refused(err, bucket.CodeNotFound)
	}
	_, err := h.Propose(ctx, []byte(`{"docs":1,`+string(with(`,"history":64`))[1:]))
	require.NoError(t, err, "what else is at the top is of no concern")
}

func t4T8DefaultsAndDigests(t *testing.T, h *Host) {
	digest := func(text []byte) string {
		a, err := h.Propose(ctx, text)
		require.NoError(t, err)
		return a.Proposed.Digest()
	}
	a, err := h.Propose(ctx, with(""))
	require.NoError(t, err)
	alias := a.Proposed.Alias("a")
	require.Equal(t, contract.Alias{Name: "a", Purpose: "p", Schema: alias.Schema, Required: true, History: 1}, *alias)
	plain := digest(with(""))
	require.Regexp(t, `^[A-Za-z0-9_-]{43}$`, plain)
	require.Equal(t, plain, digest(with(`,"history":1,"required":true`)))
	require.Equal(t, plain, digest(of(EntrySchema, `{"schema":{"schema":"E"},"purpose":"p"}`)))
	require.Equal(t, plain, digest([]byte(`{"displayName":"d","description":"e",`+string(with(""))[1:])))
	for _, text := range [][]byte{with(`,"history":2`), with(`,"required":false`), of(`{"type":"object"}`, `{"purpose":"p","schema":{"schema":"E"}}`)} {
		require.NotEqual(t, plain, digest(text), "%s", text)
	}
}

// What a plan makes of a change is the same whoever asks.
func t21T22T23T24T25T26T27T28T29ClassesOfChanges(t *testing.T, h *Host) {
	const required = `{"purpose":"p","schema":{"schema":"E"}}`
	none := []byte(`{"service":"s"}`)
	two := func(fields string) []byte {
		return Declared("s", EntrySchema, map[string]string{"a": fields, "b": ""})
	}
	for _, c := range []struct {
		what     string
		from, to []byte
		class    contract.Class
	}{
		{"an alias more", with(""), two(""), contract.ClassUpdate},
		{"more history", with(""), with(`,"history":5`), contract.ClassUpdate},
		{"longer values", with(`,"maxValueBytes":5`), with(`,"maxValueBytes":6`), contract.ClassUpdate},
		{"another purpose", with(""), of(EntrySchema, `{"purpose":"q","schema":{"schema":"E"}}`), contract.ClassUpdate},
		{"optional", with(""), with(`,"required":false`), contract.ClassUpdate},
		{"required", with(`,"required":false`), with(""), contract.ClassUpdate},
		{"an alias less", two(""), with(""), contract.ClassMigration},
		{"none left", with(""), none, contract.ClassMigration},
		{"less history", with(`,"history":5`), with(`,"history":4`), contract.ClassMigration},
		{"shorter values", with(`,"maxValueBytes":6`), with(`,"maxValueBytes":5`), contract.ClassMigration},
		{"values of a length", with(""), with(`,"maxValueBytes":5`), contract.ClassMigration},
		{"shorter lives", with(`,"ttlMs":2000`), with(`,"ttlMs":1000`), contract.ClassMigration},
		{"lives that end", with(""), with(`,"ttlMs":1000`), contract.ClassMigration},
		{"longer lives", with(`,"ttlMs":1000`), with(`,"ttlMs":2000`), contract.ClassUpdate},
		{"lives without end", with(`,"ttlMs":1000`), with(""), contract.ClassUpdate},
		{"an optional property", with(""), of(`{"type":"object","required":["who"],"properties":{"who":{"type":"string"},"at":{"type":"integer"}}}`, required), contract.ClassUpdate},
		{"a required property", with(""), of(`{"type":"object","required":["who","at"],"properties":{"who":{"type":"string"}}}`, required), contract.ClassMigration},
		{"a narrower type", with(""), of(`{"type":"object","required":["who"],"properties":{"who":{"type":"string","maxLength":3}}}`, required), contract.ClassMigration},
		{"one of several", two(""), two(`,"history":2,"ttlMs":5`), contract.ClassMigration},
	} {
		h.Agree(c.from)
		require.Equal(t, c.class, h.Proposed(c.to).Class, c.what)
		_, err := h.Revoke(ctx, "s")
		require.NoError(t, err)
	}
}
