package group

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

// opVector is an op with all that is computed from it, in hex.
type opVector struct {
	Name      string          `json:"name"`
	Op        json.RawMessage `json:"op"`        // as JSON of SignedGroupOp or Invitation
	Unsigned  string          `json:"unsigned"`  // what is signed, without the domain
	Signature string          `json:"signature"` // by the seed 010000…, of an invitation also
	ID        string          `json:"id,omitempty"`
}

// naive writes borsh by hand: it knows no types, only what the README says.
type naive struct{ bytes.Buffer }

func (n *naive) id(b byte) *naive    { n.Write(bytes.Repeat([]byte{b}, 32)); return n }
func (n *naive) u8(b ...byte) *naive { n.Write(b); return n }
func (n *naive) u64(v uint64) *naive { return n.le(v, 8) }
func (n *naive) u32(v uint64) *naive { return n.le(v, 4) }
func (n *naive) str(s string) *naive { n.u32(uint64(len(s))).WriteString(s); return n }
func (n *naive) raw(b []byte) *naive { n.Write(b); return n }
func (n *naive) le(v uint64, size int) *naive {
	for range size {
		n.WriteByte(byte(v))
		v >>= 8
	}
	return n
}

func fill[T ~[32]byte](b byte) (v T) {
	for i := range v {
		v[i] = b
	}
	return v
}

// groupOps is one op of each kind, and its bytes by hand.
func groupOps() (ops []codec.GroupOp, encoded [][]byte) {
	add := func(op codec.GroupOp, n *naive) {
		ops, encoded = append(ops, op), append(encoded, n.Bytes())
	}
	start := func(tag byte) *naive { return new(naive).u8(tag) }
	m, c := fill[codec.Identity](0x44), fill[codec.ContextID](0x55)
	add(codec.GroupOp{Kind: 0, Member: m, Role: codec.ReadOnly}, start(0).id(0x44).u8(2))
	add(codec.GroupOp{Kind: 1, Member: m}, start(1).id(0x44))
	add(codec.GroupOp{Kind: 2}, start(2))
	add(codec.GroupOp{Kind: 3, Member: m, Role: codec.Member}, start(3).id(0x44).u8(1))
	add(codec.GroupOp{Kind: 4, Member: m, Capabilities: 0x41}, start(4).id(0x44).u32(0x41))
	add(codec.GroupOp{Kind: 5, Capabilities: 2}, start(5).u32(2))
	add(codec.GroupOp{Kind: 6, UpgradePolicy: codec.UpgradeFrozen}, start(6).u8(2))
	add(codec.GroupOp{Kind: 7, AppKey: fill[codec.Hash](0x66), TargetApplicationID: fill[codec.ApplicationID](0x77)}, start(7).id(0x66).id(0x77))
	add(codec.GroupOp{Kind: 8, FromVersion: 1, ToVersion: 2, Total: 3, Migration: codec.Some("up"), At: 4}, start(8).u64(1).u64(2).u64(3).u8(1).str("up").u64(4))
	add(codec.GroupOp{Kind: 9, Completed: 5, Failed: 6}, start(9).u64(5).u64(6))
	add(codec.GroupOp{Kind: 10, At: 7}, start(10).u64(7))
	add(codec.GroupOp{Kind: 11, ContextID: c}, start(11).id(0x55))
	add(codec.GroupOp{Kind: 12, ContextID: c}, start(12).id(0x55))
	add(codec.GroupOp{Kind: 13, ContextID: c, Method: "up"}, start(13).id(0x55).str("up"))
	add(codec.GroupOp{Kind: 14, Member: m, Name: codec.Some(codec.AliasName("é"))}, start(14).id(0x44).u8(1).str("é"))
	add(codec.GroupOp{Kind: 15}, start(15).u8(0))
	add(codec.GroupOp{Kind: 16, ContextID: c, Name: codec.Some(codec.AliasName("c"))}, start(16).id(0x55).u8(1).str("c"))
	add(codec.GroupOp{Kind: 17, ContextID: c, Identity: fill[codec.Identity](0x88)}, start(17).id(0x55).id(0x88))
	add(codec.GroupOp{Kind: 18, ContextID: c, Member: m, Capability: codec.Some(codec.ContextCapability(3))}, start(18).id(0x55).id(0x44).u8(1, 3))
	add(codec.GroupOp{Kind: 19}, start(19).u8(0))
	add(codec.GroupOp{Kind: 20, Member: m}, start(20).id(0x44))
	add(codec.GroupOp{Kind: 21}, start(21))
	add(codec.GroupOp{Kind: 22, ContextID: c, Number: 8, Placement: codec.Signature(bytes.Repeat([]byte{0x99}, 64))}, start(22).id(0x55).u64(8).id(0x99).id(0x99))
	add(codec.GroupOp{Kind: 23, Members: []codec.Identity{m, fill[codec.Identity](0x45)}}, start(23).u32(2).id(0x44).id(0x45))
	return ops, encoded
}

