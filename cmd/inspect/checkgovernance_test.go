package inspect

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// withNamespace returns a store with a namespace, a group below it and a member.
func withNamespace(t require.TestingT) *mem.Engine {
	e := mem.New()
	s, err := namespace.Open(e, namespace.Options{})
	require.NoError(t, err)
	ns, _, err := s.Create(context.Background(), namespace.Create{Alias: codec.Some(codec.AliasName("home"))})
	require.NoError(t, err)
	member := codec.Identity(ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey))
	for _, p := range []namespace.Proposal{
		{Root: &codec.RootOp{Kind: codec.RootGroupCreated, ParentID: ns}},
		{GroupID: ns, Group: &codec.GroupOp{Kind: codec.OpMemberAdded, Member: member, Role: codec.Member}},
		{GroupID: ns, Group: &codec.GroupOp{Kind: codec.OpGroupAliasSet, Name: codec.Some(codec.AliasName("ours"))}},
	} {
		_, err := s.Propose(context.Background(), ns, p)
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
	return e
}

// rows returns the rows of a column.
func rows(t require.TestingT, r engine.Reader, col column.Column, rg engine.Range) (keys, values [][]byte) {
	it, err := r.Iterate(col, rg)
	require.NoError(t, err)
	defer it.Close()
	for it.Next() {
		keys, values = append(keys, bytes.Clone(it.Key())), append(values, bytes.Clone(it.Value()))
	}
	require.NoError(t, it.Err())
	return keys, values
}

func TestAFullVerificationTakesOpsInAgain(t *testing.T) {
	for name, test := range map[string]struct {
		prefix byte
		at     int // the byte of the value that is changed; -1: the row goes
		want   string
	}{
		"a role":      {0x21, 0, "gov-fold"},
		"a name":      {0x2E, 4, "gov-fold"},
		"a member":    {0x21, -1, "gov-fold"},
		"a signature": {0x38, 60, ""},
		"an op":       {0x38, -1, "gov-damaged"},
		"a log":       {0x30, -1, "gov-damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			e := withNamespace(t)
			defer e.Close()
			require.Empty(t, fullCodes(t, e))
			found, values := rows(t, e, column.Group, engine.Prefixed([]byte{test.prefix}))
			require.NotEmpty(t, found)
			var b engine.Batch
			if test.at < 0 {
				b.Delete(column.Group, found[0])
			} else {
				values[0][test.at] ^= 1
				b.Put(column.Group, found[0], values[0])
			}
			require.NoError(t, e.Apply(&b))
			if codes := fullCodes(t, e); test.want == "" {
				require.NotEmpty(t, codes)
			} else {
				require.Contains(t, codes, test.want)
			}
		})
	}
}

// What a member has signed is no damage of the store: backups of it are good.
func TestABadKeyOfAMemberIsNoDamage(t *testing.T) {
	e := withNamespace(t)
	defer e.Close()
	s, err := namespace.Open(e, namespace.Options{})
	require.NoError(t, err)
	var seed codec.Secret // of the member
	all, err := s.Namespaces(codec.GroupID{}, 1)
	require.NoError(t, err)
	ns := all[0]
	info, err := s.Namespace(ns)
	require.NoError(t, err)
	to := []codec.Identity{info.Identity, group.IdentityOf(seed)}
	slices.SortFunc(to, func(a, b codec.Identity) int { return bytes.Compare(a[:], b[:]) })
	op := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: ns, Parents: info.Heads, Signer: group.IdentityOf(seed), Nonce: 1}
	key, err := namespace.IntroduceKey(op, ns, codec.Secret{1}, nil, to)
	require.NoError(t, err)
	for i := range key.Envelopes {
		key.Envelopes[i].Sealed[0] ^= 1
	}
	inner := codec.SignedGroupOp{GroupID: ns, Parents: op.Parents, Signer: op.Signer, Nonce: op.Nonce, Op: codec.GroupOp{Kind: codec.OpKeyRotated}}
	require.NoError(t, group.SignOp(&inner, seed))
	op.Op = codec.NamespaceOp{Kind: codec.NamespaceClear, GroupID: ns, Op: inner.Op, OpSignature: inner.Signature, Keys: []codec.NewKey{key}}
	require.NoError(t, namespace.Sign(op, seed))
	wire, err := op.AppendBinary(nil)
	require.NoError(t, err)
	a, err := s.Apply(t.Context(), wire)
	require.NoError(t, err)
	require.Equal(t, namespace.Stored, a.Kind)
	require.NoError(t, s.Close())
	v, err := Verify(t.Context(), From(e, Facts{}), VerifyOptions{Full: true}, func(Finding) error { return nil })
	require.NoError(t, err)
	require.Empty(t, v.Codes)
	require.Len(t, v.Notes, 1)
	require.Contains(t, v.Notes[0], a.ID.String())
}

// Whatever stands in the rows of a store, a full verification comes to its end.
func TestAFullVerificationOfAnyRowsEnds(t *testing.T) {
	enginetest.Check(t, 150, func(t *rapid.T) {
		e := withNamespace(t)
		defer e.Close()
		var b engine.Batch
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			col := rapid.SampledFrom([]column.Column{column.Group, column.Generic}).Draw(t, "column")
			found, values := rows(t, e, col, engine.Range{})
			at := rapid.IntRange(0, len(found)-1).Draw(t, "row")
			key, value := found[at], values[at]
			i := rapid.IntRange(0, max(len(value)-1, 0)).Draw(t, "byte")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				b.Delete(col, key)
			case 1:
				b.Put(col, key, value[:i])
			case 2:
				if i < len(value) {
					value[i] ^= rapid.ByteRange(1, 255).Draw(t, "flip")
				}
				b.Put(col, key, value)
			default:
				key[rapid.IntRange(len(key)/2, len(key)-1).Draw(t, "byte of the key")] ^= rapid.ByteRange(1, 255).Draw(t, "flip")
				b.Put(col, key, value)
			}
		}
		require.NoError(t, e.Apply(&b))
		_, err := Verify(context.Background(), From(e, Facts{}), VerifyOptions{Full: true}, func(Finding) error { return nil })
		require.NoError(t, err)
	})
}
