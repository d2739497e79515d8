package inspect

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// A namespace that is there already, with its keys, is not spoiled by a dump that has
// less of it; what is of none is replaced.
func TestADumpWithoutSecretsReplacesNoNamespace(t *testing.T) {
	e := withNamespace(t)
	defer e.Close()
	text, _ := dump(t, e, ExportOptions{Plain: true})
	apply(t, e, func(b *engine.Batch) {
		engine.Put(b, keys.ContextState{AppKey: keys.NewBytes([]byte("k"))}, codec.Raw("v"))
	})
	stale, _ := dump(t, e, ExportOptions{Plain: true})
	before := digests(t, e)

	_, err := Import(t.Context(), bytes.NewReader(text), e, ImportOptions{})
	require.ErrorIs(t, err, engine.ErrConflict)
	require.Equal(t, before, digests(t, e))
	for _, text := range [][]byte{text, stale, inClear(t, revealed(t, e))} {
		got, err := Import(t.Context(), bytes.NewReader(text), e, ImportOptions{Replace: true})
		require.NoError(t, err)
		require.NotZero(t, got.Kept)
		require.Empty(t, got.Locked)
		require.Equal(t, before, digests(t, e))
		require.Empty(t, fullCodes(t, e))
	}
	other := withNamespace(t)
	defer other.Close()
	mine := digests(t, other)
	got, err := Import(t.Context(), bytes.NewReader(text), other, ImportOptions{})
	require.NoError(t, err)
	require.Len(t, got.Locked, 1)
	require.Zero(t, got.Kept)
	require.Empty(t, fullCodes(t, other))
	require.NotEqual(t, mine, digests(t, other))
}

func revealed(t *testing.T, e engine.Reader) []byte {
	text, _ := dump(t, e, ExportOptions{Reveal: true, Plain: true})
	return text
}

// A namespace alone goes through a dump too.
func TestTheDumpOfANamespaceIsWhole(t *testing.T) {
	e := withNamespace(t)
	defer e.Close()
	var ns codec.GroupID
	for head, err := range engine.Scan(e, keys.Prefix[keys.NamespaceGovHead]{}) {
		require.NoError(t, err)
		ns = head.Key.Namespace
	}
	s, err := namespace.Open(e, namespace.Options{})
	require.NoError(t, err)
	id, err := s.NewContextKey()
	require.NoError(t, err)
	_, err = s.Propose(t.Context(), ns, namespace.Proposal{GroupID: ns, Group: &codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: id}})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	for _, reveal := range []bool{false, true} {
		text, _ := dump(t, e, ExportOptions{Plain: true, Namespace: &ns, Reveal: reveal})
		again, got := copied(t, text)
		require.Equal(t, reveal, len(got.Locked) == 0)
		require.Empty(t, fullCodes(t, again))
		_, err := engine.Get(again, keys.NamespaceGovHead{Namespace: ns})
		require.NoError(t, err)
		_, err = engine.Get(again, keys.ContextConfig{Context: id})
		require.Equal(t, reveal, err == nil)
		require.NoError(t, again.Close())
	}
}

// Where an op is not in a dump, those that need it are left out as well, and listed; the
// others make a namespace, to which they come again.
func TestADumpThatLacksAnOpIsImportedAsFarAsItGoes(t *testing.T) {
	e := withNamespace(t)
	defer e.Close()
	var ops [][]byte // in the order in which they were made
	var ns codec.GroupID
	_, facts := rows(t, e, column.Generic, engine.Prefixed([]byte("gov-op\x00")))
	for head, err := range engine.Scan(e, keys.Prefix[keys.NamespaceGovHead]{}) {
		require.NoError(t, err)
		ns = head.Key.Namespace
	}
	for _, f := range facts {
		key, err := keys.NamespaceGovOp{Namespace: ns, Delta: codec.OpID(f)}.AppendBinary(nil)
		require.NoError(t, err)
		ops = append(ops, key)
	}
	for i := range ops {
		part := cloneOf(t, e)
		apply(t, part, func(b *engine.Batch) { b.Delete(column.Group, ops[i]) })
		text, _ := dump(t, part, ExportOptions{Plain: true})
		require.NoError(t, part.Close())

		to := mem.New()
		_, err := Import(t.Context(), bytes.NewReader(text), to, ImportOptions{})
		require.ErrorIs(t, err, ErrMissingOp)
		require.NoError(t, to.Close())

		to = mem.New()
		lost := 0
		got, err := Import(t.Context(), bytes.NewReader(text), to, ImportOptions{Damaged: func(f Finding) error {
			require.Equal(t, "op-missing", f.Code)
			lost++
			return nil
		}})
		require.NoError(t, err)
		require.Equal(t, uint64(lost), got.Damaged)
		require.Equal(t, len(ops)-i, lost, "each needs the one before it")
		require.Empty(t, fullCodes(t, to))
		from, err := namespace.Open(e, namespace.Options{})
		require.NoError(t, err)
		s, err := namespace.Open(to, namespace.Options{})
		require.NoError(t, err)
		_, err = namespace.Sync(context.Background(), ns, from, s)
		require.NoError(t, err)
		require.NoError(t, from.Close())
		require.NoError(t, s.Close())
		require.Empty(t, fullCodes(t, to))
		require.Equal(t, parts(t, e), parts(t, to))
		require.NoError(t, to.Close())
	}
}

// Where ops cannot be read, nobody knows which groups are theirs: a dump without secrets
// has no group then.
func TestADumpOfADamagedStoreSaysNothingOfGroups(t *testing.T) {
	for name, damage := range map[string]func(value []byte) []byte{
		"no op":    func([]byte) []byte { return []byte{4, 0, 0, 0, 9, 9, 9, 9} },
		"no value": func(v []byte) []byte { return v[:3] },
	} {
		t.Run(name, func(t *testing.T) {
			e := withNamespace(t)
			defer e.Close()
			found, values := rows(t, e, column.Group, engine.Prefixed([]byte{0x38}))
			heads, _ := rows(t, e, column.Group, engine.Prefixed([]byte{0x39}))
			require.NotEmpty(t, heads)
			apply(t, e, func(b *engine.Batch) {
				for i, key := range found {
					b.Put(column.Group, key, damage(values[i]))
				}
				b.Delete(column.Group, heads[0])
			})
			text, done := dump(t, e, ExportOptions{Plain: true})
			require.NotZero(t, done.Governed)
			require.NotContains(t, string(text), `"GroupMember"`)
			require.NotContains(t, string(text), "GroupOpLog")
			require.NotContains(t, string(text), `"ours"`)
		})
	}
}
