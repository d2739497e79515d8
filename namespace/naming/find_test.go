package naming

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

func stored(t require.TestingT, put func(*engine.Batch)) *mem.Engine {
	db, b := mem.New(), new(engine.Batch)
	put(b)
	require.NoError(t, db.Apply(b))
	return db
}

// newcomer makes someone a member of that name.
func newcomer(g codec.GroupID, who codec.Identity, name codec.AliasName) *engine.Batch {
	b := new(engine.Batch)
	engine.Put(b, keys.GroupMember{Group: g, Identity: who}, codec.Member)
	engine.Put(b, keys.GroupMemberAlias{Group: g, Identity: who}, name)
	return b
}

// id returns an id that begins with hex digits.
func id(t require.TestingT, digits string) (v [32]byte) {
	b, err := hex.DecodeString(digits + strings.Repeat("5", 64-len(digits)))
	require.NoError(t, err)
	return [32]byte(b)
}

func find(t *testing.T, r engine.Reader, q Query) []Match {
	t.Helper()
	a, err := Find(t.Context(), r, q)
	require.NoError(t, err)
	require.False(t, a.More)
	return a.Matches
}

func TestNamesAreThoseOfAGroupAndOfAllAboveIt(t *testing.T) {
	home, kitchen, other := codec.GroupID(id(t, "aaaa")), codec.GroupID(id(t, "bbbb")), codec.GroupID(id(t, "cccc"))
	ada, bob, eve := codec.Identity(id(t, "a0a0")), codec.Identity(id(t, "b0b0")), codec.Identity(id(t, "e0e0"))
	db := stored(t, func(b *engine.Batch) {
		engine.Put(b, keys.GroupParentRef{Child: kitchen}, codec.ParentRefValue{ParentID: home})
		engine.Put(b, keys.GroupMember{Group: home, Identity: ada}, codec.Admin)
		engine.Put(b, keys.GroupMember{Group: home, Identity: bob}, codec.Member)
		engine.Put(b, keys.GroupMember{Group: other, Identity: eve}, codec.Member)
		engine.Put(b, keys.GroupMemberAlias{Group: home, Identity: ada}, codec.AliasName("ada"))
		engine.Put(b, keys.GroupMemberAlias{Group: other, Identity: eve}, codec.AliasName("ada"))
	})
	require.Equal(t, []Match{{ada, "ada", home}}, find(t, db, Query{Kind: Member, Text: "ada", Group: kitchen}))
	require.Equal(t, []Match{{bob, "", home}}, find(t, db, Query{Kind: Member, Text: "0xB0B0", Group: kitchen}))
	require.Empty(t, find(t, db, Query{Kind: Member, Text: "e0e0", Group: kitchen}))
	former := stored(t, func(b *engine.Batch) {
		engine.Put(b, keys.GroupMemberAlias{Group: home, Identity: ada}, codec.AliasName("ada"))
	})
	require.Equal(t, []Match{{ada, "ada", home}}, find(t, former, Query{Kind: Member, Text: "ada", Group: home}), "who was removed has the name still")
	require.NoError(t, former.Apply(newcomer(home, bob, "ada")))
	require.Equal(t, []Match{{bob, "ada", home}}, find(t, former, Query{Kind: Member, Text: "ada", Group: home}), "but a member before")
	require.Empty(t, find(t, db, Query{Kind: Member, Text: "ad", Group: kitchen}), "a name counts as a whole")
}

func TestANameHidesNoIdThatBeginsLikeIt(t *testing.T) {
	mine, hostile := codec.GroupID(id(t, "2bf07165f318")), codec.GroupID(id(t, "99"))
	db := stored(t, func(b *engine.Batch) {
		engine.Put(b, keys.GroupMeta{Group: mine}, codec.GroupMetaValue{})
		engine.Put(b, keys.GroupMeta{Group: hostile}, codec.GroupMetaValue{})
		engine.Put(b, keys.GroupAlias{Group: hostile}, codec.AliasName("2bf07165"))
	})
	require.Equal(t, []Match{{ID: hostile, Name: "2bf07165"}, {ID: mine}}, find(t, db, Query{Kind: Group, Text: "2bf07165"}))
	require.Equal(t, []Match{{ID: mine}}, find(t, db, Query{Kind: Group, Text: "2bf071"}))
	require.Empty(t, find(t, db, Query{Kind: Group, Text: "2bf"}), "fewer digits than MinDigits are a name only")
	require.Empty(t, find(t, db, Query{Kind: Namespace, Text: "2bf07165"}), "neither is a namespace")
}

