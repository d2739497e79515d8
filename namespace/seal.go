package namespace

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
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
// of s but the signature must be set: namespace, group, the name of the key, signer, nonce
// and parents are bound.
func SealOp(random io.Reader, s *codec.SignedNamespaceOp, key codec.Secret, inner []byte) (err error) {
	if key, err = opKey(s.Version, key); err != nil {
		return err
	}
	s.Op.Sealed, err = seal(random, key, inner, boundTo(s))
	return err
}

// opKey returns the key under which an op of a version is sealed with a group key.
func opKey(v codec.OpVersion, key codec.Secret) (codec.Secret, error) {
	if v == codec.OpVersion2 {
		return sealingSecret(key)
	}
	return key, nil
}

// OpenOp returns what s seals; else [ErrOpen].
func OpenOp(s *codec.SignedNamespaceOp, key codec.Secret) ([]byte, error) {
	key, err := opKey(s.Version, key)
	if err != nil {
		return nil, err
	}
	return open(key, s.Op.Sealed, boundTo(s))
}

func boundTo(s *codec.SignedNamespaceOp) []byte {
	domain, key := domainSeal, [32]byte(s.Op.KeyID)
	if s.Version == codec.OpVersion2 {
		domain, key = domainSeal2, s.Op.KeyOp
	}
	b := make([]byte, 0, len(domain)+(4+len(s.Parents))*32+8+4)
	b = append(append(b, domain...), s.NamespaceID[:]...)
	b = append(b, s.Op.GroupID[:]...)
	b = append(b, key[:]...)
	b = append(b, s.Signer[:]...)
	b = binary.LittleEndian.AppendUint64(b, s.Nonce)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s.Parents)))
	for _, p := range s.Parents {
		b = append(b, p[:]...)
	}
	return b
}

// GroupKey names a key of a group.
type GroupKey struct {
	GroupID codec.GroupID
	KeyID   codec.KeyID
}

// Keyring is the group keys that a node has. It is not safe for concurrent use.
type Keyring map[GroupKey]codec.Secret

// opened is what was found in a sealed op.
type opened struct {
	body  *codec.GroupOp
	inner []byte       // the SignedGroupOp, where there is a body
	fault group.Reason // why there is none
}

// sealedUnder is a group key, and what ops of version 2 are sealed under with it.
type sealedUnder struct{ key, sealing codec.Secret }

// openWith reads a sealed op under its key.
func openWith(op *Op, key codec.Secret, v *group.Verifier) *opened {
	plain, err := OpenOp(op.Signed, key)
	return unsealedAs(op, plain, err).verified(v)
}

// openWith is the same for the ops of a store.
func (s *Store) openWith(op *Op, key codec.Secret) *opened {
	return s.unsealWith(op, key).verified(&s.verifier)
}

// unsealWith opens a sealed op of a store, of which nearly each has the key of the one before.
func (s *Store) unsealWith(op *Op, key codec.Secret) *unsealed {
	if op.Version == codec.OpVersion1 {
		plain, err := OpenOp(op.Signed, key)
		return unsealedAs(op, plain, err)
	}
	last := s.sealedUnder.Load()
	if last == nil || last.key != key {
		sealing, err := sealingSecret(key)
		if err != nil {
			return &unsealed{fault: group.Unopenable}
		}
		last = &sealedUnder{key, sealing}
		s.sealedUnder.Store(last)
	}
	plain, err := open(last.sealing, op.Signed.Op.Sealed, boundTo(op.Signed))
	return unsealedAs(op, plain, err)
}

// unsealed is what an op seals, whose signature is to be verified yet.
type unsealed struct {
	op    *codec.SignedNamespaceOp
	plain []byte
	inner codec.SignedGroupOp
	fault group.Reason // why there is none; 0: there is
}

// unsealedAs reads what an op seals, if it opened.
func unsealedAs(op *Op, plain []byte, err error) *unsealed {
	u := &unsealed{op: op.Signed, plain: plain}
	if err != nil {
		u.fault = group.Unopenable
		return u
	}
	if u.inner, err = (codec.SignedGroupOp{}).Decode(plain); err != nil {
		u.fault = group.Malformed
		return u
	}
	same := u.inner.GroupID == u.op.Op.GroupID && u.inner.Signer == u.op.Signer && u.inner.Nonce == u.op.Nonce && slices.Equal(u.inner.Parents, u.op.Parents)
	if !same {
		u.fault = group.Rewrapped
	}
	return u
}

// verified is what there is once the signature is verified.
func (u *unsealed) verified(v *group.Verifier) *opened {
	return u.opened(u.fault == 0 && v.VerifyOp(u.plain, u.op.Signer) == nil)
}

// opened is what there is, where the signature is good or not.
func (u *unsealed) opened(good bool) *opened {
	if u.fault == 0 {
		u.fault = u.faultOf(good)
	}
	if u.fault != 0 {
		return &opened{fault: u.fault}
	}
	return &opened{body: &u.inner.Op, inner: u.plain}
}

func (u *unsealed) faultOf(good bool) group.Reason {
	s, inner := u.op, &u.inner
	switch {
	case !good:
		return group.Forged
	case s.Version == codec.OpVersion2 && IsClear(inner.Op.Kind):
		return group.NotClear
	case s.Version == codec.OpVersion1 && inner.Op.Kind == codec.OpMembersRemoved:
		return group.Malformed
	case names(&inner.Op) && !ValidIdentity(inner.Op.Member):
		return group.Malformed // nobody could give it a key, so no key could be given to exactly the members
	case inner.Op.Kind == codec.OpContextPlaced && group.VerifyPlacement(s.NamespaceID, s.Op.GroupID, &inner.Op) != nil:
		return group.NotPlaced
	}
	return 0
}

// innerOf returns the SignedGroupOp of a clear op, which lies in the log of its group.
func innerOf(s *codec.SignedNamespaceOp) ([]byte, error) {
	return codec.SignedGroupOp{GroupID: s.Op.GroupID, Parents: s.Parents, Signer: s.Signer, Nonce: s.Nonce, Op: s.Op.Op,
		Signature: s.Op.OpSignature}.AppendBinary(nil)
}

// names reports whether op gives standing to the member it names.
func names(op *codec.GroupOp) bool {
	switch op.Kind {
	case codec.OpMemberAdded, codec.OpMemberRoleSet, codec.OpMemberCapabilitySet, codec.OpAdminTransferred:
		return true
	default:
		return false
	}
}
