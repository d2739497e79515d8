package namespace

import (
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"filippo.io/edwards25519"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// ErrIdentity is returned for an identity to which nothing can be sealed: no point of
// the curve, one of small order, or not in its only form.
var ErrIdentity = errors.New("namespace: not a usable identity")

// SealKey puts a group key into an envelope for recipient, with an ephemeral key from
// random that is forgotten: who finds out the recipient's seed opens it, the sender's
// is of no use. It is of version 1.
func SealKey(random io.Reader, namespace, g codec.GroupID, key codec.Secret, recipient codec.Identity) (codec.KeyEnvelope, error) {
	var seed codec.Secret
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return codec.KeyEnvelope{Recipient: recipient}, err
	}
	return sealKey(domainEnvelope, seed[:], namespace, g, key, recipient)
}

// sealKey puts a group key into an envelope for recipient, with the ephemeral key of a
// seed.
func sealKey(domain string, seed []byte, namespace, g codec.GroupID, key codec.Secret, recipient codec.Identity) (codec.KeyEnvelope, error) {
	e := codec.KeyEnvelope{Recipient: recipient}
	theirs, err := montgomery(recipient)
	if err != nil {
		return e, err
	}
	ephemeral, err := ecdh.X25519().NewPrivateKey(seed)
	if err != nil {
		return e, err
	}
	e.Ephemeral = codec.Hash(ephemeral.PublicKey().Bytes())
	shared, err := ephemeral.ECDH(theirs)
	if err != nil {
		return e, fmt.Errorf("%w: %s", ErrIdentity, recipient)
	}
	sealed, err := underShared(domain, shared, namespace, g, KeyID(key), &e, func(k codec.Secret, nonce []byte) ([]byte, error) {
		aead, err := chacha20poly1305.NewX(k[:])
		if err != nil {
			return nil, err
		}
		return aead.Seal(nil, nonce, key[:], nil), nil
	})
	copy(e.Sealed[:], sealed)
	return e, err
}

// OpenKey returns the group key in an envelope of an op of version v that is addressed to
// the holder of seed, which must have the given id; else [ErrOpen].
func OpenKey(v codec.OpVersion, seed codec.Secret, namespace, g codec.GroupID, id codec.KeyID, e *codec.KeyEnvelope) (codec.Secret, error) {
	domain := domainEnvelope
	if v == codec.OpVersion2 {
		domain = domainEnvelope2
	}
	if group.IdentityOf(seed) != e.Recipient {
		return codec.Secret{}, ErrOpen
	}
	hashed := sha512.Sum512(seed[:]) // as Ed25519 makes its scalar
	mine, err := ecdh.X25519().NewPrivateKey(hashed[:32])
	if err != nil {
		return codec.Secret{}, err
	}
	theirs, err := ecdh.X25519().NewPublicKey(e.Ephemeral[:])
	if err != nil {
		return codec.Secret{}, ErrOpen
	}
	shared, err := mine.ECDH(theirs) // refuses points of small order
	if err != nil {
		return codec.Secret{}, ErrOpen
	}
	plain, err := underShared(domain, shared, namespace, g, id, e, func(k codec.Secret, nonce []byte) ([]byte, error) {
		aead, err := chacha20poly1305.NewX(k[:])
		if err != nil {
			return nil, err
		}
		return aead.Open(nil, nonce, e.Sealed[:], nil)
	})
	if err != nil || len(plain) != len(codec.Secret{}) || KeyID(codec.Secret(plain)) != id {
		return codec.Secret{}, ErrOpen
	}
	return codec.Secret(plain), nil
}

// underShared derives a key and a nonce from a shared secret and all that an envelope
// is about, and hands them to do.
func underShared(domain string, shared []byte, namespace, g codec.GroupID, id codec.KeyID, e *codec.KeyEnvelope,
	do func(key codec.Secret, nonce []byte) ([]byte, error)) ([]byte, error) {
	info := []byte(domain)
	for _, part := range [][32]byte{namespace, g, id, e.Ephemeral, e.Recipient} {
		info = append(info, part[:]...)
	}
	okm, err := hkdf.Key(sha256.New, shared, nil, string(info), 32+chacha20poly1305.NonceSizeX)
	if err != nil {
		return nil, err
	}
	return do(codec.Secret(okm[:32]), okm[32:])
}

// montgomery returns the X25519 public key that goes with an Ed25519 one.
func montgomery(id codec.Identity) (*ecdh.PublicKey, error) {
	point, err := new(edwards25519.Point).SetBytes(id[:])
	if err != nil || !group.Sound(id) {
		return nil, fmt.Errorf("%w: %s", ErrIdentity, id)
	}
	return ecdh.X25519().NewPublicKey(point.BytesMontgomery())
}

// In version 2 nothing about a group key is random but the key itself: envelopes and
// carried keys follow from it and from the place of the op that has them, so that whoever
// holds a key can rebuild them byte for byte, and tell whether all who were to get it did.

// site is the place of an op that hands out keys of a group, to which they are bound.
type site struct {
	namespace, group codec.GroupID
	signer           codec.Identity
	nonce            uint64
	parents          []codec.OpID
}

// siteOf is the place of s.
func siteOf(s *codec.SignedNamespaceOp, g codec.GroupID) site {
	return site{s.NamespaceID, g, s.Signer, s.Nonce, s.Parents}
}