func TestEveryKindIsFoundWhereItsRowsAre(t *testing.T) {
	ns, g := codec.GroupID(id(t, "abcd01")), codec.GroupID(id(t, "abcd02"))
	waits, told := codec.GroupID(id(t, "abcd03")), codec.GroupID(id(t, "abcd0c"))
	followed, err := keys.NewScope("gov-followed")
	require.NoError(t, err)
	here, elsewhere, named := codec.ContextID(id(t, "abcd04")), codec.ContextID(id(t, "abcd05")), codec.ContextID(id(t, "77"))
	applied, waiting := codec.DeltaID(id(t, "abcd06")), codec.DeltaID(id(t, "abcd07"))
	op, blob, app := codec.OpID(id(t, "abcd08")), codec.BlobID(id(t, "abcd09")), codec.ApplicationID(id(t, "abcd0a"))
	orphan := codec.BlobID(id(t, "abcd00"))
	signing, entry := codec.KeyID(id(t, "abcd0b")), codec.KeyID(id(t, "abcd0c"))
	scope, err := keys.NewScope("dag-pending")
	require.NoError(t, err)
	delta := codec.ContextDagDeltaValue{HLC: codec.HybridTimestamp{ID: codec.NodeID{Lo: 1}}}
	alias, err := keys.NewName("room")
	require.NoError(t, err)
	db := stored(t, func(b *engine.Batch) {
		engine.Put(b, keys.NamespaceGovHead{Namespace: ns}, codec.NamespaceGovHeadValue{})
		engine.Put(b, keys.NamespaceIdentity{Namespace: waits}, codec.NamespaceIdentityValue{})
		for _, of := range []codec.GroupID{ns, told} {
			engine.Put(b, keys.Generic{Scope: followed, Fragment: keys.NewBytes(of[:])}, codec.Raw(nil))
		}
		engine.Put(b, keys.GroupMeta{Group: ns}, codec.GroupMetaValue{})
		engine.Put(b, keys.GroupMeta{Group: g}, codec.GroupMetaValue{})
		engine.Put(b, keys.ContextMeta{Context: here}, codec.ContextMetaValue{})
		engine.Put(b, keys.ContextGroupRef{Context: elsewhere}, codec.GroupRefValue{GroupID: g})
		engine.Put(b, keys.GroupContextAlias{Group: g, Context: named}, codec.AliasName("room"))
		engine.Put(b, keys.Alias{Kind: keys.AliasContext, Name: alias}, codec.AliasValue{ID: codec.Hash(here)})
		engine.Put(b, keys.Alias{Kind: keys.AliasApplication, Name: alias}, codec.AliasValue{ID: codec.Hash(app)})
		engine.Put(b, keys.ContextDagDelta{Context: here, Delta: applied}, delta)
		engine.Put(b, keys.ContextDagDelta{Context: elsewhere, Delta: waiting}, delta)
		fragment := append(append([]byte{'i'}, here[:]...), waiting[:]...)
		engine.Put(b, keys.Generic{Scope: scope, Fragment: keys.NewBytes(fragment)}, codec.Raw(make([]byte, 8)))
		engine.Put(b, keys.NamespaceGovOp{Namespace: ns, Delta: op}, codec.NamespaceGovOpValue{})
		engine.Put(b, keys.GroupSigningKey{Group: g, Key: signing}, codec.GroupSigningKeyValue{})
		engine.Put(b, keys.GroupKeyEntry{Group: g, Key: entry}, codec.GroupKeyValue{})
		engine.Put(b, keys.BlobMeta{Blob: blob}, codec.BlobMeta{})
		for i := range uint32(40) { // more than there may be matches
			engine.Put(b, keys.BlobChunk{Blob: blob, Index: i}, codec.BlobChunk("x"))
		}
		engine.Put(b, keys.BlobChunk{Blob: orphan}, codec.BlobChunk("x"))
		engine.Put(b, keys.ApplicationMeta{App: app}, codec.ApplicationMeta{})
	})
	for _, c := range []struct {
		q    Query
		want []Match
	}{
		{Query{Kind: Namespace, Text: "abcd"}, []Match{{ID: ns}, {ID: waits}, {ID: told}}},
		{Query{Kind: Group, Text: "abcd"}, []Match{{ID: ns}, {ID: g}}},
		{Query{Kind: Context, Text: "abcd"}, []Match{{ID: here}, {ID: elsewhere}}},
		{Query{Kind: Context, Text: "room"}, []Match{{ID: here, Name: "room"}, {named, "room", g}}},
		{Query{Kind: Delta, Text: "abcd", Context: here}, []Match{{ID: applied}, {ID: waiting}}},
		{Query{Kind: Op, Text: "abcd", Group: ns}, []Match{{ID: op, In: ns}}},
		{Query{Kind: Blob, Text: "abcd"}, []Match{{ID: blob}}},
		{Query{Kind: Application, Text: "abcd"}, []Match{{ID: app}}},
		{Query{Kind: SigningKey, Text: "abcd", Group: g}, []Match{{signing, "", g}}},
		{Query{Kind: GroupKey, Text: "abcd", Group: g}, []Match{{entry, "", g}}},
		{Query{Kind: Application, Text: "room"}, []Match{{ID: app, Name: "room"}}},
	} {
		require.Equal(t, c.want, find(t, db, c.q), "%+v", c.q)
	}
}

