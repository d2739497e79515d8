package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEveryValueSurvivesBothDirections(t *testing.T) {
	properties(t, func(t *testing.T, k kind) {
		rapid.Check(t, func(t *rapid.T) {
			v := k.draw(t)
			b, err := k.encode(v, []byte("head"))
			require.NoError(t, err)
			require.Equal(t, "head", string(b[:4]))
			b = b[4:]
			require.NoError(t, k.typ.Check(b))

			back, err := k.decode(b)
			require.NoError(t, err)
			require.Equal(t, v, back)

			text, err := k.typ.JSON(b, true)
			require.NoError(t, err)
			again, err := k.typ.FromJSON(text)
			require.NoError(t, err, "%s", text)
			require.True(t, bytes.Equal(b, again), "%s", text)
		})
	})
}

func TestDecodedValueKeepsNoReference(t *testing.T) {
	properties(t, func(t *testing.T, k kind) {
		rapid.Check(t, func(t *rapid.T) {
			b, err := k.encode(k.draw(t), nil)
			require.NoError(t, err)
			src := bytes.Clone(b)
			v, err := k.decode(src)
			require.NoError(t, err)
			for i := range src {
				src[i] ^= 0xFF
			}
			again, err := k.encode(v, nil)
			require.NoError(t, err)
			require.True(t, bytes.Equal(b, again))
		})
	})
}

func TestShortAndTrailingInputIsRefused(t *testing.T) {
	properties(t, func(t *testing.T, k kind) {
		if k.typ.Go == "codec.Raw" || k.typ.Go == "codec.BlobChunk" {
			t.Skip("any bytes are a value")
		}
		rapid.Check(t, func(t *rapid.T) {
			b, err := k.encode(k.draw(t), nil)
			require.NoError(t, err)
			requireRefused(t, k, append(bytes.Clone(b), 0))
			if len(b) > 0 {
				requireRefused(t, k, b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")])
			}
		})
	})
}

func requireRefused(t require.TestingT, k kind, src []byte) {
	v, err := k.decode(src)
	require.ErrorIs(t, err, ErrMalformed)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.GreaterOrEqual(t, e.Offset, 0)
	require.LessOrEqual(t, e.Offset, len(src))
	require.Zero(t, v)
	require.ErrorIs(t, k.typ.Check(src), ErrMalformed)
}

func TestDamagedInputIsRefusedOrCanonical(t *testing.T) {
	properties(t, func(t *testing.T, k kind) {
		rapid.Check(t, func(t *rapid.T) {
			b, err := k.encode(k.draw(t), nil)
			require.NoError(t, err)
			if len(b) == 0 {
				return
			}
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			canonical(t, k, b)
		})
	})
}

// canonical demands of any input: an error, or a value that encodes to it.
func canonical(t require.TestingT, k kind, src []byte) {
	v, err := k.decode(src)
	verdict := k.typ.Check(src)
	if err != nil {
		require.ErrorIs(t, err, ErrMalformed)
		require.Error(t, verdict)
		return
	}
	require.NoError(t, verdict)
	again, err := k.encode(v, nil)
	require.NoError(t, err)
	require.True(t, bytes.Equal(src, again))
}

func TestValuesWithoutStoredFormAreRefused(t *testing.T) {
	refused := func(field string, encode func([]byte) ([]byte, error)) {
		t.Helper()
		dst := []byte("head")
		b, err := encode(dst)
		require.ErrorIs(t, err, ErrMalformed)
		require.Equal(t, dst, b)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, field, e.Field)
	}
	refused("name", AliasName("").AppendBinary)
	refused("name", AliasName(strings.Repeat("a", 51)).AppendBinary)
	refused("name", AliasName("a\x00b").AppendBinary)
	refused("name", AliasName("\xff").AppendBinary)
	refused("role", GroupMemberRole(3).AppendBinary)
	refused("upgrade_policy", UpgradePolicy(3).AppendBinary)
	refused("upgrade_policy", GroupMetaValue{UpgradePolicy: 9}.AppendBinary)
	refused("capabilities", GroupMemberCapabilityValue{Capabilities: 1 << 7}.AppendBinary)
	refused("capabilities", GroupDefaultCapsValue{Capabilities: math.MaxUint32}.AppendBinary)
	refused("capability", ContextCapability(1<<7).AppendBinary)
	refused("id", HybridTimestamp{Time: 1}.AppendBinary)
	refused("hlc.id", ContextDagDeltaValue{}.AppendBinary)
	refused("", Action{Kind: 2}.AppendBinary)
	refused("delete.value", Action{Kind: ActionDelete, Value: []byte{1}}.AppendBinary)
	refused("in_progress.completed_at", GroupUpgradeStatus{CompletedAt: 1}.AppendBinary)
	refused("status.completed.total", GroupUpgradeValue{Status: GroupUpgradeStatus{Phase: UpgradeCompleted, Total: 1}}.AppendBinary)
	refused("member_left.member", GroupOp{Kind: OpMemberLeft, Member: Identity{1}}.AppendBinary)
	refused("op.member_added.role", SignedGroupOp{Op: GroupOp{Role: 3}}.AppendBinary)
	refused("group_alias_set.name", GroupOp{Kind: OpGroupAliasSet, Name: Some(AliasName(""))}.AppendBinary)
	refused("context_capability_set.capability",
		GroupOp{Kind: OpContextCapabilitySet, Capability: Some(ContextCapability(0x80))}.AppendBinary)
	refused("", GroupOp{Kind: GroupOpKind(len(groupOps))}.AppendBinary)
	refused("merge.group_id", RootOp{Kind: RootMerge, GroupID: GroupID{1}}.AppendBinary)
	refused("group_deleted.creator", RootOp{Kind: RootGroupDeleted, CreatedAt: 1}.AppendBinary)
	refused("group.op", NamespaceOp{Kind: NamespaceGroup, Root: RootOp{Kind: RootMerge}}.AppendBinary)
	refused("root.sealed", NamespaceOp{Sealed: []byte{1}}.AppendBinary)
	refused("opaque.signed", StoredNamespaceOp{Kind: StoredOpaque, Signed: SignedNamespaceOp{Signer: Identity{1}}}.AppendBinary)
	refused("application.services[1].name",
		ContextMetaValue{Application: ApplicationMeta{Services: []ServiceMeta{{}, {Name: "\xff"}}}}.AppendBinary)
	refused("actions[1].delete.value", ContextDagDeltaValue{HLC: HybridTimestamp{ID: NodeID{Lo: 1}},
		Actions: []Action{Put(nil, nil), {Kind: ActionDelete, Value: []byte{1}}}}.AppendBinary)
}

