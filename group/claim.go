package group

import (
	"encoding/binary"

	"github.com/stoadb/stoa/codec"
)

// Claim says that a group has a context, by what is known in one namespace.
type Claim struct {
	Group  codec.GroupID
	Number uint64 // of the placement that the context's key has signed; 0: it has signed none
	Config codec.ContextConfigValue
}

// beats reports whether c takes a context from the group that o is about: only what the
// context's key has signed does, and of that the greater number, then the greater group.
func (c Claim) beats(o Claim) bool {
	if c.Number != o.Number {
		return c.Number > o.Number
	}
	return c.Number > 0 && codec.CompareID(c.Group, o.Group) > 0
}

// Home returns which of the claims on a context, one for each namespace that has it,
// counts: the one that beats all others. Where none is signed, and there are several,
// none does: nobody can say which of them is its creator's.
func Home(claims []Claim) (home Claim, ok bool) {
	for i, c := range claims {
		ok = true
		for k, o := range claims {
			ok = ok && (i == k || c.beats(o))
		}
		if ok {
			return c, true
		}
	}
	return Claim{}, false
}

// placement returns what the key of a context signs to place it in a group.
func placement(ns, g codec.GroupID, c codec.ContextID, number uint64) []byte {
	b := append(append(append(make([]byte, 0, 104), ns[:]...), g[:]...), c[:]...)
	return binary.LittleEndian.AppendUint64(b, number)
}

// SignPlacement returns the signature by which the key of a context, whose public half is
// the context's id, places it in a group of a namespace. Of several placements the one
// with the greatest number counts; it is not 0.
func SignPlacement(ns, g codec.GroupID, number uint64, seed codec.Secret) codec.Signature {
	return Sign(seed, DomainPlacement, placement(ns, g, codec.ContextID(IdentityOf(seed)), number))
}

// VerifyPlacement returns [ErrSignature] unless the key of the context that op places has
// signed for that group of that namespace.
func VerifyPlacement(ns, g codec.GroupID, op *codec.GroupOp) error {
	if op.Number == 0 {
		return ErrSignature
	}
	return Verify(codec.Identity(op.ContextID), DomainPlacement, placement(ns, g, op.ContextID, op.Number), op.Placement)
}
