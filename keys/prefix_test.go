package keys

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

func TestZeroPrefixIsTheTag(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		if k.info.Tag == 0 {
			require.Empty(t, k.whole)
		} else {
			require.Equal(t, []byte{k.info.Tag}, k.whole)
		}
	})
}

func TestPrefixesAreTheLeadingFields(t *testing.T) {
	ones := bytes.Repeat([]byte{0x11}, 32)
	twos := bytes.Repeat([]byte{0x22}, 32)
	one, two := hex.EncodeToString(ones), hex.EncodeToString(twos)
	group, context, blob := codec.GroupID(ones), codec.ContextID(ones), codec.BlobID(ones)
	scope, err := NewScope("stoa.test")
	require.NoError(t, err)
	inGroup := map[string]string{"group_id": one}
	inContext := map[string]string{"context_id": one}

	same(t, DeltasOf(context), inContext)
	same(t, StateOf(context), inContext)
	same(t, StateUnder(context, []byte{1, 2}), map[string]string{"context_id": one, "app_key": "0102"})
	same(t, PrivateStateOf(context), inContext)
	same(t, PrivateStateUnder(context, []byte{1, 2}), map[string]string{"context_id": one, "app_key": "0102"})
	same(t, AliasesIn(AliasIdentity, context), map[string]string{"kind": "2", "scope": one})
	same(t, AliasesIn(AliasContext, codec.ContextID{}), map[string]string{"kind": "context", "scope": hex.EncodeToString(make([]byte, 32))})
	same(t, EntriesOf(scope), map[string]string{"scope": "stoa.test"})
	same(t, EntriesUnder(scope, []byte{1, 2}), map[string]string{"scope": "stoa.test", "fragment": "0102"})
	same(t, MembersOf(group), inGroup)
	same(t, CapabilitiesOf(group), inGroup)
	same(t, MemberAliasesOf(group), inGroup)
	same(t, MemberContextsIn(group), inGroup)
	same(t, MemberContextsOf(group, codec.Identity(twos)), map[string]string{"group_id": one, "identity": two})
	same(t, ContextsOf(group), inGroup)
	same(t, MigrationsOf(group), inGroup)
	same(t, ContextAliasesOf(group), inGroup)
	same(t, ContextCapsIn(group), inGroup)
	same(t, ContextCapsOf(group, codec.ContextID(twos)), map[string]string{"group_id": one, "context_id": two})
	same(t, NoncesOf(group), inGroup)
	same(t, OpsOf(group), inGroup)
	same(t, ChildrenOf(group), map[string]string{"parent_id": one})
	same(t, SigningKeysOf(group), inGroup)
	same(t, KeysOf(group), inGroup)
	same(t, GovOpsOf(group), map[string]string{"namespace_id": one})
	same(t, Prefix[GroupMember]{}, nil)

	chunks := ChunksOf(blob).AppendTo(nil)
	manifest, err := BlobMeta{Blob: blob}.AppendBinary(nil)
	require.NoError(t, err)
	require.False(t, bytes.HasPrefix(manifest, chunks))
	for _, i := range []uint32{0, 1, 4096, 1<<24 - 1} {
		chunk, err := BlobChunk{Blob: blob, Index: i}.AppendBinary(nil)
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(chunk, chunks))
	}
}

// same demands that a typed prefix is what the fields alone give.
func same[K Key[K, V], V codec.Value[V]](t *testing.T, p Prefix[K], fields map[string]string) {
	t.Helper()
	want, err := kindOf[K]().info.PrefixFromFields(fields)
	require.NoError(t, err)
	require.Equal(t, want, p.AppendTo(nil))
	require.Equal(t, append([]byte("head"), want...), p.AppendTo([]byte("head")))
}

func TestPrefixesCompare(t *testing.T) {
	seen := map[Prefix[GroupMember]]bool{MembersOf(codec.GroupID{1}): true}
	require.True(t, seen[MembersOf(codec.GroupID{1})])
	require.False(t, seen[MembersOf(codec.GroupID{2})])
}

func TestPrefixesLongerThanTheyHoldInPlace(t *testing.T) {
	leading := bytes.Repeat([]byte{1}, 1000)
	require.Equal(t, append(make([]byte, 32), leading...), StateUnder(codec.ContextID{}, leading).AppendTo(nil))
}

func TestPrefixesAllocateNothing(t *testing.T) {
	buf := make([]byte, 0, 128)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		_ = MembersOf(codec.GroupID{1}).AppendTo(buf)
		_ = MemberContextsOf(codec.GroupID{1}, codec.Identity{2}).AppendTo(buf)
		_ = DeltasOf(codec.ContextID{1}).AppendTo(buf)
		_ = ChunksOf(codec.BlobID{1}).AppendTo(buf)
		_ = Prefix[GroupMember]{}.AppendTo(buf)
	}))
}

func TestPrefixFromFieldsWantsLeadingFields(t *testing.T) {
	member, _ := ByName("GroupMember")
	_, err := member.PrefixFromFields(map[string]string{"identity": hex.EncodeToString(make([]byte, 32))})
	require.EqualError(t, err, "keys: GroupMember.identity in Group: given, but group_id before it is not: a prefix has leading fields only")

	alias, _ := ByName("Alias")
	b, err := alias.PrefixFromFields(map[string]string{"kind": "application", "scope": hex.EncodeToString(make([]byte, 32)), "name": "ma"})
	require.NoError(t, err)
	require.Equal(t, append(append([]byte{3}, make([]byte, 32)...), "ma"...), b)
}
