package namespace

import (
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"

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
// is of no use.
func SealKey(random io.Reader, namespace, g codec.GroupID, key codec.Secret, recipient codec.Identity) (codec.KeyEnvelope, error) {
	e := codec.KeyEnvelope{Recipient: recipient}
	theirs, err := montgomery(recipient)
	if err != nil {
		return e, err
	}
	var seed codec.Secret
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return e, err
	}
	ephemeral, err := ecdh.X25519().NewPrivateKey(seed[:])
	if err != nil {
		return e, err
	}
	e.Ephemeral = codec.Hash(ephemeral.PublicKey().Bytes())
	shared, err := ephemeral.ECDH(theirs)
	if err != nil {
		return e, fmt.Errorf("%w: %s", ErrIdentity, recipient)
	}
	sealed, err := underShared(shared, namespace, g, KeyID(key), &e, func(k codec.Secret, nonce []byte) ([]byte, error) {
		aead, err := chacha20poly1305.NewX(k[:])
		if err != nil {
			return nil, err
		}
		return aead.Seal(nil, nonce, key[:], nil), nil
	})
	copy(e.Sealed[:], sealed)
	return e, err
}

// OpenKey returns the group key in an envelope addressed to the holder of seed, which
// must have the given id; else [ErrOpen].
func OpenKey(seed codec.Secret, namespace, g codec.GroupID, id codec.KeyID, e *codec.KeyEnvelope) (codec.Secret, error) {
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
	plain, err := underShared(shared, namespace, g, id, e, func(k codec.Secret, nonce []byte) ([]byte, error) {
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
func underShared(shared []byte, namespace, g codec.GroupID, id codec.KeyID, e *codec.KeyEnvelope,
	do func(key codec.Secret, nonce []byte) ([]byte, error)) ([]byte, error) {
	info := []byte(domainEnvelope)
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
