package namespace

import (
	"crypto/sha256"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// What is signed or hashed here begins with one of these; none begins another, nor any
// of package group.
const (
	DomainOp        = "stoa.namespace.v1"    // a SignedNamespaceOp of version 1
	domainOp2       = "stoa.namespace.v2"    // one of version 2; as long as that of version 1
	domainNamespace = "stoa.id.namespace.v1" // the id of a namespace
	domainGroup     = "stoa.id.group.v1"     // the id of another group
	domainSeal      = "stoa.seal.v1"         // the additional data of a sealed op
	domainEnvelope  = "stoa.envelope.v1"     // what an envelope's key is derived from
	domainPrevious  = "stoa.previous.v1"     // the additional data of a previous key

	domainSeal2     = "stoa.seal.v2"      // the additional data of a sealed op
	domainSealing   = "stoa.sealing.v2"   // what the key of a sealed op is derived from
	domainEnvelope2 = "stoa.envelope.v2"  // what an envelope's key is derived from
	domainEphemeral = "stoa.ephemeral.v2" // what an envelope's ephemeral key is derived from
	domainCarry     = "stoa.carry.v2"     // what the key and nonce of a carried key are derived from
)

// Op is one op of a governance DAG, as everyone sees it who has its bytes: its place
// in the DAG, what is clear of it, and what is sealed. It is not to be modified.
type Op struct {
	Version codec.OpVersion
	ID      codec.OpID
	Parents []codec.OpID
	Signer  codec.Identity
	Nonce   uint64

	Root *codec.RootOp // of a root op; else nil

	GroupID codec.GroupID  // of a group op, as what follows
	Clear   *codec.GroupOp // of a clear one of version 2, as Keys
	Keys    []KeySkeleton  // that it introduces, by group

	KeyOp     codec.OpID  // of a sealed one of version 2: the op that introduces its key
	KeyID     codec.KeyID // of one of version 1, as Rotations
	Rotations []codec.RotationSkeleton

	Signed *codec.SignedNamespaceOp // nil where only a skeleton was kept

	signed []byte // the domain ‖ what Signed is encoded; nil with it
}

// KeySkeleton is a [codec.NewKey] without the keys in it: who holds what.
type KeySkeleton struct {
	GroupID    codec.GroupID
	KeyID      codec.KeyID
	Carried    []codec.OpID
	Recipients []codec.Identity
}

// domainOf is with what an op of a version is signed and hashed.
func domainOf(v codec.OpVersion) string {
	if v == codec.OpVersion2 {
		return domainOp2
	}
	return DomainOp
}

// sealed reports whether something of op may be closed to this node.
func (op *Op) sealed() bool { return op.Root == nil && op.Clear == nil }

// NewOp returns s as an Op, which shares its memory. It returns [codec.ErrMalformed]
// where s has no stored form; that s is admissible is for [Check] to say.
func NewOp(s *codec.SignedNamespaceOp) (*Op, error) {
	b, err := s.AppendBinary([]byte(domainOf(s.Version)))
	if err != nil {
		return nil, err
	}
	return describe(s, b), nil
}

// parseWire returns the op that travels as these bytes, of which it keeps a copy, or
// [codec.ErrMalformed]; and in any case the id that the bytes have.
func parseWire(wire []byte) (*Op, codec.OpID, error) {
	domain := DomainOp
	if len(wire) > 0 && wire[0] == 2 { // the version
		domain = domainOp2
	}
	b := append(append(make([]byte, 0, len(domain)+len(wire)), domain...), wire...)
	s, err := codec.SignedNamespaceOp{}.Decode(b[len(DomainOp):])
	if err != nil {
		return nil, sha256.Sum256(b), err
	}
	op := describe(&s, b) // no other bytes decode to s
	return op, op.ID, nil
}

// describe returns s, whose encoding signed ends with, as an Op.
func describe(s *codec.SignedNamespaceOp, signed []byte) *Op {
	op := &Op{Version: s.Version, ID: sha256.Sum256(signed), Parents: s.Parents, Signer: s.Signer, Nonce: s.Nonce, Signed: s, signed: signed}
	if s.Op.Kind == codec.NamespaceRoot {
		op.Root = &s.Op.Root
		return op
	}
	op.GroupID, op.KeyID, op.KeyOp = s.Op.GroupID, s.Op.KeyID, s.Op.KeyOp
	if s.Op.Kind == codec.NamespaceClear {
		op.Clear = &s.Op.Op
	}
	for _, k := range s.Op.Keys {
		skeleton := KeySkeleton{GroupID: k.GroupID, KeyID: k.KeyID, Recipients: recipients(k.Envelopes)}
		for _, c := range k.Carried {
			skeleton.Carried = append(skeleton.Carried, c.Op)
		}
		op.Keys = append(op.Keys, skeleton)
	}
	for _, r := range s.Op.Rotations {
		skeleton := codec.RotationSkeleton{GroupID: r.GroupID, NewKeyID: r.NewKeyID, Recipients: recipients(r.Envelopes)}
		if r.Previous.Valid {
			skeleton.Previous = codec.Some(r.Previous.V.KeyID)
		}
		op.Rotations = append(op.Rotations, skeleton)
	}
	return op
}

// groups returns the groups that an op is about, or puts a group below.
func (op *Op) groups() []codec.GroupID {
	if op.Root == nil {
		ids := []codec.GroupID{op.GroupID}
		for _, r := range op.Rotations {
			ids = append(ids, r.GroupID)
		}
		for _, k := range op.Keys {
			ids = append(ids, k.GroupID)
		}
		return ids
	}
	switch r := op.Root; r.Kind {
	case codec.RootGroupCreated: // its id is what it is made of
		return []codec.GroupID{r.ParentID}
	case codec.RootGroupReparented:
		return []codec.GroupID{r.GroupID, r.ParentID}
	case codec.RootMemberJoined:
		return []codec.GroupID{r.Invitation.GroupID}
	case codec.RootGroupDeleted, codec.RootInvitationRevoked, codec.RootKeyDelivery, codec.RootKeyDelivered, codec.RootAuthorityStated:
		return []codec.GroupID{r.GroupID}
	default: // the namespace itself, or none
		return nil
	}
}

// wire returns a whole op as it travels. It is not to be modified.
func (op *Op) wire() []byte { return op.signed[len(DomainOp):] }

// ParseOp returns the op of a row of prefix 0x38.
func ParseOp(row []byte) (*Op, error) {
	if len(row) > 0 && codec.StoredOpKind(row[0]) == codec.StoredSigned {
		op, _, err := parseWire(row[1:])
		return op, err
	}
	stored, err := codec.StoredNamespaceOp{}.Decode(row)
	if err != nil {
		return nil, err
	}
	if stored.Kind == codec.StoredForgotten {
		o := &stored.Forgotten
		return &Op{Version: codec.OpVersion2, ID: o.OpID, Parents: o.Parents, Signer: o.Signer, Nonce: o.Nonce, GroupID: o.GroupID, KeyOp: o.KeyOp}, nil
	}
	o := &stored.Opaque
	return &Op{ID: o.OpID, Parents: o.Parents, Signer: o.Signer, Nonce: o.Nonce, GroupID: o.GroupID, KeyID: o.KeyID,
		Rotations: o.Rotations}, nil
}

// Skeleton returns what is kept of a sealed op whose payload is to be forgotten: all
// that the DAG and the rules of keys need.
func (op *Op) Skeleton() codec.StoredNamespaceOp {
	if op.Version == codec.OpVersion2 {
		return codec.StoredNamespaceOp{Kind: codec.StoredForgotten, Forgotten: codec.SealedSkeleton{OpID: op.ID, Parents: op.Parents,
			Signer: op.Signer, Nonce: op.Nonce, GroupID: op.GroupID, KeyOp: op.KeyOp}}
	}
	return codec.StoredNamespaceOp{Kind: codec.StoredOpaque, Opaque: codec.OpaqueSkeleton{OpID: op.ID, Parents: op.Parents,
		Signer: op.Signer, Nonce: op.Nonce, GroupID: op.GroupID, KeyID: op.KeyID, Rotations: op.Rotations}}
}

// newKeyOf returns the key of g that s introduces, or nil.
func newKeyOf(s *codec.SignedNamespaceOp, g codec.GroupID) *codec.NewKey {
	for i := range s.Op.Keys {
		if own := &s.Op.Keys[i]; own.GroupID == g {
			return own
		}
	}
	return nil
}

func recipients(envelopes []codec.KeyEnvelope) (ids []codec.Identity) {
	for _, e := range envelopes {
		ids = append(ids, e.Recipient)
	}
	return ids
}

// Sign sets the signer and the signature of s, which must be complete but for them.
func Sign(s *codec.SignedNamespaceOp, seed codec.Secret) error {
	s.Signer = group.IdentityOf(seed)
	b, err := s.AppendBinary(nil)
	if err == nil {
		s.Signature = group.Sign(seed, domainOf(s.Version), group.Unsigned(b))
	}
	return err
}

// CreationID returns the id of the group that the creating op r makes: SHA-256 of a
// domain and of r with its group_id zeroed.
func CreationID(r *codec.RootOp) (codec.GroupID, error) {
	body, domain := *r, domainGroup
	if r.Kind == codec.RootNamespaceCreated {
		domain = domainNamespace
	}
	body.GroupID = codec.GroupID{}
	b, err := body.AppendBinary([]byte(domain))
	return sha256.Sum256(b), err
}