func TestGoldenVectors(t *testing.T) {
	seed := codec.Secret{1}
	key := ed25519.NewKeyFromSeed(seed[:])
	signer := codec.Identity(key.Public().(ed25519.PublicKey))
	ops, encoded := groupOps()
	require.Len(t, ops, len(groupAccess), "every kind has a vector")
	signed, _ := codec.TypeByName("SignedGroupOp")
	invitation, _ := codec.TypeByName("Invitation")
	var vectors []opVector
	finish := func(name string, typ codec.Type, unsigned []byte, domain string) []byte {
		sig := ed25519.Sign(key, slices.Concat([]byte(domain), unsigned))
		whole := slices.Concat(unsigned, sig)
		text, err := typ.JSON(whole, false)
		require.NoError(t, err, name)
		vectors = append(vectors, opVector{Name: name, Op: text, Unsigned: hex.EncodeToString(unsigned), Signature: hex.EncodeToString(sig)})
		return whole
	}
	for i, op := range ops {
		n := new(naive).u8(1).id(0x22).u32(2).id(0x10).id(0x11).raw(signer[:]).u64(9).raw(encoded[i])
		whole := finish(op.Kind.String(), signed, n.Bytes(), "stoa.group.v1")
		made := codec.SignedGroupOp{GroupID: fill[codec.GroupID](0x22), Parents: []codec.OpID{fill[codec.OpID](0x10), fill[codec.OpID](0x11)},
			Signer: signer, Nonce: 9, Op: op}
		require.NoError(t, SignOp(&made, seed))
		b, err := made.AppendBinary(nil)
		require.NoError(t, err)
		require.Equal(t, hex.EncodeToString(whole), hex.EncodeToString(b), op.Kind)
		require.NoError(t, VerifyOp(b, signer))
	}
	n := new(naive).id(0x33).id(0x22).u8(1).raw(signer[:]).u8(1).id(0x44).u64(5).id(0x99)
	whole := finish("invitation", invitation, n.Bytes(), "stoa.invitation.v1")
	sum := sha256.Sum256(slices.Concat([]byte("stoa.invitation.v1"), whole))
	vectors[len(vectors)-1].ID = hex.EncodeToString(sum[:])
	made := codec.Invitation{NamespaceID: fill[codec.GroupID](0x33), GroupID: fill[codec.GroupID](0x22), Role: codec.Member, Inviter: signer,
		Invitee: codec.Some(fill[codec.Identity](0x44)), ExpiresAt: 5, Nonce: fill[codec.Hash](0x99)}
	require.NoError(t, SignInvitation(&made, seed))
	b, err := made.AppendBinary(nil)
	require.NoError(t, err)
	require.Equal(t, whole, b)
	id, err := InvitationID(&made)
	require.NoError(t, err)
	require.Equal(t, codec.Hash(sum), id)
	joining := ed25519.Sign(key, slices.Concat([]byte("stoa.join.v1"), whole, signer[:]))
	sig, err := SignJoin(&made, seed)
	require.NoError(t, err)
	require.Equal(t, joining, sig[:])
	requireVectors(t, vectors)
}

func requireVectors(t *testing.T, vectors []opVector) {
	const file = "testdata/ops.json"
	text, err := json.MarshalIndent(vectors, "", " ")
	require.NoError(t, err)
	text = append(text, '\n')
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, text, 0o644))
	}
	stored, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, bytes.Equal(text, stored), "%s is not what the definition gives; if that has changed: go test ./group -update", file)
}
