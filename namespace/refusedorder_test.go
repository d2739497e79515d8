package namespace_test

import (
	"math/bits"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
)

// blemish is a reason to refuse an op, and what makes an op have it: before it is sealed,
// signed, and after.
type blemish struct {
	row            string // of the table in README.md
	reason         namespace.RefusalReason
	draft          func(*codec.SignedNamespaceOp)
	sealed, signed func(*codec.SignedNamespaceOp)
}

// blemishes are in the order in which they are asked for. gone is an op that was refused.
func blemishes(gone codec.OpID) []blemish {
	return []blemish{
		{row: "form", reason: namespace.BadForm, sealed: func(s *codec.SignedNamespaceOp) { s.Op.Sealed = s.Op.Sealed[:3] }},
		{row: "signature", reason: namespace.BadSignature, signed: func(s *codec.SignedNamespaceOp) { s.Signature[3] ^= 1 }},
		{row: "refused ancestor", reason: namespace.RefusedAncestor, draft: func(s *codec.SignedNamespaceOp) { s.Parents = []codec.OpID{gone} }},
		{row: "stranger", reason: namespace.Stranger, draft: func(s *codec.SignedNamespaceOp) { s.Signer, s.Nonce = is("X"), 1 }},
		{row: "replay, bad nonce", reason: namespace.BadNonce, draft: func(s *codec.SignedNamespaceOp) { s.Nonce += 7 }},
		{row: "replay, bad nonce", reason: namespace.Replay, draft: func(s *codec.SignedNamespaceOp) { s.Nonce = 0 }},
		{row: "unknown group", reason: namespace.UnknownGroup, draft: func(s *codec.SignedNamespaceOp) { s.Op.GroupID = codec.GroupID{1} }},
		{row: "unknown key", reason: namespace.UnknownKey, draft: func(s *codec.SignedNamespaceOp) { s.Op.KeyOp = codec.OpID{1} }},
	}
}

// blemished returns an op of K that has some of them, those whose bits are set.
func (f *forge) blemished(which int, all []blemish) *codec.SignedNamespaceOp {
	s := f.draft("K", nil)
	key, ok := f.keyAt(s.Parents, f.ns)
	require.True(f.t, ok)
	s.Op.GroupID, s.Op.KeyOp = f.ns, key.op
	each := func(fn func(blemish) func(*codec.SignedNamespaceOp)) {
		for i, b := range all {
			if spoil := fn(b); which>>i&1 == 1 && spoil != nil {
				spoil(s)
			}
		}
	}
	each(func(b blemish) func(*codec.SignedNamespaceOp) { return b.draft })
	g, op := s.Op.GroupID, s.Op.KeyOp
	f.seal(s, g, key, f.inner(s, g, named("x")))
	s.Op.KeyOp = op
	each(func(b blemish) func(*codec.SignedNamespaceOp) { return b.sealed })
	require.NoError(f.t, namespace.Sign(s, f.seedOf(s.Signer)))
	each(func(b blemish) func(*codec.SignedNamespaceOp) { return b.signed })
	return s
}

// Of several reasons to refuse an op the first is given, in the order of the table in
// README.md, so that all nodes say the same.
func TestFirstOfSeveralRefusalsIsGiven(t *testing.T) {
	f := opening(t)
	n := newBystander(t, "Z", f)
	defer n.close()
	n.give(f.ops...)
	spoilt := f.blemished(2, blemishes(codec.OpID{}))
	b, err := spoilt.AppendBinary(nil)
	require.NoError(t, err)
	gone := n.giveWire(b)
	require.Equal(t, namespace.Refused, gone.Kind)
	all := blemishes(gone.ID)
	elsewhere, err := namespace.Open(newMem(), namespace.Options{})
	require.NoError(t, err)
	defer elsewhere.Close()
	for which := range 1 << len(all) {
		if which>>4&3 == 3 {
			continue // a nonce is too low or too high
		}
		b, err := f.blemished(which, all).AppendBinary(nil)
		require.NoError(t, err)
		unfollowed, err := elsewhere.Apply(t.Context(), b)
		require.NoError(t, err)
		require.Equal(t, namespace.NotFollowed, unfollowed.Refusal.Reason)
		answer := n.giveWire(b)
		first := bits.TrailingZeros(uint(which))
		if which == 0 {
			require.Equal(t, namespace.Stored, answer.Kind)
			continue
		}
		require.Equal(t, namespace.Refused, answer.Kind)
		require.Equal(t, all[first].reason, answer.Refusal.Reason, "%b: %s", which, answer.Refusal.Detail)
	}
	rows := []string{namespace.NotFollowed.String()}
	for _, b := range all {
		rows = append(rows, b.row)
	}
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(text), "## Refused\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var table []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z, ]+) \|`).FindAllStringSubmatch(section, -1) {
		table = append(table, row[1])
	}
	require.Equal(t, slices.Compact(rows), table)
}
