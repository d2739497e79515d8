package group

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"slices"
	"testing"

	"filippo.io/edwards25519"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

// oddPoints returns 16 encodings that decode to points of small order, or only
// nearly: five y coordinates and two that are not reduced, each with both signs of x,
// and two more whose y is above p.
func oddPoints() (points [][32]byte) {
	add := func(y [32]byte) {
		signed := y
		signed[31] |= 0x80
		points = append(points, y, signed)
	}
	for _, y := range smallOrder {
		add(y)
	}
	p := smallOrder[2]
	for _, low := range []byte{0xED, 0xEE, 0xFF} { // p, p+1, 2^255-1
		p[0] = low
		add(p)
	}
	return points
}

func TestSmallOrderIsWhatTheCurveSays(t *testing.T) {
	decoded := 0
	for _, b := range oddPoints() {
		require.False(t, Sound(b), "%x", b)
		point, err := new(edwards25519.Point).SetBytes(b[:])
		if err != nil {
			continue
		}
		decoded++
		small := new(edwards25519.Point).MultByCofactor(point).Equal(edwards25519.NewIdentityPoint()) == 1
		require.True(t, small || !bytes.Equal(point.Bytes(), b[:]), "%x is neither small nor unreduced", b)
	}
	require.GreaterOrEqual(t, decoded, 14)
	// all eight points are there: the multiples of one of order 8
	eighth, err := new(edwards25519.Point).SetBytes(smallOrder[3][:])
	require.NoError(t, err)
	sum, seen := edwards25519.NewIdentityPoint(), map[string]bool{}
	for range 8 {
		b := [32]byte(sum.Bytes())
		require.False(t, Sound(b))
		seen[string(b[:])] = true
		sum.Add(sum, eighth)
	}
	require.Len(t, seen, 8)
}

// Go's verifier accepts hundreds of these: signatures that nobody made, by keys that
// nobody has.
func TestSmallOrderForgeriesAreRefused(t *testing.T) {
	accepted, cases := 0, 0
	for _, key := range oddPoints() {
		for _, r := range oddPoints() {
			for n := range uint64(16) {
				var sig codec.Signature // S = 0
				copy(sig[:], r[:])
				body := binary.LittleEndian.AppendUint64(nil, n)
				cases++
				if ed25519.Verify(key[:], body, sig[:]) {
					accepted++
				}
				require.ErrorIs(t, Verify(key, "", body, sig), ErrSignature)
			}
		}
	}
	require.Equal(t, 4096, cases)
	require.Greater(t, accepted, 100, "the cases are no forgeries")
}

func TestOnlyTheSignersSignatureVerifies(t *testing.T) {
	seed := codec.Secret{1, 2, 3}
	signer, body := IdentityOf(seed), []byte("body")
	sig := Sign(seed, DomainGroup, body)
	require.NoError(t, Verify(signer, DomainGroup, body, sig))
	require.ErrorIs(t, Verify(signer, DomainJoin, body, sig), ErrSignature)
	require.ErrorIs(t, Verify(IdentityOf(codec.Secret{1}), DomainGroup, body, sig), ErrSignature)
	require.ErrorIs(t, Verify(signer, DomainGroup, []byte("other"), sig), ErrSignature)
	for i := range sig {
		bad := sig
		bad[i] ^= 1
		require.ErrorIs(t, Verify(signer, DomainGroup, body, bad), ErrSignature)
	}
	// S + L is another form of the same S
	order := []byte{0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 31: 0x10}
	bad, carry := sig, 0
	for i := range order {
		carry += int(sig[32+i]) + int(order[i])
		bad[32+i], carry = byte(carry), carry>>8
	}
	require.ErrorIs(t, Verify(signer, DomainGroup, body, bad), ErrSignature)
}

func TestSoundPointsPass(t *testing.T) {
	for n := range byte(50) {
		require.True(t, Sound(IdentityOf(codec.Secret{n})))
	}
	y := smallOrder[2]
	y[0]-- // p-2
	require.True(t, Sound(y))
}

func TestNoDomainBeginsAnother(t *testing.T) {
	domains := []string{DomainGroup, DomainInvitation, DomainJoin}
	for i, a := range domains {
		for k, b := range domains {
			require.False(t, i != k && bytes.HasPrefix([]byte(b), []byte(a)))
		}
	}
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(domains))), len(domains))
}

func TestInvitationsBindAllTheyName(t *testing.T) {
	inviter, joiner := codec.Secret{1}, codec.Secret{2}
	v := codec.Invitation{NamespaceID: codec.GroupID{1}, GroupID: codec.GroupID{2}, Role: codec.Member,
		Inviter: IdentityOf(inviter), ExpiresAt: 7, Nonce: codec.Hash{9}}
	require.NoError(t, SignInvitation(&v, inviter))
	require.NoError(t, VerifyInvitation(&v))
	sig, err := SignJoin(&v, joiner)
	require.NoError(t, err)
	require.NoError(t, VerifyJoin(&v, IdentityOf(joiner), sig))
	require.ErrorIs(t, VerifyJoin(&v, IdentityOf(inviter), sig), ErrSignature)
	id, err := InvitationID(&v)
	require.NoError(t, err)
	for name, change := range map[string]func(*codec.Invitation){
		"namespace": func(v *codec.Invitation) { v.NamespaceID[0]++ },
		"group":     func(v *codec.Invitation) { v.GroupID[0]++ },
		"role":      func(v *codec.Invitation) { v.Role = codec.Admin },
		"inviter":   func(v *codec.Invitation) { v.Inviter = IdentityOf(joiner) },
		"invitee":   func(v *codec.Invitation) { v.Invitee = codec.Some(codec.Identity{1}) },
		"expiry":    func(v *codec.Invitation) { v.ExpiresAt++ },
		"nonce":     func(v *codec.Invitation) { v.Nonce[0]++ },
	} {
		other := v
		change(&other)
		require.ErrorIs(t, VerifyInvitation(&other), ErrSignature, name)
		require.ErrorIs(t, VerifyJoin(&other, IdentityOf(joiner), sig), ErrSignature, name)
		otherID, err := InvitationID(&other)
		require.NoError(t, err)
		require.NotEqual(t, id, otherID, name)
	}
}
