package group

import (
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/binary"
	"testing"

	"filippo.io/edwards25519"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

// challenge is the number that ties a signature to R, the key and the message.
func challenge(t testing.TB, r []byte, key codec.Identity, message []byte) *edwards25519.Scalar {
	h := sha512.New()
	h.Write(r)
	h.Write(key[:])
	h.Write(message)
	k, err := new(edwards25519.Scalar).SetUniformBytes(h.Sum(nil))
	require.NoError(t, err)
	return k
}

// A key of small order has signed every message of which the challenge takes it to the
// neutral point, with an R like any other: crypto/ed25519 accepts that from anybody.
func TestSignatureByAKeyOfSmallOrderIsRefused(t *testing.T) {
	s, err := new(edwards25519.Scalar).SetCanonicalBytes(append([]byte{7}, make([]byte, 31)...))
	require.NoError(t, err)
	var sig codec.Signature
	copy(sig[:], new(edwards25519.Point).ScalarBaseMult(s).Bytes())
	copy(sig[32:], s.Bytes())
	require.True(t, Sound([32]byte(sig[:32])))
	forged := 0
	for _, key := range oddPoints() {
		for n := range uint64(64) {
			message := binary.LittleEndian.AppendUint64(nil, n)
			if ed25519.Verify(key[:], message, sig[:]) {
				forged++
				require.ErrorIs(t, VerifyMessage(key, message, sig), ErrSignature)
				require.ErrorIs(t, new(Verifier).VerifyMessage(key, message, sig), ErrSignature)
			}
		}
	}
	require.Greater(t, forged, 16, "these are no forgeries")
}

// An R of small order says nothing of whoever drew it: the signature S = k·a is good for
// crypto/ed25519. It is refused, also by the tables of those who sign often.
func TestSignatureWithAnROfSmallOrderIsRefused(t *testing.T) {
	seed := codec.Secret{5}
	key := IdentityOf(seed)
	hashed := sha512.Sum512(seed[:])
	a, err := new(edwards25519.Scalar).SetBytesWithClamping(hashed[:32])
	require.NoError(t, err)
	often := new(Verifier)
	for n := range uint64(signaturesBefore) {
		message := binary.LittleEndian.AppendUint64(nil, n)
		require.NoError(t, often.VerifyMessage(key, message, Sign(seed, "", message)))
	}
	require.NotNil(t, often.known[key], "it has no table")
	for n := range uint64(4) {
		message := binary.LittleEndian.AppendUint64(nil, n)
		var sig codec.Signature
		sig[0] = 1 // the neutral point
		k := challenge(t, sig[:32], key, message)
		copy(sig[32:], k.Multiply(k, a).Bytes())
		require.True(t, ed25519.Verify(key[:], message, sig[:]), "it is no forgery")
		require.ErrorIs(t, VerifyMessage(key, message, sig), ErrSignature)
		require.ErrorIs(t, often.VerifyMessage(key, message, sig), ErrSignature)
	}
}
