//go:build cgo

package bench

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// govSigners is how many Admins take turns at signing.
const govSigners = 4

// govHistory is a namespace in the making: sealed ops in a line, which its Admins sign in
// turns. Each has two signatures.
type govHistory struct {
	namespace codec.GroupID
	seeds     [govSigners]codec.Secret
	nonces    [govSigners]uint64
	random    *rand.ChaCha8
	key       codec.Secret
	last      codec.OpID
	wires     [][]byte
	made      int
}

// newGovHistory returns the history of a namespace and its Admins, all of whom have its
// key.
func newGovHistory() (*govHistory, error) {
	h := &govHistory{random: rand.NewChaCha8([32]byte{1})}
	var ids []codec.Identity
	for i := range h.seeds {
		h.seeds[i] = sha256.Sum256(fmt.Append(nil, "bench seed ", i))
		ids = append(ids, group.IdentityOf(h.seeds[i]))
	}
	r := codec.RootOp{Kind: codec.RootNamespaceCreated, Creator: ids[0]}
	var err error
	if h.namespace, err = namespace.CreationID(&r); err != nil {
		return nil, err
	}
	r.GroupID = h.namespace
	if err := h.sign(0, &codec.SignedNamespaceOp{Op: codec.NamespaceOp{Root: r}}); err != nil {
		return nil, err
	}
	if h.key, err = namespace.NewKey(h.random); err != nil {
		return nil, err
	}
	rotation, err := namespace.NewRotation(h.random, h.namespace, h.namespace, h.key, codec.Option[codec.Secret]{}, ids)
	if err != nil {
		return nil, err
	}
	for i, id := range ids[1:] {
		s := &codec.SignedNamespaceOp{}
		if i == 0 {
			s.Op.Rotations = []codec.KeyRotation{rotation}
		}
		if err := h.seal(0, s, codec.GroupOp{Kind: codec.OpMemberAdded, Member: id, Role: codec.Admin}); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// seal adds an op that does body.
func (h *govHistory) seal(signer int, s *codec.SignedNamespaceOp, body codec.GroupOp) error {
	s.Parents, s.Signer, s.Nonce, s.NamespaceID = []codec.OpID{h.last}, group.IdentityOf(h.seeds[signer]), h.nonces[signer]+1, h.namespace
	s.Op.Kind, s.Op.GroupID, s.Op.KeyID = codec.NamespaceGroup, h.namespace, namespace.KeyID(h.key)
	inner := codec.SignedGroupOp{GroupID: h.namespace, Parents: s.Parents, Signer: s.Signer, Nonce: s.Nonce, Op: body}
	if err := group.SignOp(&inner, h.seeds[signer]); err != nil {
		return err
	}
	plain, err := inner.AppendBinary(nil)
	if err != nil {
		return err
	}
	if err := namespace.SealOp(h.random, s, h.key, plain); err != nil {
		return err
	}
	return h.sign(signer, s)
}

// sign adds an op that is complete but for its place.
func (h *govHistory) sign(signer int, s *codec.SignedNamespaceOp) error {
	h.nonces[signer]++
	s.NamespaceID, s.Nonce = h.namespace, h.nonces[signer]
	if err := namespace.Sign(s, h.seeds[signer]); err != nil {
		return err
	}
	op, err := namespace.NewOp(s)
	if err != nil {
		return err
	}
	wire, err := s.AppendBinary(nil)
	h.last, h.wires = op.ID, append(h.wires, wire)
	return err
}

// grow makes n more ops: names of members, and which application runs.
func (h *govHistory) grow(n int) error {
	h.wires = slices.Grow(h.wires, n)
	for range n {
		h.made++
		signer := h.made % govSigners
		body := codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: group.IdentityOf(h.seeds[signer]),
			Name: codec.Some(codec.AliasName(fmt.Sprint("name ", h.made)))}
		if h.made%3 == 0 {
			body = codec.GroupOp{Kind: codec.OpTargetApplicationSet, AppKey: codec.Hash{byte(h.made)}}
		}
		if err := h.seal(signer, &codec.SignedNamespaceOp{}, body); err != nil {
			return err
		}
	}
	return nil
}

// identity is that of the first of the Admins.
func (h *govHistory) identity() codec.NamespaceIdentityValue {
	return codec.NamespaceIdentityValue{PublicKey: group.IdentityOf(h.seeds[0]), PrivateKey: h.seeds[0]}
}
