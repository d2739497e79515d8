package group

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/binary"
	"math/big"
	"slices"
	"sync"
	"testing"

	"filippo.io/edwards25519"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/enginetest"
)

// groupOrder is the order of the base point.
func groupOrder() *big.Int {
	l, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	return l
}

func scalarOf(t require.TestingT, n *big.Int) *edwards25519.Scalar {
	b := n.FillBytes(make([]byte, 32))
	slices.Reverse(b)
	s, err := new(edwards25519.Scalar).SetCanonicalBytes(b)
	require.NoError(t, err)
	return s
}

// mixed returns the encoding of seed's public point plus a point of order 8: a key that
// passes for one, of which what verifies depends on how it is multiplied.
func mixed(t require.TestingT, seed codec.Secret) codec.Identity {
	a, id := new(edwards25519.Point), IdentityOf(seed)
	_, err := a.SetBytes(id[:])
	require.NoError(t, err)
	torsion, err := new(edwards25519.Point).SetBytes(smallOrder[3][:])
	require.NoError(t, err)
	return codec.Identity(a.Add(a, torsion).Bytes())
}

func TestMultiplesAreThoseOfTheCurve(t *testing.T) {
	var scalars []*big.Int
	one := big.NewInt(1)
	for bit := range uint(253) { // every carry of every window
		p := new(big.Int).Lsh(one, bit)
		for _, n := range []*big.Int{p, new(big.Int).Sub(p, one), new(big.Int).Sub(groupOrder(), p)} {
			if n.Sign() >= 0 && n.Cmp(groupOrder()) < 0 {
				scalars = append(scalars, n)
			}
		}
	}
	for _, digit := range []int64{0x0f, 0x10, 0x11, 0x7f, 0x80, 0x81, 0xff} {
		n := new(big.Int)
		for range 31 {
			n.Or(n.Lsh(n, 8), big.NewInt(digit))
		}
		scalars = append(scalars, n)
	}
	key := mixed(t, codec.Secret{1})
	point, err := new(edwards25519.Point).SetBytes(key[:])
	require.NoError(t, err)
	base, of := multiplesOfBase(), multiplesOfKey(key)
	for _, n := range scalars {
		s := scalarOf(t, n)
		sum := identityPoint()
		base.addTo(&sum, s.Bytes())
		require.Equal(t, new(edwards25519.Point).ScalarBaseMult(s).Bytes(), sumBytes(sum), "%x", n)
		sum = identityPoint()
		of.addTo(&sum, s.Bytes())
		want := new(edwards25519.Point).ScalarMult(s, point)
		require.Equal(t, want.Negate(want).Bytes(), sumBytes(sum), "%x", n)
	}
}

func sumBytes(p extended) []byte {
	b := encodings([]extended{identityPoint(), p, identityPoint()})[1]
	return b[:]
}

// What the tables confirm is what crypto/ed25519 does, of keys and signatures that are
// good, spoilt, of small or of mixed order, or not reduced.
func TestTablesSayWhatEd25519Says(t *testing.T) {
	base := multiplesOfBase()
	said := map[bool]int{}
	agree := func(t require.TestingT, key *multiples, signer codec.Identity, message []byte, sig codec.Signature) {
		want := ed25519.Verify(signer[:], message, sig[:])
		sum, ok := commitment(base, key, &SignedMessage{signer, message, sig})
		require.Equal(t, want, ok && bytes.Equal(sumBytes(sum), sig[:32]), "%x %x %x", signer, message, sig)
		said[want]++
	}
	for _, signer := range oddPoints() {
		if _, err := new(edwards25519.Point).SetBytes(signer[:]); err != nil {
			continue
		}
		key := multiplesOfKey(signer)
		for _, r := range oddPoints() {
			for n := range uint64(16) {
				var sig codec.Signature
				copy(sig[:], r[:])
				agree(t, key, signer, binary.LittleEndian.AppendUint64(nil, n), sig)
			}
		}
	}
	require.Greater(t, said[true], 100)
	clear(said)
	enginetest.Check(t, 60, func(t *rapid.T) {
		seed := codec.Secret(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed"))
		signer := IdentityOf(seed)
		if rapid.Bool().Draw(t, "mixed") {
			signer = mixed(t, seed)
		}
		key := multiplesOfKey(signer)
		for range 16 {
			message := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "message")
			sig := signedFor(t, seed, signer, message)
			agree(t, key, signer, message, sig)
			sig[rapid.IntRange(0, 63).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			agree(t, key, signer, message, sig)
		}
	})
	require.Positive(t, said[true])
	require.Positive(t, said[false])
}

// signedFor returns what the holder of seed signs as the key of signer, which may differ
// from its own by a point of small order: it verifies where that is multiplied away.
func signedFor(t require.TestingT, seed codec.Secret, signer codec.Identity, message []byte) (sig codec.Signature) {
	h := sha512.Sum512(seed[:])
	a, err := new(edwards25519.Scalar).SetBytesWithClamping(h[:32])
	require.NoError(t, err)
	nonce := sha512.Sum512(append(h[32:], message...))
	r, err := new(edwards25519.Scalar).SetUniformBytes(nonce[:])
	require.NoError(t, err)
	copy(sig[:], new(edwards25519.Point).ScalarBaseMult(r).Bytes())
	sum := sha512.Sum512(slices.Concat(sig[:32], signer[:], message))
	k, err := new(edwards25519.Scalar).SetUniformBytes(sum[:])
	require.NoError(t, err)
	copy(sig[32:], k.MultiplyAdd(k, a, r).Bytes())
	return sig
}

// A verifier says the same before and after it has made a table, to any number at once,
// and keeps no more than it may.
func TestVerifierRemembersWhoSignsOften(t *testing.T) {
	var v Verifier
	seed := codec.Secret{7}
	signer, message := IdentityOf(seed), []byte(DomainOpOfTests+"message")
	sig := Sign(seed, DomainOpOfTests, []byte("message"))
	spoilt := sig
	spoilt[40] ^= 1
	unreduced := signer
	for i := range unreduced {
		unreduced[i] = 0xFF
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 2 * signaturesBefore {
				if v.VerifyMessage(signer, message, sig) != nil || v.VerifyMessage(signer, message, spoilt) == nil ||
					v.VerifyMessage(unreduced, message, sig) == nil || v.VerifyMessage(signer, message[1:], sig) == nil {
					t.Error("the verifier errs")
				}
			}
		})
	}
	all.Wait()
	require.Contains(t, v.known, signer)
	require.NotContains(t, v.known, unreduced)
	require.Empty(t, v.often)
	for i := range mostKnown + 3 {
		seed := codec.Secret{8, byte(i)}
		signer := IdentityOf(seed)
		sig := Sign(seed, DomainOpOfTests, []byte("message"))
		v.often[signer] = signaturesBefore - 1
		require.NoError(t, v.VerifyMessage(signer, message, sig))
		require.Contains(t, v.known, signer)
		require.LessOrEqual(t, len(v.known), mostKnown)
		require.NoError(t, v.VerifyMessage(signer, message, sig))
	}
	for i := range mostCounted {
		v.often[codec.Identity{9, byte(i), byte(i >> 8)}] = 1
	}
	fresh := codec.Secret{10}
	require.NoError(t, v.VerifyMessage(IdentityOf(fresh), message, Sign(fresh, DomainOpOfTests, []byte("message"))))
	require.Len(t, v.often, 1)

	var none *Verifier
	require.NoError(t, none.VerifyMessage(signer, message, sig))
	require.ErrorIs(t, none.VerifyMessage(signer, message, spoilt), ErrSignature)
}