// What follows a fault in a list is not read: it would be memory for nothing.
func TestAListIsReadUpToItsFirstFault(t *testing.T) {
	value := make([]byte, 100)
	actions := make([]Action, 1000)
	for i := range actions {
		actions[i] = Put(value, value)
	}
	b, err := ContextDagDeltaValue{HLC: HybridTimestamp{ID: NodeID{Lo: 1}}, Actions: actions}.AppendBinary(nil)
	require.NoError(t, err)
	first, err := actions[0].AppendBinary(nil)
	require.NoError(t, err)
	b[bytes.Index(b, first)] = 7 // no kind of action
	require.Less(t, testing.AllocsPerRun(10, func() {
		_, err = ContextDagDeltaValue{}.Decode(b)
		require.ErrorIs(t, err, ErrMalformed)
	}), 100.0)
}

func TestErrorNamesTypeFieldOffsetAndReason(t *testing.T) {
	delta := append(make([]byte, 32), 0xFF, 0xFF, 0xFF, 0x0F)
	_, err := ContextDagDeltaValue{}.Decode(delta)
	require.EqualError(t, err, "codec: ContextDagDeltaValue.parents at byte 32: count 268435455 larger than the input (0 bytes left)")

	_, err = GroupMemberRole(0).Decode([]byte{1, 0})
	require.EqualError(t, err, "codec: GroupMemberRole at byte 1: 1 trailing byte")

	// two services: the name of the second is not UTF-8
	app, err := ApplicationMeta{Services: []ServiceMeta{{Name: "a"}, {Name: "bc"}}}.AppendBinary(nil)
	require.NoError(t, err)
	bad := len(app) - 64 - 1
	app[bad] = 0xFF
	var e *Error
	_, err = ApplicationMeta{}.Decode(app)
	require.ErrorAs(t, err, &e)
	require.Equal(t, Error{Type: "ApplicationMeta", Field: "services[1].name", Offset: bad, Reason: "invalid UTF-8"}, *e)
}

