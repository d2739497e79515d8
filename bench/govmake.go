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

// govHistory is a namespace in the making: ops in a line, which its Admins sign in turns.
// Each has two signatures, and nearly all are sealed.
type govHistory struct {
	namespace codec.GroupID
	seeds     [govSigners]codec.Secret
	nonces    [govSigners]uint64
	random    *rand.ChaCha8
	key       codec.Secret
	keyOp     codec.OpID // that introduces it
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
	if err := h.sign(0, &codec.SignedNamespaceOp{Version: codec.OpVersion2, Op: codec.NamespaceOp{Root: r}}); err != nil {
		return nil, err
	}
	if h.key, err = namespace.NewKey(h.random); err != nil {
		return nil, err
	}
	for _, id := range ids[1:] {
		if err := h.say(codec.GroupOp{Kind: codec.OpMemberAdded, Member: id, Role: codec.Admin}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(ids, codec.CompareID)
	if err := h.say(codec.GroupOp{Kind: codec.OpKeyRotated}, ids...); err != nil {
		return nil, err
	}
	h.keyOp = h.last
	return h, nil
}

// say adds a clear op of the first Admin, which gives the key to some.
func (h *govHistory) say(body codec.GroupOp, to ...codec.Identity) (err error) {
	s := h.next(0)
	s.Op = codec.NamespaceOp{Kind: codec.NamespaceClear, GroupID: h.namespace, Op: body}
	if len(to) > 0 {
		key, err := namespace.IntroduceKey(s, h.namespace, h.key, nil, to)
		if err != nil {
			return err
		}
		s.Op.Keys = []codec.NewKey{key}
	}
	inner, err := h.inner(0, s, body)
	s.Op.OpSignature = inner.Signature
	if err != nil {
		return err
	}
	return h.sign(0, s)
}

// next returns the next op of a signer, without content.
func (h *govHistory) next(signer int) *codec.SignedNamespaceOp {
	return &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: h.namespace, Parents: []codec.OpID{h.last},
		Signer: group.IdentityOf(h.seeds[signer]), Nonce: h.nonces[signer] + 1}
}

func (h *govHistory) inner(signer int, s *codec.SignedNamespaceOp, body codec.GroupOp) (codec.SignedGroupOp, error) {
	inner := codec.SignedGroupOp{GroupID: h.namespace, Parents: s.Parents, Signer: s.Signer, Nonce: s.Nonce, Op: body}
	return inner, group.SignOp(&inner, h.seeds[signer])
}

// seal adds a sealed op that does body.
func (h *govHistory) seal(signer int, body codec.GroupOp) error {
	s := h.next(signer)
	s.Op = codec.NamespaceOp{Kind: codec.NamespaceSealed, GroupID: h.namespace, KeyOp: h.keyOp}
	inner, err := h.inner(signer, s, body)
	if err != nil {
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
		if err := h.seal(signer, body); err != nil {
			return err
		}
	}
	return nil
}

// identity is that of the first of the Admins.
func (h *govHistory) identity() codec.NamespaceIdentityValue {
	return codec.NamespaceIdentityValue{PublicKey: group.IdentityOf(h.seeds[0]), PrivateKey: h.seeds[0]}
}
