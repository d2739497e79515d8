package namespace

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// damage changes rows of a store behind its back.
func (s *Store) damage(t testing.TB, changes func(b *engine.Batch)) {
	var b engine.Batch
	changes(&b)
	require.NoError(t, s.db.Apply(&b))
}

// requireFound demands that Verify finds what is said of a row.
func requireFound(t testing.TB, s *Store, ns codec.GroupID, key []byte, says string) {
	t.Helper()
	found, err := s.Verify(bg, ns)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(found, func(f Finding) bool {
		return bytes.Equal(f.Key, key) && strings.Contains(f.What, says)
	}), "nothing says %q of %x: %v", says, key, found)
}

func TestVerifyFindsClaimsThatAreMissingOrTooMany(t *testing.T) {
	s := newStore(t, 1)
	ns, _ := created(t, s)
	c := codec.ContextID{7}
	proposed(t, s, ns, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: c})
	requireSound(t, s, ns)
	key := claimKey(c, ns)
	claim, err := s.db.Get(nil, column.Generic, key)
	require.NoError(t, err)

	s.damage(t, func(b *engine.Batch) { b.Delete(column.Generic, key) })
	requireFound(t, s, ns, key, "it is missing")
	s.damage(t, func(b *engine.Batch) { b.Put(column.Generic, key, claim) })
	requireSound(t, s, ns)

	stray := claimKey(codec.ContextID{8}, ns)
	s.damage(t, func(b *engine.Batch) { b.Put(column.Generic, stray, claim) })
	requireFound(t, s, ns, stray, "it should not be there")
}

func TestVerifyFindsAnOpInThePlaceOfAnother(t *testing.T) {
	s := newStore(t, 1)
	ns, _ := created(t, s)
	one := proposed(t, s, ns, ns, codec.GroupOp{Kind: codec.OpGroupAliasSet, Name: codec.Some(codec.AliasName("one"))})
	two := proposed(t, s, ns, ns, codec.GroupOp{Kind: codec.OpGroupAliasSet, Name: codec.Some(codec.AliasName("two"))})
	place := keys.NamespaceGovOp{Namespace: ns, Delta: one.Answer.ID}
	other, err := engine.Get(s.db, keys.NamespaceGovOp{Namespace: ns, Delta: two.Answer.ID})
	require.NoError(t, err)
	s.damage(t, func(b *engine.Batch) { engine.Put(b, place, other) })
	key, err := place.AppendBinary(nil)
	require.NoError(t, err)
	requireFound(t, s, ns, key, "the op has id "+two.Answer.ID.String())
}

func TestLimitsAreNotNegative(t *testing.T) {
	for _, o := range []Options{{MaxPending: -1}, {MaxPendingBytes: -1}} {
		_, err := Open(newStore(t, 1).db, o)
		require.ErrorContains(t, err, "a negative limit")
	}
}

func TestManyOpsAreAnsweredInOrderUpToTheFirstError(t *testing.T) {
	from, to := newStore(t, 1), newStore(t, 2)
	ns, wire := created(t, from)
	wire = append(wire, proposed(t, from, ns, ns, codec.GroupOp{Kind: codec.OpGroupAliasSet, Name: codec.Some(codec.AliasName("one"))}).Wire...)
	require.NoError(t, to.FollowNamespace(ns))
	var kinds []AnswerKind
	for a, err := range to.ApplyMany(bg, slices.Values(slices.Insert(slices.Clone(wire), 1, []byte("no op")))) {
		require.NoError(t, err)
		kinds = append(kinds, a.Kind)
	}
	require.Equal(t, slices.Insert(slices.Repeat([]AnswerKind{Stored}, len(wire)), 1, Refused), kinds)

	answers := func(ctx context.Context) (errs []error) {
		for _, err := range to.ApplyMany(ctx, slices.Values(wire)) {
			errs = append(errs, err)
		}
		return errs
	}
	require.NoError(t, to.Close())
	errs := answers(bg)
	require.Len(t, errs, 1)
	require.ErrorContains(t, errs[0], "closed")
}

func TestManyOpsEndWithTheirContext(t *testing.T) {
	s := newStore(t, 1)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	var last error
	for _, err := range s.ApplyMany(ctx, func(yield func([]byte) bool) {
		cancel() // while ops are waited for
		for yield([]byte("no op")) {
		}
	}) {
		last = err
	}
	require.ErrorIs(t, last, context.Canceled)
}
