package codec

import (
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/near/borsh-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// near/borsh-go v0.3.1 is an independent reading of borsh, and so an oracle: what
// this package accepts it must accept too, with the same content, and both must
// write the same bytes. It is known to differ, in what it accepts:
//
//   - None decodes as Some of the zero value;
//   - an option byte from 2 to 255 is Some;
//   - trailing bytes are ignored;
//   - strings need not be UTF-8;
//   - the tag of an enum without payload may be out of range;
//   - a count is trusted: 4 GiB are allocated for a string that claims them;
//   - map keys may be unsorted or repeated (no record here has a map).
//
// And it does not know the rules of single types: node ids that are not 0, names
// of aliases, capability bits, keys of 32 bytes.

// tolerated are the reasons of this package for refusing what borsh-go may read
// on from, or what holds a count that it would trust. It is not asked then.
var tolerated = []string{"trailing byte", "invalid UTF-8", "option byte", "out of range", "not a node id",
	"capability bits", "name", "instead of 32", "larger than the input", " left"}

// The mirrors describe the records anew, as borsh-go wants them.
type (
	mirrorService struct {
		Name               string
		Bytecode, Compiled [32]byte
	}
	mirrorApplication struct {
		ID, Bytecode               [32]byte
		Size                       uint64
		Source                     string
		Metadata                   []byte
		Compiled                   [32]byte
		Package, Version, SignerID string
		Services                   []mirrorService
	}
	mirrorContextMeta struct {
		Application mirrorApplication
		RootHash    [32]byte
		Heads       [][32]byte
	}
	mirrorContextConfig   struct{ Application, Members uint64 }
	mirrorContextIdentity struct{ Private, Sender *[32]byte }
	mirrorClock           struct {
		Time uint64
		ID   big.Int
	}
	mirrorPut    struct{ Key, Value []byte }
	mirrorDelete struct{ Key []byte }
	mirrorAction struct {
		Kind   borsh.Enum `borsh_enum:"true"`
		Put    mirrorPut
		Delete mirrorDelete
	}
	mirrorEvent struct {
		Kind string
		Data []byte
	}
	mirrorDelta struct {
		ID      [32]byte
		Parents [][32]byte
		Actions []mirrorAction
		Clock   mirrorClock
		Applied bool
		Root    [32]byte
		Events  []mirrorEvent
	}
	mirrorBlob struct {
		Size   uint64
		Hash   [32]byte
		Chunks uint32
	}
	mirrorGroup struct {
		AppKey, Target [32]byte
		Policy         borsh.Enum
		CreatedAt      uint64
		Admin          [32]byte
		Migration      *string
	}
	mirrorProgress struct{ Total, Completed, Failed uint64 }
	mirrorDone     struct{ At uint64 }
	mirrorStatus   struct {
		Phase    borsh.Enum `borsh_enum:"true"`
		Progress mirrorProgress
		Done     mirrorDone
	}
	mirrorUpgrade struct {
		From, To  uint64
		Migration *string
		At        uint64
		By        [32]byte
		Status    mirrorStatus
	}
	mirrorRole   struct{ Role borsh.Enum }
	mirrorMask   struct{ Capabilities uint32 }
	mirrorMask8  struct{ Capabilities uint8 }
	mirrorNumber struct{ N uint64 }
	mirrorText   struct{ S string }
	mirrorBytes  struct{ B []byte }
	mirrorID     struct{ ID [32]byte }
	mirrorHead   struct {
		Sequence uint64
		Heads    [][32]byte
	}
	mirrorIdentity struct{ Public, Private, Sender [32]byte }
	mirrorEnvelope struct {
		Version         uint8
		Context, Author [32]byte
		Cut             [][32]byte
		KeyOp           [32]byte
		Parents         [][32]byte
		Nonce           [24]byte
		Sealed          []byte
		Signature       [64]byte
	}
)

// mirrors holds the mirror of each Go type; none for those that are raw or empty.
var mirrors = map[string]any{
	"codec.ContextMetaValue": mirrorContextMeta{}, "codec.ContextConfigValue": mirrorContextConfig{},
	"codec.ContextIdentityValue": mirrorContextIdentity{}, "codec.ContextDagDeltaValue": mirrorDelta{},
	"codec.Action": mirrorAction{}, "codec.Event": mirrorEvent{}, "codec.HybridTimestamp": mirrorClock{},
	"codec.BlobMeta": mirrorBlob{}, "codec.ApplicationMeta": mirrorApplication{}, "codec.ServiceMeta": mirrorService{},
	"codec.AliasValue": mirrorID{}, "codec.GroupMetaValue": mirrorGroup{}, "codec.UpgradePolicy": mirrorRole{},
	"codec.GroupMemberRole": mirrorRole{}, "codec.GroupRefValue": mirrorID{}, "codec.ParentRefValue": mirrorID{},
	"codec.MemberContextValue": mirrorID{}, "codec.GroupUpgradeValue": mirrorUpgrade{},
	"codec.GroupUpgradeStatus": mirrorStatus{}, "codec.GroupSigningKeyValue": mirrorID{},
	"codec.GroupKeyValue": mirrorBytes{}, "codec.GroupMemberCapabilityValue": mirrorMask{},
	"codec.GroupDefaultCapsValue": mirrorMask{}, "codec.ContextCapability": mirrorMask8{}, "codec.Nonce": mirrorNumber{},
	"codec.AliasName": mirrorText{}, "codec.GroupContextLastMigrationValue": mirrorText{}, "codec.OpLogValue": mirrorBytes{},
	"codec.NamespaceGovOpValue": mirrorBytes{}, "codec.GroupOpHeadValue": mirrorHead{},
	"codec.NamespaceGovHeadValue": mirrorHead{}, "codec.NamespaceIdentityValue": mirrorIdentity{},
	"codec.DeltaEnvelope": mirrorEnvelope{},
}

var notBorsh = []string{"codec.Raw", "codec.BlobChunk", "codec.Present"}

// encodedElsewhere are the ops of governance, whose flat form no mirror has: the
// vectors of packages group and namespace come from an encoder of their own.
var encodedElsewhere = []string{"codec.GroupOp", "codec.SignedGroupOp", "codec.RootOp", "codec.NamespaceOp",
	"codec.SignedNamespaceOp", "codec.StoredNamespaceOp", "codec.OpaqueSkeleton", "codec.RotationSkeleton",
	"codec.Invitation", "codec.KeyEnvelope", "codec.PreviousKey", "codec.KeyRotation", "codec.CarriedKey", "codec.NewKey", "codec.SealedSkeleton", "codec.StatedMember"}

// viaOracle decodes src as borsh-go does, and encodes the result again.
func viaOracle(k kind, src []byte) ([]byte, error) {
	v := reflect.New(reflect.TypeOf(mirrors[k.typ.Go]))
	if err := borsh.Deserialize(v.Interface(), src); err != nil {
		return nil, err
	}
	return borsh.Serialize(v.Elem().Interface())
}

// withoutNones returns v with every absent option present and zero, which is how
// borsh-go reads it.
func withoutNones(v any) any {
	copied := reflect.New(reflect.TypeOf(v)).Elem()
	copied.Set(reflect.ValueOf(v))
	switch p := copied.Addr().Interface().(type) {
	case *ContextIdentityValue:
		p.PrivateKey.Valid, p.SenderKey.Valid = true, true
	case *GroupMetaValue:
		p.Migration.Valid = true
	case *GroupUpgradeValue:
		p.Migration.Valid = true
	}
	return copied.Interface()
}

func agreeWithOracle(t require.TestingT, k kind, src []byte) {
	if mirrors[k.typ.Go] == nil {
		return
	}
	v, err := k.decode(src)
	if err == nil {
		theirs, err := viaOracle(k, src)
		require.NoError(t, err, "accepted here only")
		ours, err := k.encode(withoutNones(v), nil)
		require.NoError(t, err)
		require.Equal(t, ours, theirs)
		return
	}
	if !containsAny(err.Error(), tolerated) {
		_, theirs := viaOracle(k, src)
		require.Error(t, theirs, "accepted by borsh-go only: %v", err)
	}
}

func containsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

func TestEveryBorshTypeHasAMirror(t *testing.T) {
	for _, k := range kinds {
		require.NotEqual(t, mirrors[k.typ.Go] != nil, containsAny(k.typ.Go, notBorsh) || slices.Contains(encodedElsewhere, k.typ.Go), k.typ.Go)
	}
}

func TestBorshGoReadsAndWritesTheSameBytes(t *testing.T) {
	properties(t, func(t *testing.T, k kind) {
		rapid.Check(t, func(t *rapid.T) {
			b, err := k.encode(k.draw(t), nil)
			require.NoError(t, err)
			agreeWithOracle(t, k, b)
		})
	})
}

func TestBorshGoWritesNoneAsWeDo(t *testing.T) {
	key, name := [32]byte{1}, "m"
	for _, c := range []struct {
		ours   interface{ AppendBinary([]byte) ([]byte, error) }
		mirror any
	}{
		{ContextIdentityValue{}, mirrorContextIdentity{}},
		{ContextIdentityValue{PrivateKey: Some(Secret(key))}, mirrorContextIdentity{Private: &key}},
		{GroupMetaValue{}, mirrorGroup{}},
		{GroupMetaValue{Migration: Some(name)}, mirrorGroup{Migration: &name}},
	} {
		ours, err := c.ours.AppendBinary(nil)
		require.NoError(t, err)
		theirs, err := borsh.Serialize(c.mirror)
		require.NoError(t, err)
		require.Equal(t, theirs, ours)
	}
}

// Each difference is held here, so that the list above stays true.
func TestKnownDifferencesOfBorshGo(t *testing.T) {
	var none mirrorContextIdentity
	require.NoError(t, borsh.Deserialize(&none, []byte{0, 0}))
	require.NotNil(t, none.Private)

	var some mirrorContextIdentity
	require.NoError(t, borsh.Deserialize(&some, append([]byte{0, 7}, make([]byte, 32)...)))

	var number mirrorNumber
	require.NoError(t, borsh.Deserialize(&number, make([]byte, 9)))

	var text mirrorText
	require.NoError(t, borsh.Deserialize(&text, []byte{1, 0, 0, 0, 0xFF}))

	var role mirrorRole
	require.NoError(t, borsh.Deserialize(&role, []byte{9}))

	got := allocated(func() { _ = borsh.Deserialize(&text, []byte{0, 0, 1, 0}) }, 0)
	require.Greater(t, got, allocationBound(4), "it trusts a count of 64 KiB")
}

// FuzzBorsh compares with borsh-go on any input.
func FuzzBorsh(f *testing.F) {
	seedValues(f)
	f.Fuzz(func(t *testing.T, which uint8, src []byte) {
		agreeWithOracle(t, kinds[int(which)%len(kinds)], src)
	})
}
