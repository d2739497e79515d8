package namespace

import (
	"fmt"
	"io"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// deliver makes the op that sends the current key of g to the members who lack it, on
// the given heads: as after a MemberJoined, which can carry none. It returns nil where
// there is no current key, which the next compose mends, or nobody lacks it; and
// [ErrNoKey], or [errHeads].
func (v *view) deliver(random io.Reader, seed codec.Secret, ring Keyring, heads []codec.OpID, g codec.GroupID) (*codec.SignedNamespaceOp, error) {
	if len(heads) > MaxParents {
		return nil, fmt.Errorf("%w: %d", errHeads, len(heads))
	}
	id, has, err := v.currentKey(heads, g)
	if err != nil || !has {
		return nil, err
	}
	k := GroupKey{g, id}
	to, err := v.lackingAt(heads, k)
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
func (v *view) nextNonce(heads []codec.OpID, signer codec.Identity) uint64 {
	last := uint64(0)
	for _, op := range v.cut(heads) {
		if op.Signer == signer {
			last = max(last, op.Nonce)
		}
	}
	return last + 1
}
