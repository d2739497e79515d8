package namespace

import (
	"fmt"
	"io"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// Deliver makes the op that sends the current key of g to the members who lack it, on
// the given heads: as after a MemberJoined, which can carry none. It returns nil where
// there is no current key, which the next [View.Compose] mends, or nobody lacks it; and
// [ErrNoKey], or [ErrHeads].
func (v *View) Deliver(random io.Reader, seed codec.Secret, ring Keyring, heads []codec.OpID, g codec.GroupID) (*codec.SignedNamespaceOp, error) {
	if len(heads) > MaxParents {
		return nil, fmt.Errorf("%w: %d", ErrHeads, len(heads))
	}
	id, has, err := v.Current(heads, g)
	if err != nil || !has {
		return nil, err
	}
	k := GroupKey{g, id}
	to, err := v.Lacking(heads, k)
	if err != nil || len(to) == 0 {
		return nil, err
	}
	key, ok := ring[k]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNoKey, id)
	}
	s := &codec.SignedNamespaceOp{NamespaceID: v.namespace, Parents: slices.SortedFunc(slices.Values(heads), compare),
		Nonce: v.nextNonce(heads, group.IdentityOf(seed))}
	return s, deliver(random, seed, s, k, key, to)
}

// nextNonce returns the nonce of the next op of signer on these heads.
func (v *View) nextNonce(heads []codec.OpID, signer codec.Identity) uint64 {
	last := uint64(0)
	for _, op := range v.Cut(heads) {
		if op.Signer == signer {
			last = max(last, op.Nonce)
		}
	}
	return last + 1
}

// deliver completes s, which has its place, as the delivery of key.
func deliver(random io.Reader, seed codec.Secret, s *codec.SignedNamespaceOp, k GroupKey, key codec.Secret, to []codec.Identity) error {
	envelopes, err := SealKeyTo(random, s.NamespaceID, k.GroupID, key, to)
	if err != nil {
		return err
	}
	s.Op = codec.NamespaceOp{Root: codec.RootOp{Kind: codec.RootKeyDelivery, GroupID: k.GroupID, KeyID: k.KeyID, Envelopes: envelopes}}
	return Sign(s, seed)
}