func TestRegistryNamesTheTypeInErrors(t *testing.T) {
	for _, name := range []string{"GroupAlias", "GroupMemberAlias", "GroupContextAlias"} {
		typ, ok := TypeByName(name)
		require.True(t, ok)
		require.ErrorContains(t, typ.Check(nil), "codec: "+name+".name at byte 0")
	}
	_, ok := TypeByName("GroupAliases")
	require.False(t, ok)
}

// A tag of an op, once given, is not given to another: this is the order of group/README.md.
func TestOpTagsAreForEver(t *testing.T) {
	require.Equal(t, "admin_transferred", GroupOpKind(20).String())
	require.Equal(t, "key_rotated", GroupOpKind(21).String())
	require.Equal(t, "member_added", GroupOpKind(0).String())
	require.Equal(t, "context_registered", GroupOpKind(11).String())
	require.Equal(t, "namespace_created", RootOpKind(0).String())
	require.Equal(t, "merge", RootOpKind(7).String())
	require.Len(t, groupOpFields, len(groupOps))
	require.Len(t, rootOpFields, len(rootOps))
}

func TestSignedOpsHaveTheOneVersion(t *testing.T) {
	b, err := SignedGroupOp{}.AppendBinary(nil)
	require.NoError(t, err)
	require.Equal(t, byte(1), b[0])
	b[0] = 2
	_, err = SignedGroupOp{}.Decode(b)
	require.EqualError(t, err, "codec: SignedGroupOp.version at byte 0: version 2, and only 1 is known")
}

func TestGroupKeyIsExactly32Bytes(t *testing.T) {
	for _, n := range []int{0, 31, 33, 64} {
		src := append(binary.LittleEndian.AppendUint32(nil, uint32(n)), make([]byte, n)...)
		_, err := GroupKeyValue{}.Decode(src)
		require.ErrorIs(t, err, ErrMalformed, n)
		require.ErrorContains(t, err, fmt.Sprintf("codec: GroupKeyValue.key at byte 0: %d bytes instead of 32", n))
	}
}

func TestLeastSizesAreThoseOfTheSmallestElements(t *testing.T) {
	size := func(b []byte, err error) int {
		require.NoError(t, err)
		return len(b)
	}
	require.Equal(t, leastAction, size(Delete(nil).AppendBinary(nil)))
	require.Equal(t, leastEvent, size(Event{}.AppendBinary(nil)))
	require.Equal(t, leastEnvelope, size(KeyEnvelope{}.AppendBinary(nil)))
	require.Equal(t, leastRotation, size(KeyRotation{}.AppendBinary(nil)))
	require.Equal(t, leastCarried, size(CarriedKey{}.AppendBinary(nil)))
	require.Equal(t, leastKey, size(NewKey{}.AppendBinary(nil)))
	require.Equal(t, leastStatedMember, size(StatedMember{}.AppendBinary(nil)))
	require.Equal(t, leastRotation, size(RotationSkeleton{}.AppendBinary(nil)))
	require.Equal(t, leastService, size(ServiceMeta{}.AppendBinary(nil)))
}

func TestTimestampsOrderByTimeThenNode(t *testing.T) {
	sorted := []HybridTimestamp{
		{1, NodeID{0, 9}}, {1, NodeID{1, 0}}, {1, NodeID{1, 1}}, {2, NodeID{0, 1}}, {math.MaxUint64, NodeID{0, 1}},
	}
	for i, a := range sorted {
		for j, b := range sorted {
			require.Equal(t, i < j, a.Compare(b) < 0)
			require.Equal(t, i == j, a.Compare(b) == 0)
		}
	}
}
