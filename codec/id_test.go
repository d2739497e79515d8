package codec

import (
	marshal "encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// idText is what every id can do with text.
type idText interface {
	comparable
	fmt.Stringer
	marshal.TextMarshaler
	IsZero() bool
}

func TestIDsAreLowerCaseHex(t *testing.T) {
	testID[Hash](t)
	testID[ContextID](t)
	testID[DeltaID](t)
	testID[OpID](t)
	testID[GroupID](t)
	testID[Identity](t)
	testID[ApplicationID](t)
	testID[BlobID](t)
	testID[KeyID](t)
}

func testID[T interface {
	~[32]byte
	idText
}, P interface {
	*T
	marshal.TextUnmarshaler
}](t *testing.T) {
	id := T{0: 0xAB, 31: 1}
	text := "ab" + strings.Repeat("00", 30) + "01"
	require.Equal(t, text, id.String())
	quoted, err := json.Marshal(id)
	require.NoError(t, err)
	require.Equal(t, `"`+text+`"`, string(quoted))
	require.True(t, T{}.IsZero())
	require.False(t, id.IsZero())

	var back T
	require.NoError(t, json.Unmarshal(quoted, P(&back)))
	require.Equal(t, id, back)
	for _, bad := range []string{"", text[1:], text + "00", strings.ToUpper(text), "zz" + text[2:], " " + text[1:]} {
		require.ErrorIs(t, P(&back).UnmarshalText([]byte(bad)), ErrMalformed, bad)
	}
}

func TestNodeIDsAreDecimal(t *testing.T) {
	edges := []uint64{0, 1, 9, 10, tenTo19 - 1, tenTo19, tenTo19 + 1, 1 << 63, 1<<64 - 1}
	for _, hi := range edges {
		for _, lo := range edges {
			requireDecimal(t, NodeID{hi, lo})
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		requireDecimal(t, NodeID{rapid.Uint64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")})
	})
}

func requireDecimal(t require.TestingT, id NodeID) {
	want := new(big.Int).Lsh(new(big.Int).SetUint64(id.Hi), 64)
	want.Or(want, new(big.Int).SetUint64(id.Lo))
	require.Equal(t, want.String(), id.String())
	back, err := ParseNodeID(id.String())
	require.NoError(t, err)
	require.Equal(t, id, back)
}

func TestPeopleAreShownNodeIDsInHex(t *testing.T) {
	require.Equal(t, "000000000000000a0000000000000b0c", NodeID{0xa, 0xb0c}.Hex())
	require.Equal(t, "315cbe03fd9eeda4f0e1128abc27766a", NodeID{0x315cbe03fd9eeda4, 0xf0e1128abc27766a}.Hex())
}

func TestNodeIDsOrderAsNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.Uint64Max(3)
		a := NodeID{small.Draw(t, "a.hi"), small.Draw(t, "a.lo")}
		b := NodeID{small.Draw(t, "b.hi"), small.Draw(t, "b.lo")}
		want := (a.Hi*4 + a.Lo) < (b.Hi*4 + b.Lo)
		require.Equal(t, want, a.Compare(b) < 0)
		require.Equal(t, a == b, a.Compare(b) == 0)
	})
}

func TestNodeIDsRefuseOtherText(t *testing.T) {
	over := new(big.Int).Lsh(big.NewInt(1), 128)
	for _, bad := range []string{"", "-1", "+1", " 1", "1e3", "0x1", "1.0", over.String(), strings.Repeat("9", 39), strings.Repeat("9", 60)} {
		_, err := ParseNodeID(bad)
		require.ErrorIs(t, err, ErrMalformed, bad)
	}
	most, err := ParseNodeID(over.Sub(over, big.NewInt(1)).String())
	require.NoError(t, err)
	require.Equal(t, NodeID{1<<64 - 1, 1<<64 - 1}, most)
}

func TestEnumsAndCapabilitiesHaveNames(t *testing.T) {
	require.Equal(t, "read_only", ReadOnly.String())
	require.Equal(t, "GroupMemberRole(9)", GroupMemberRole(9).String())
	require.Equal(t, "frozen", UpgradeFrozen.String())
	require.Equal(t, "delete", ActionDelete.String())
	require.Equal(t, "completed", UpgradeCompleted.String())

	require.Equal(t, "none", Capabilities(0).String())
	require.Equal(t, "manage_members|invite_members|0x80", (ManageMembers | InviteMembers | 0x80).String())
	require.Equal(t, Capabilities(0x7F), AllCapabilities)
	require.Len(t, capabilityNames, 7)
	require.True(t, AllCapabilities.Has(ManageAliases|ManageSubgroups))
	require.False(t, ManageAliases.Has(ManageAliases|ManageSubgroups))
	require.Equal(t, ManageContexts, ContextCapability(2).Capabilities())
}

func TestIDsAscend(t *testing.T) {
	a, b, c := BlobID{1}, BlobID{1, 1}, BlobID{2}
	for _, up := range [][]BlobID{nil, {c}, {a, b}, {a, b, c}} {
		require.True(t, Ascending(up), "%v", up)
	}
	for _, down := range [][]BlobID{{b, a}, {a, a}, {a, c, b}, {a, b, b}} {
		require.False(t, Ascending(down), "%v", down)
	}
}