// Of many messages each is said to be what it is alone, whatever is beside it.
func TestManyMessagesAreSaidToBeWhatEachIs(t *testing.T) {
	var v Verifier
	for seed := byte(1); seed < 4; seed++ { // these have tables, the fourth has none at first
		m := SignedMessage{IdentityOf(codec.Secret{seed}), []byte(DomainOpOfTests), Sign(codec.Secret{seed}, DomainOpOfTests, nil)}
		require.NotContains(t, v.VerifyAll(slices.Repeat([]SignedMessage{m}, signaturesBefore)), false)
	}
	require.Len(t, v.known, 3)
	odd, said := oddPoints(), map[bool]int{}
	enginetest.Check(t, 60, func(t *rapid.T) {
		all := make([]SignedMessage, rapid.IntRange(0, 40).Draw(t, "messages"))
		want := make([]bool, len(all))
		for i := range all {
			c := &all[i]
			seed := codec.Secret{byte(rapid.IntRange(1, 4).Draw(t, "signer"))}
			c.Signer = IdentityOf(seed)
			c.Message = append([]byte(DomainOpOfTests), rapid.SliceOfN(rapid.Byte(), 0, 90).Draw(t, "message")...)
			c.Signature = Sign(seed, "", c.Message)
			switch rapid.IntRange(0, 9).Draw(t, "spoil") {
			case 0:
				c.Message = c.Message[1:]
			case 1:
				c.Signature[rapid.IntRange(0, 63).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			case 2:
				c.Signer = rapid.SampledFrom(odd).Draw(t, "odd")
			case 3:
				r := rapid.SampledFrom(odd).Draw(t, "odd")
				copy(c.Signature[:32], r[:])
			}
			want[i] = VerifyMessage(c.Signer, c.Message, c.Signature) == nil
			said[want[i]]++
		}
		require.Equal(t, want, v.VerifyAll(all))
		require.Equal(t, want, (*Verifier)(nil).VerifyAll(all))
	})
	require.Positive(t, said[true])
	require.Positive(t, said[false])
}

// DomainOpOfTests is a domain of no kind of signature.
const DomainOpOfTests = "stoa.test.v1"

func BenchmarkVerifier(b *testing.B) {
	seed := codec.Secret{7}
	signer, body := IdentityOf(seed), make([]byte, 350)
	sig := Sign(seed, DomainOpOfTests, body)
	message := append([]byte(DomainOpOfTests), body...)
	var v Verifier
	for range signaturesBefore {
		require.NoError(b, v.VerifyMessage(signer, message, sig))
	}
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = v.VerifyMessage(signer, message, sig)
		}
	})
	b.Run("16 known", func(b *testing.B) {
		b.ReportAllocs()
		all := slices.Repeat([]SignedMessage{{signer, message, sig}}, 16)
		for i := 0; i < b.N; i += len(all) {
			_ = v.VerifyAll(all)
		}
	})
	b.Run("ed25519", func(b *testing.B) {
		for b.Loop() {
			_ = ed25519.Verify(signer[:], message, sig[:])
		}
	})
	b.Run("table", func(b *testing.B) {
		for b.Loop() {
			_ = multiplesOfKey(signer)
		}
	})
}
