package govwire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// goes carries v as a message and back.
func goes[M, V any](t *testing.T, v V) (*M, V) {
	t.Helper()
	by := op.NewFields[M, V]()
	m, err := by.Message(&v)
	require.NoError(t, err)
	back, err := by.Value(m)
	require.NoError(t, err)
	return m, back
}

func refused[M, V any](t *testing.T, m *M) string {
	t.Helper()
	_, err := op.NewFields[M, V]().Value(m)
	require.Error(t, err)
	return err.Error()
}

func TestOpsOfGroupsHaveWhatTheirKindsNeed(t *testing.T) {
	added := codec.GroupOp{Kind: codec.OpMemberAdded, Member: codec.Identity{1}, Role: codec.Admin}
	m, back := goes[stoav1.GovGroupOp](t, added)
	require.Equal(t, added, back)
	require.Equal(t, stoav1.GovRole_GOV_ROLE_ADMIN, m.GetRole(), "what is zero in Go is not what is not set")
	require.Zero(t, m.GetUpgradePolicy())
	m.Role = 0
	require.Equal(t, "role: no role 0", refused[stoav1.GovGroupOp, codec.GroupOp](t, m))

	policy := codec.GroupOp{Kind: codec.OpUpgradePolicySet}
	m, back = goes[stoav1.GovGroupOp](t, policy)
	require.Equal(t, policy, back)
	require.Equal(t, stoav1.GovUpgradePolicy_GOV_UPGRADE_POLICY_AUTO, m.GetUpgradePolicy())
	require.Zero(t, m.GetRole())

	none := uint32(codec.AllCapabilities) + 1
	for want, m := range map[string]*stoav1.GovGroupOp{
		"kind: no kind 0":                              {},
		"kind: no kind 25":                             {Kind: 25},
		"role: no role 4":                              {Kind: 1, Role: 4},
		"upgrade_policy: no policy 4":                  {Kind: 3, UpgradePolicy: 4},
		"capability: no capabilities 0x80":             {Kind: 3, Capability: &none},
		"placement: 1 bytes instead of 64":             {Kind: 3, Placement: []byte{1}},
		"target_application_id: 1 bytes instead of 32": {Kind: 3, TargetApplicationId: []byte{1}},
	} {
		require.Equal(t, want, refused[stoav1.GovGroupOp, codec.GroupOp](t, m))
	}
}

func TestRootOpsAreWhatTheirBytesSay(t *testing.T) {
	later := codec.RootOp{Kind: codec.RootKeyDelivered, GroupID: codec.GroupID{1}, KeyOp: codec.OpID{2}, Envelopes: []codec.KeyEnvelope{{Recipient: codec.Identity{3}}}}
	_, again := goes[stoav1.GovRootOp](t, later)
	require.Equal(t, later, again)
	stated := codec.RootOp{Kind: codec.RootAuthorityStated, GroupID: codec.GroupID{1}, AdminIdentity: codec.Identity{2}, Defaults: codec.ManageAliases,
		Members: []codec.StatedMember{{Member: codec.Identity{3}, Role: codec.Admin}, {Member: codec.Identity{4}, Role: codec.ReadOnly, Capabilities: codec.AllCapabilities}}}
	_, again = goes[stoav1.GovRootOp](t, stated)
	require.Equal(t, stated, again)
	delivery := codec.RootOp{Kind: codec.RootKeyDelivery, GroupID: codec.GroupID{1}, KeyID: codec.KeyID{2}, Envelopes: []codec.KeyEnvelope{{Recipient: codec.Identity{3}}}}
	m, back := goes[stoav1.GovRootOp](t, delivery)
	require.Equal(t, delivery, back)
	require.Len(t, m.GetRecipients(), 1)
	m.Invitation = []byte{1}
	require.Contains(t, refused[stoav1.GovRootOp, codec.RootOp](t, m), "invitation: ")
	created, _ := goes[stoav1.GovRootOp](t, codec.RootOp{Kind: codec.RootGroupCreated})
	require.Equal(t, stoav1.GovUpgradePolicy_GOV_UPGRADE_POLICY_AUTO, created.GetUpgradePolicy())

	info := namespace.OpInfo{Op: &namespace.Op{ID: codec.OpID{1}, Signer: codec.Identity{2}, Root: &delivery}, Height: 3, Seq: 4}
	clear := info
	clear.Op = &namespace.Op{Version: codec.OpVersion2, ID: codec.OpID{1}, Signer: codec.Identity{2}, GroupID: codec.GroupID{4},
		Keys: []namespace.KeySkeleton{{GroupID: codec.GroupID{4}, KeyID: codec.KeyID{5}, Carried: []codec.OpID{{6}}, Recipients: []codec.Identity{{7}}}}}
	clear.Height, clear.Seq = 0, 0
	_, same := goes[stoav1.GovOp](t, clear)
	require.Equal(t, clear, same)
	_, shown := goes[stoav1.GovOp](t, info)
	info.Height, info.Seq = 0, 0
	require.Equal(t, info, shown)
	by := op.NewFields[stoav1.GovOp, namespace.OpInfo]()
	info.Wire = []byte{1}
	got, err := by.Message(&info)
	require.NoError(t, err)
	require.Equal(t, "op: not the bytes of the root op", refused[stoav1.GovOp, namespace.OpInfo](t, got))
}

func TestAnswersSayWhatBecameOfAnOp(t *testing.T) {
	a := namespace.Answer{Kind: namespace.Stored, ID: codec.OpID{1}, Cascade: []namespace.Answer{{Kind: namespace.Refused, Refusal: &namespace.Refusal{Detail: "x"}}},
		Equivocation: &group.Equivocation{Count: 2}}
	m, back := goes[stoav1.GovAnswer](t, a)
	require.Equal(t, a, back)
	require.Nil(t, m.GetVerdict())
	m.Cascade[0].Kind = 0
	require.Equal(t, "cascade.kind: it does not say what became of the op", refused[stoav1.GovAnswer, namespace.Answer](t, m))

	done, back2 := goes[stoav1.GovProposed](t, namespace.Proposed{Answer: a, Wire: [][]byte{{1}}, Keys: make([]namespace.GroupKey, 1)})
	require.Equal(t, namespace.Proposed{Answer: a, Wire: [][]byte{{1}}}, back2, "keys stay where they are")
	require.Len(t, done.GetOps(), 1)
}

func TestAPageOfEquivocationsGoesOnAfterOne(t *testing.T) {
	type after struct {
		NamespaceID codec.GroupID
		After       group.Equivocation
		Limit       int
	}
	a := after{NamespaceID: codec.GroupID{1}, After: group.Equivocation{Signer: codec.Identity{2}, Nonce: 3}}
	m, back := goes[stoav1.NamespaceEquivocationsRequest](t, a)
	require.Equal(t, a, back)
	m.After = m.After[1:]
	require.Equal(t, "after: 39 bytes instead of 40", refused[stoav1.NamespaceEquivocationsRequest, after](t, m))
}

// A client in another language reads the number.
func TestReasonsOfRefusalsHaveTheNumbersOfTheProtocol(t *testing.T) {
	require.Equal(t, len(stoav1.GovRefusalReason_name), int(namespace.NotFollowed)+1)
	for r := namespace.BadForm; r <= namespace.NotFollowed; r++ {
		want := "GOV_REFUSAL_REASON_" + strings.ToUpper(strings.ReplaceAll(r.String(), " ", "_"))
		require.Equal(t, want, stoav1.GovRefusalReason(r).String())
	}
}
