package namespace

import (
	"io"
	"slices"

	"github.com/stoadb/stoa/codec"
)

// NewRotation makes the rotation of g to key, with an envelope for each recipient and,
// where there is one, the previous key sealed under the new one.
func NewRotation(random io.Reader, namespace, g codec.GroupID, key codec.Secret, previous codec.Option[codec.Secret],
	to []codec.Identity) (codec.KeyRotation, error) {
	r := codec.KeyRotation{GroupID: g, NewKeyID: KeyID(key)}
	if previous.Valid {
		r.Previous = codec.Some(codec.PreviousKey{KeyID: KeyID(previous.V)})
		sealed, err := seal(random, key, previous.V[:], chained(namespace, &r))
		if err != nil {
			return r, err
		}
		copy(r.Previous.V.Sealed[:], sealed)
	}
	envelopes, err := SealKeyTo(random, namespace, g, key, to)
	r.Envelopes = envelopes
	return r, err
}

// SealKeyTo returns an envelope of key for each recipient, sorted as an op needs them.
func SealKeyTo(random io.Reader, namespace, g codec.GroupID, key codec.Secret, to []codec.Identity) ([]codec.KeyEnvelope, error) {
	var envelopes []codec.KeyEnvelope
	for _, id := range slices.SortedFunc(slices.Values(to), compare) {
		e, err := SealKey(random, namespace, g, key, id)
		if err != nil {
			return nil, err
		}
		envelopes = append(envelopes, e)
	}
	return envelopes, nil
}

// OpenPrevious returns the key that r's new key, which is key, follows; else [ErrOpen].
func OpenPrevious(namespace codec.GroupID, r *codec.KeyRotation, key codec.Secret) (codec.Secret, error) {
	if !r.Previous.Valid || KeyID(key) != r.NewKeyID {
		return codec.Secret{}, ErrOpen
	}
	plain, err := open(key, r.Previous.V.Sealed[:], chained(namespace, r))
	if err != nil || KeyID(codec.Secret(plain)) != r.Previous.V.KeyID {
		return codec.Secret{}, ErrOpen
	}
	return codec.Secret(plain), nil
}

// chained is what a previous key is bound to.
func chained(namespace codec.GroupID, r *codec.KeyRotation) []byte {
	b := []byte(domainPrevious)
	for _, part := range [][32]byte{namespace, r.GroupID, r.NewKeyID, r.Previous.V.KeyID} {
		b = append(b, part[:]...)
	}
	return b
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
