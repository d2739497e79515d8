package namespace

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// Admit lets the external tests of this package ask the reference.
var Admit = admit

// SetMost has the batches of a Store take so many ops, or rows that are made anew.
func (s *Store) SetMost(most int) { s.most = most }

// ClearOf returns what everyone reads of an op.
func ClearOf(op *Op) group.Op { return *op.asRead(nil, 0) }

// InnerOf returns the SignedGroupOp of a clear op.
func InnerOf(op *Op) []byte {
	inner, err := innerOf(op.Signed)
	if err != nil {
		panic(err)
	}
	return inner
}

// ReadWith returns a sealed op as it is read with its key, and what was sealed.
func ReadWith(op *Op, key codec.Secret) (group.Op, []byte) {
	o := openWith(op, key, nil)
	return *op.asRead(o.body, o.fault), o.inner
}

// IsGood asks the reference about a key, which is returned too.
func IsGood(ns codec.GroupID, ops []*Op, ring Keyring, name KeyName) (id codec.KeyID, clear, all bool, err error) {
	v, err := newView(ns, ops, ring)
	if err != nil {
		return id, false, false, err
	}
	if k := v.newKey(name); k != nil {
		id = k.KeyID
	}
	clear, all, err = v.isGood(name)
	return id, clear, all, err
}

// Holders asks the reference who holds a key, by what is clear of all ops.
func Holders(ns codec.GroupID, ops []*Op, ring Keyring, name KeyName) (map[codec.Identity]bool, error) {
	v, err := newView(ns, ops, ring)
	if err != nil {
		return nil, err
	}
	return v.holders(v.heads(), name)
}

// Faulty returns which of those to whom n was to give a key did not get it.
func Faulty(s *codec.SignedNamespaceOp, n *codec.NewKey, key codec.Secret) []codec.Identity {
	without, _ := siteOf(s, n.GroupID).faulty(key, n, func(codec.OpID) (codec.KeyID, bool) { return codec.KeyID{}, false })
	return without
}

// OpenCarried returns the earlier key that c, which s introduces, carries under key.
func OpenCarried(s *codec.SignedNamespaceOp, g codec.GroupID, key codec.Secret, c *codec.CarriedKey) (codec.Secret, error) {
	return siteOf(s, g).openCarried(key, c)
}