func TestFindAgreesWithALookAtEveryId(t *testing.T) {
	enginetest.Check(t, 100, func(rt *rapid.T) {
		digit := rapid.SampledFrom([]rune("0f"))
		all := rapid.SliceOfNDistinct(rapid.StringOfN(digit, 6, 6, -1), 0, 40, rapid.ID).Draw(rt, "ids")
		db := stored(rt, func(b *engine.Batch) {
			for _, digits := range all {
				engine.Put(b, keys.BlobMeta{Blob: id(rt, digits)}, codec.BlobMeta{})
				engine.Put(b, keys.BlobChunk{Blob: id(rt, digits)}, codec.BlobChunk("x"))
			}
		})
		text := rapid.StringOfN(digit, MinDigits, 6, -1).Draw(rt, "text")
		want := 0
		for _, digits := range all {
			if strings.HasPrefix(digits, text) {
				want++
			}
		}
		a, err := Find(context.Background(), db, Query{Kind: Blob, Text: text})
		require.NoError(rt, err)
		require.Len(rt, a.Matches, min(want, MaxMatches))
		require.Equal(rt, want > MaxMatches, a.More)
		for _, m := range a.Matches {
			require.True(rt, strings.HasPrefix(hex.EncodeToString(m.ID[:]), text))
		}
	})
}

func TestAQueryThatNothingCouldMatchIsRefused(t *testing.T) {
	db := mem.New()
	for _, q := range []Query{
		{}, {Kind: 99, Text: "x"}, {Kind: Blob}, {Kind: Member, Text: "ada"}, {Kind: Op, Text: "abcd"}, {Kind: Delta, Text: "abcd"},
	} {
		_, err := Find(t.Context(), db, q)
		require.ErrorIs(t, err, ErrQuery, "%+v", q)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	full := stored(t, func(b *engine.Batch) { engine.Put(b, keys.BlobMeta{}, codec.BlobMeta{}) })
	_, err := Find(ended, full, Query{Kind: Blob, Text: "0000"})
	require.ErrorIs(t, err, context.Canceled)
}

func TestARowThatDoesNotParseHasNoNameAndHidesNoOther(t *testing.T) {
	g := codec.GroupID(id(t, "cccc"))
	db := stored(t, func(b *engine.Batch) {
		engine.Put(b, keys.GroupMeta{Group: g}, codec.GroupMetaValue{})
		key, err := keys.GroupAlias{}.AppendBinary(nil)
		require.NoError(t, err)
		b.Put(keys.GroupAlias{}.Slot().Column, key, []byte{7})
		engine.Put(b, keys.GroupAlias{Group: g}, codec.AliasName("home"))
	})
	require.Equal(t, []Match{{ID: g, Name: "home"}}, find(t, db, Query{Kind: Group, Text: "home"}))
}
