package group

import (
	"crypto/ed25519"
	"errors"

	"github.com/stoadb/stoa/codec"
)

// ErrSignature is returned for a signature that is not the signer's, and for keys
// and signatures that could be one thing to one verifier and another to the next:
// points of small order, and y coordinates that are not reduced.
var ErrSignature = errors.New("group: bad signature")

// smallOrder holds the y coordinates of the eight points of small order, without
// the sign of x.
var smallOrder = [...][32]byte{
	{0x01},
	{},
	{0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	{0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
		0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05},
	{0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
		0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a},
}

// Sound reports whether the bytes of an Ed25519 point are reduced and not of small
// order. It does not tell whether there is such a point: verifying does.
func Sound(point [32]byte) bool {
	point[31] &= 0x7F
	if !reduced(point) {
		return false
	}
	for _, y := range smallOrder {
		if point == y {
			return false
		}
	}
	return true
}

// reduced reports whether y, little endian and below 2^255, is below p = 2^255-19.
func reduced(y [32]byte) bool {
	if y[31] != 0x7F || y[0] < 0xED {
		return true
	}
	for _, b := range y[1:31] {
		if b != 0xFF {
			return true
		}
	}
	return false
}

// Verify returns [ErrSignature] unless sig is that of signer over domain ‖ body. It
// is safe for concurrent use.
func Verify(signer codec.Identity, domain string, body []byte, sig codec.Signature) error {
	message := make([]byte, 0, len(domain)+len(body))
	return VerifyMessage(signer, append(append(message, domain...), body...), sig)
}

// VerifyMessage is Verify of what begins with its domain already.
func VerifyMessage(signer codec.Identity, message []byte, sig codec.Signature) error {
	if !Sound(signer) || !Sound([32]byte(sig[:32])) || !ed25519.Verify(signer[:], message, sig[:]) {
		return ErrSignature
	}
	return nil
}

// Sign returns the signature of the key with this seed over domain ‖ body.
func Sign(seed codec.Secret, domain string, body []byte) codec.Signature {
	key := ed25519.NewKeyFromSeed(seed[:])
	return codec.Signature(ed25519.Sign(key, append([]byte(domain), body...)))
}

// IdentityOf returns the public key to a seed.
func IdentityOf(seed codec.Secret) codec.Identity {
	return codec.Identity(ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey))
}
