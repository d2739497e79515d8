package namespace

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/stoadb/stoa/codec"
)

// ErrOpen is returned for sealed bytes that do not open: they, what they are bound to,
// or the key, are not those of the sealing.
var ErrOpen = errors.New("namespace: sealed bytes do not open")

const sealOverhead = chacha20poly1305.NonceSizeX + chacha20poly1305.Overhead

// KeyID returns the id of a group key: its SHA-256.
func KeyID(key codec.Secret) codec.KeyID { return sha256.Sum256(key[:]) }

// NewKey returns a group key from random.
func NewKey(random io.Reader) (key codec.Secret, err error) {
	_, err = io.ReadFull(random, key[:])
	return key, err
}

// seal appends to a nonce from random what plain is under key, bound to data.
func seal(random io.Reader, key codec.Secret, plain, data []byte) ([]byte, error) {
	aead, err := chacha20poly1305.NewX(key[:])
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, err
	}
	return aead.Seal(nonce, nonce, plain, data), nil
}

func open(key codec.Secret, sealed, data []byte) ([]byte, error) {
	aead, err := chacha20poly1305.NewX(key[:])
	if err != nil {
		return nil, err
	}
	if len(sealed) < sealOverhead {
		return nil, ErrOpen
	}
	plain, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], data)
	if err != nil {
		return nil, ErrOpen
	}
	return plain, nil
}

// SealOp sets s.Op.Sealed to inner, a borsh SignedGroupOp, under key. All other fields
// of s but the signature must be set: namespace, group, key id, signer, nonce and
// parents are bound.
func SealOp(random io.Reader, s *codec.SignedNamespaceOp, key codec.Secret, inner []byte) (err error) {
	s.Op.Sealed, err = seal(random, key, inner, boundTo(s))
	return err
}

// OpenOp returns what s seals; else [ErrOpen].
func OpenOp(s *codec.SignedNamespaceOp, key codec.Secret) ([]byte, error) {
	return open(key, s.Op.Sealed, boundTo(s))
}

func boundTo(s *codec.SignedNamespaceOp) []byte {
	b := []byte(domainSeal)
	b = append(b, s.NamespaceID[:]...)
	b = append(b, s.Op.GroupID[:]...)
	b = append(b, s.Op.KeyID[:]...)
	b = append(b, s.Signer[:]...)
	b = binary.LittleEndian.AppendUint64(b, s.Nonce)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s.Parents)))
	for _, p := range s.Parents {
		b = append(b, p[:]...)
	}
	return b
}
