package group

import (
	"crypto/sha256"

	"github.com/stoadb/stoa/codec"
)

// What is signed begins with one of these, so that a signature over one kind of
// bytes is none over another. None begins another.
const (
	DomainGroup      = "stoa.group.v1"      // a SignedGroupOp
	DomainInvitation = "stoa.invitation.v1" // an Invitation, by its inviter
	DomainJoin       = "stoa.join.v1"       // an invitation and a member, by the member
	DomainPlacement  = "stoa.placement.v1"  // the group of a context, by the context's own key
)

// signatureSize is the length of the signature that ends every signed value.
const signatureSize = len(codec.Signature{})

// Unsigned returns the bytes that the signature at the end of a value is over,
// without the domain. They are a part of the encoded value.
func Unsigned(encoded []byte) []byte { return encoded[:len(encoded)-signatureSize] }

// SignOp sets the signature of op, which must be complete but for it. It returns
// [codec.ErrMalformed] where op has no stored form.
func SignOp(op *codec.SignedGroupOp, seed codec.Secret) error {
	b, err := op.AppendBinary(nil)
	if err == nil {
		op.Signature = Sign(seed, DomainGroup, Unsigned(b))
	}
	return err
}

// VerifyOp returns [ErrSignature] unless encoded, a borsh SignedGroupOp by signer,
// ends with the signer's signature.
func VerifyOp(encoded []byte, signer codec.Identity) error {
	return (*Verifier)(nil).VerifyOp(encoded, signer)
}

// SignInvitation sets the signature of an invitation, which must be complete but
// for it.
func SignInvitation(v *codec.Invitation, seed codec.Secret) error {
	b, err := v.AppendBinary(nil)
	if err == nil {
		v.Signature = Sign(seed, DomainInvitation, Unsigned(b))
	}
	return err
}

// VerifyInvitation returns [ErrSignature] unless the inviter has signed v. That it
// has not expired is for the admitting member to see, by its own clock.
func VerifyInvitation(v *codec.Invitation) error {
	b, err := v.AppendBinary(nil)
	if err != nil {
		return err
	}
	return Verify(v.Inviter, DomainInvitation, Unsigned(b), v.Signature)
}

// InvitationID names an invitation: SHA-256 of the domain and its bytes, signature
// included.
func InvitationID(v *codec.Invitation) (codec.Hash, error) {
	b, err := v.AppendBinary([]byte(DomainInvitation))
	return sha256.Sum256(b), err
}

// SignJoin returns the signature by which the holder of seed accepts v.
func SignJoin(v *codec.Invitation, seed codec.Secret) (codec.Signature, error) {
	b, err := joining(v, IdentityOf(seed))
	return Sign(seed, DomainJoin, b), err
}

// VerifyJoin returns [ErrSignature] unless sig is that by which member accepts v.
func VerifyJoin(v *codec.Invitation, member codec.Identity, sig codec.Signature) error {
	b, err := joining(v, member)
	if err != nil {
		return err
	}
	return Verify(member, DomainJoin, b, sig)
}

func joining(v *codec.Invitation, member codec.Identity) ([]byte, error) {
	b, err := v.AppendBinary(nil)
	return append(b, member[:]...), err
}