// derive returns n bytes for one use, which domain names, of a group key at that place.
func (at site) derive(domain string, key codec.Secret, what [32]byte, n int) ([]byte, error) {
	info := append([]byte(domain), at.namespace[:]...)
	info = append(info, at.group[:]...)
	info = append(info, at.signer[:]...)
	info = binary.LittleEndian.AppendUint64(info, at.nonce)
	h := sha256.New()
	for _, p := range at.parents {
		h.Write(p[:])
	}
	info = h.Sum(info)
	return hkdf.Key(sha256.New, key[:], nil, string(append(info, what[:]...)), n)
}

// envelope returns the envelope of a group key for recipient.
func (at site) envelope(key codec.Secret, recipient codec.Identity) (codec.KeyEnvelope, error) {
	seed, err := at.derive(domainEphemeral, key, recipient, 32)
	if err != nil {
		return codec.KeyEnvelope{Recipient: recipient}, err
	}
	return sealKey(domainEnvelope2, seed, at.namespace, at.group, key, recipient)
}

// envelopes returns an envelope for each recipient, sorted as an op needs them.
func (at site) envelopes(key codec.Secret, to []codec.Identity) ([]codec.KeyEnvelope, error) {
	sorted := slices.SortedFunc(slices.Values(to), codec.CompareID)
	made, faults := make([]codec.KeyEnvelope, len(sorted)), make([]error, len(sorted))
	SideBySide(len(sorted), func(i int) { made[i], faults[i] = at.envelope(key, sorted[i]) })
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return made, nil
}

// SideBySide calls fn with 0 to n-1, on all processors, for what takes some tens of µs each.
func SideBySide(n int, fn func(i int)) {
	var next atomic.Int64
	var done sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		done.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				fn(i)
			}
		})
	}
	done.Wait()
}

// carry returns an earlier key of the group, which op has introduced, sealed under key.
func (at site) carry(key codec.Secret, op codec.OpID, earlier codec.Secret) (codec.CarriedKey, error) {
	c := codec.CarriedKey{Op: op}
	okm, err := at.derive(domainCarry, key, op, 32+chacha20poly1305.NonceSizeX)
	if err != nil {
		return c, err
	}
	aead, err := chacha20poly1305.NewX(okm[:32])
	if err != nil {
		return c, err
	}
	aead.Seal(c.Sealed[:0], okm[32:], earlier[:], nil)
	return c, nil
}

// openCarried returns the earlier key that c carries under key; else [ErrOpen].
func (at site) openCarried(key codec.Secret, c *codec.CarriedKey) (codec.Secret, error) {
	okm, err := at.derive(domainCarry, key, c.Op, 32+chacha20poly1305.NonceSizeX)
	if err != nil {
		return codec.Secret{}, err
	}
	aead, err := chacha20poly1305.NewX(okm[:32])
	if err != nil {
		return codec.Secret{}, err
	}
	plain, err := aead.Open(nil, okm[32:], c.Sealed[:], nil)
	if err != nil {
		return codec.Secret{}, ErrOpen
	}
	return codec.Secret(plain), nil
}

// heldKey is a key of a group with its name.
type heldKey struct {
	op  codec.OpID // that introduces it
	key codec.Secret
}

// IntroduceKey returns what introduces a key of g in s, an op of version 2 that has its
// place and its signer: an envelope for each recipient, and the earlier keys that it is to
// open, by the ops that have introduced them.
func IntroduceKey(s *codec.SignedNamespaceOp, g codec.GroupID, key codec.Secret, carried map[codec.OpID]codec.Secret, to []codec.Identity) (codec.NewKey, error) {
	var earlier []heldKey
	for op, k := range carried {
		earlier = append(earlier, heldKey{op, k})
	}
	return siteOf(s, g).introduce(key, earlier, to)
}

// introduce returns what introduces key at a place: an envelope for each recipient, and the
// earlier keys that it is to open.
func (at site) introduce(key codec.Secret, carried []heldKey, to []codec.Identity) (codec.NewKey, error) {
	made := codec.NewKey{GroupID: at.group, KeyID: KeyID(key)}
	for _, k := range slices.SortedFunc(slices.Values(carried), func(a, b heldKey) int { return codec.CompareID(a.op, b.op) }) {
		c, err := at.carry(key, k.op, k.key)
		if err != nil {
			return made, err
		}
		made.Carried = append(made.Carried, c)
	}
	envelopes, err := at.envelopes(key, to)
	made.Envelopes = envelopes
	return made, err
}

// faulty returns which of the recipients of what introduces key would not get it, and
// whether each carried key is the one that idOf says an op has introduced.
func (at site) faulty(key codec.Secret, n *codec.NewKey, idOf func(codec.OpID) (codec.KeyID, bool)) (without []codec.Identity, carries bool) {
	cheated := make([]bool, len(n.Envelopes))
	SideBySide(len(cheated), func(i int) {
		e, err := at.envelope(key, n.Envelopes[i].Recipient)
		cheated[i] = err != nil || e != n.Envelopes[i]
	})
	for i, is := range cheated {
		if is {
			without = append(without, n.Envelopes[i].Recipient)
		}
	}
	for i := range n.Carried {
		earlier, err := at.openCarried(key, &n.Carried[i])
		id, known := idOf(n.Carried[i].Op)
		if err != nil || !known || KeyID(earlier) != id {
			return without, false
		}
	}
	return without, true
}

// sealingSecret returns the key under which ops are sealed with a group key.
func sealingSecret(key codec.Secret) (codec.Secret, error) {
	okm, err := hkdf.Key(sha256.New, key[:], nil, domainSealing, 32)
	if err != nil {
		return codec.Secret{}, err
	}
	return codec.Secret(okm), nil
}
