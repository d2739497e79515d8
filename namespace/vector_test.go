package namespace

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"filippo.io/edwards25519"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/chacha20poly1305"
	"golang.org/x/crypto/curve25519"
	"golang.org/x/crypto/hkdf"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// vector is an op, or a part of one, with all that is computed from it, in hex.
type vector struct {
	Name   string          `json:"name"`
	Value  json.RawMessage `json:"value"`
	Bytes  string          `json:"bytes"`
	ID     string          `json:"id,omitempty"`
	Secret string          `json:"secret,omitempty"` // of an envelope: the recipient's seed; of what is sealed: the key
	Opened string          `json:"opened,omitempty"` // what is inside
}

// naive writes borsh by hand: it knows no types, only what the README says.
type naive struct{ bytes.Buffer }

func (n *naive) raw(parts ...[]byte) *naive {
	for _, b := range parts {
		n.Write(b)
	}
	return n
}
func (n *naive) id(b ...byte) *naive {
	for _, x := range b {
		n.Write(bytes.Repeat([]byte{x}, 32))
	}
	return n
}
func (n *naive) u8(b ...byte) *naive { n.Write(b); return n }
func (n *naive) le(v uint64, size int) *naive {
	for range size {
		n.WriteByte(byte(v))
		v >>= 8
	}
	return n
}

func fill[T ~[32]byte](b byte) (v T) { return T(bytes.Repeat([]byte{b}, 32)) }

var (
	vectorSeed  = codec.Secret{1}
	vectorKey   = ed25519.NewKeyFromSeed(vectorSeed[:])
	vectorSelf  = []byte(vectorKey.Public().(ed25519.PublicKey))
	vectorGroup = codec.Secret{0x42} // a group key
)

// rootVectors is one root op of each kind with its bytes by hand; ids of creations are
// computed by hand too.
func rootVectors() (ops []codec.RootOp, encoded [][]byte) {
	self := codec.Identity(vectorSelf)
	known := group.IdentityOf(codec.Secret{2})
	beginning := codec.RootOp{Creator: self, Salt: fill[codec.Hash](2), AppKey: fill[codec.Hash](3),
		TargetApplicationID: fill[codec.ApplicationID](4), UpgradePolicy: codec.UpgradeManual, CreatedAt: 5}
	tail := new(naive).raw(vectorSelf).id(2, 3, 4).u8(1).le(5, 8).Bytes()
	for kind, domain := range []string{"stoa.id.namespace.v1", "stoa.id.group.v1"} {
		var parent []byte
		if kind == 1 {
			beginning.ParentID, parent = fill[codec.GroupID](6), bytes.Repeat([]byte{6}, 32)
		}
		sum := sha256.Sum256(slices.Concat([]byte(domain), []byte{byte(kind)}, make([]byte, 32), parent, tail))
		beginning.Kind, beginning.GroupID = codec.RootOpKind(kind), sum
		ops, encoded = append(ops, beginning), append(encoded, slices.Concat([]byte{byte(kind)}, sum[:], parent, tail))
	}
	envelope := codec.KeyEnvelope{Recipient: self, Ephemeral: fill[codec.Hash](9)}
	join := codec.RootOp{Kind: 4, Member: self, JoinerSignature: codec.Signature{8}, Invitation: codec.Invitation{
		NamespaceID: fill[codec.GroupID](1), GroupID: fill[codec.GroupID](2), Role: codec.Member, Inviter: self, ExpiresAt: 3,
		Nonce: fill[codec.Hash](4), Signature: codec.Signature{7}}}
	ops = append(ops, codec.RootOp{Kind: 2, GroupID: fill[codec.GroupID](1), ParentID: fill[codec.GroupID](2)},
		codec.RootOp{Kind: 3, GroupID: fill[codec.GroupID](1)}, join,
		codec.RootOp{Kind: 5, GroupID: fill[codec.GroupID](1), InvitationID: fill[codec.Hash](2)},
		codec.RootOp{Kind: 6, GroupID: fill[codec.GroupID](1), KeyID: fill[codec.KeyID](2), Envelopes: []codec.KeyEnvelope{envelope}},
		codec.RootOp{Kind: 7},
		codec.RootOp{Kind: 8, GroupID: fill[codec.GroupID](1), KeyOp: fill[codec.OpID](2), Envelopes: []codec.KeyEnvelope{envelope}},
		codec.RootOp{Kind: 9, GroupID: fill[codec.GroupID](1), AdminIdentity: self, Members: []codec.StatedMember{{Member: known, Role: codec.ReadOnly, Capabilities: 3}}, Defaults: 5})
	encoded = append(encoded, new(naive).u8(2).id(1, 2).Bytes(), new(naive).u8(3).id(1).Bytes(),
		new(naive).u8(4).id(1, 2).u8(1).raw(vectorSelf).u8(0).le(3, 8).id(4).le(7, 64).raw(vectorSelf).le(8, 64).Bytes(),
		new(naive).u8(5).id(1, 2).Bytes(),
		new(naive).u8(6).id(1, 2).le(1, 4).raw(vectorSelf).id(9).raw(make([]byte, 48)).Bytes(), []byte{7},
		new(naive).u8(8).id(1, 2).le(1, 4).raw(vectorSelf).id(9).raw(make([]byte, 48)).Bytes(),
		new(naive).u8(9).id(1).raw(vectorSelf).le(1, 4).raw(known[:]).u8(2).le(3, 4).le(5, 4).Bytes())
	return ops, encoded
}

// signedByHand returns the bytes and the id of an op of a version whose body has these bytes.
func signedByHand(version byte, ns []byte, nonce uint64, body []byte, parents ...byte) (whole []byte, id [32]byte) {
	domain := fmt.Append(nil, "stoa.namespace.v", version)
	unsigned := new(naive).u8(version).raw(ns).le(uint64(len(parents)), 4).id(parents...).raw(vectorSelf).le(nonce, 8).raw(body).Bytes()
	whole = slices.Concat(unsigned, ed25519.Sign(vectorKey, slices.Concat(domain, unsigned)))
	return whole, sha256.Sum256(slices.Concat(domain, whole))
}

func TestGoldenVectors(t *testing.T) {
	var vectors []vector
	add := func(name, typ string, b []byte, v vector) {
		described, ok := codec.TypeByName(typ)
		require.True(t, ok)
		text, err := described.JSON(b, false)
		require.NoError(t, err, name)
		v.Name, v.Value, v.Bytes = name, text, hex.EncodeToString(b)
		vectors = append(vectors, v)
	}
	ops, encoded := rootVectors()
	require.Len(t, ops, int(codec.RootAuthorityStated)+1, "every kind has a vector")
	for i, op := range ops {
		ns, parents := bytes.Repeat([]byte{0x33}, 32), []byte{0x10, 0x11}
		s := codec.SignedNamespaceOp{NamespaceID: fill[codec.GroupID](0x33), Nonce: 9, Op: codec.NamespaceOp{Root: op},
			Parents: []codec.OpID{fill[codec.OpID](0x10), fill[codec.OpID](0x11)}}
		if i == 0 {
			s.NamespaceID, s.Parents, ns, parents = op.GroupID, nil, op.GroupID[:], nil
		}
		version := byte(1)
		if op.Kind >= codec.RootKeyDelivered {
			version, s.Version = 2, codec.OpVersion2
		}
		whole, id := signedByHand(version, ns, 9, slices.Concat([]byte{0}, encoded[i]), parents...)
		require.NoError(t, Sign(&s, vectorSeed))
		requireSame(t, whole, id, &s)
		if i < 2 {
			made, err := CreationID(&op)
			require.NoError(t, err)
			require.Equal(t, op.GroupID, made)
		}
		add(op.Kind.String(), "SignedNamespaceOp", whole, vector{ID: hex.EncodeToString(id[:])})
	}
	sealedVectors(t, add)
	vectors2(t, add)

	text, err := json.MarshalIndent(vectors, "", " ")
	require.NoError(t, err)
	text = append(text, '\n')
	const file = "testdata/ops.json"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, text, 0o644))
	}
	stored, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, bytes.Equal(text, stored), "%s is not what the definition gives; if that has changed: go test ./namespace -update", file)
}

func requireSame(t *testing.T, whole []byte, id [32]byte, s *codec.SignedNamespaceOp) {
	b, err := s.AppendBinary(nil)
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(whole), hex.EncodeToString(b))
	op, err := NewOp(s)
	require.NoError(t, err)
	require.Equal(t, codec.OpID(id), op.ID)
}

// sealedVectors are a rotation, an op sealed under its key, and a skeleton of that.
func sealedVectors(t *testing.T, add func(name, typ string, b []byte, v vector)) {
	ns, g := bytes.Repeat([]byte{0x33}, 32), bytes.Repeat([]byte{0x22}, 32)
	key, previous := vectorGroup, codec.Secret{0x41}
	keyID, previousID := sha256.Sum256(key[:]), sha256.Sum256(previous[:])

	// an envelope, by other libraries
	ephemeralSeed := bytes.Repeat([]byte{0x55}, 32)
	ephemeral, err := curve25519.X25519(ephemeralSeed, curve25519.Basepoint)
	require.NoError(t, err)
	point, err := new(edwards25519.Point).SetBytes(vectorSelf)
	require.NoError(t, err)
	shared, err := curve25519.X25519(ephemeralSeed, point.BytesMontgomery())
	require.NoError(t, err)
	hashed := sha512.Sum512(vectorSeed[:])
	same, err := curve25519.X25519(hashed[:32], ephemeral)
	require.NoError(t, err)
	require.Equal(t, shared, same)
	okm := make([]byte, 56)
	info := slices.Concat([]byte("stoa.envelope.v1"), ns, g, keyID[:], ephemeral, vectorSelf)
	_, err = io.ReadFull(hkdf.New(sha256.New, shared, nil, info), okm)
	require.NoError(t, err)
	envelope := slices.Concat(vectorSelf, ephemeral, xchacha(t, okm[:32], okm[32:], key[:], nil))
	add("envelope", "KeyEnvelope", envelope, vector{Secret: vectorSeed.Reveal(), Opened: key.Reveal(), ID: hex.EncodeToString(keyID[:])})

	nonce := bytes.Repeat([]byte{0x66}, 24)
	chain := slices.Concat(nonce, xchacha(t, key[:], nonce, previous[:], slices.Concat([]byte("stoa.previous.v1"), ns, g, keyID[:], previousID[:])))
	rotation := new(naive).raw(g, keyID[:]).u8(1).raw(previousID[:], chain).le(1, 4).raw(envelope).Bytes()
	add("rotation", "KeyRotation", rotation, vector{Secret: key.Reveal(), Opened: previous.Reveal()})

	inner := new(naive).u8(1).raw(g).le(1, 4).id(0x10).raw(vectorSelf).le(7, 8).u8(2).Bytes() // member_left
	inner = slices.Concat(inner, ed25519.Sign(vectorKey, slices.Concat([]byte("stoa.group.v1"), inner)))
	bound := new(naive).raw([]byte("stoa.seal.v1"), ns, g, keyID[:], vectorSelf).le(7, 8).le(1, 4).id(0x10).Bytes()
	sealed := slices.Concat(nonce, xchacha(t, key[:], nonce, inner, bound))
	body := new(naive).u8(1).raw(g, keyID[:]).le(uint64(len(sealed)), 4).raw(sealed).le(1, 4).raw(rotation).Bytes()
	whole, id := signedByHand(1, ns, 7, body, 0x10)
	add("group op", "SignedNamespaceOp", whole, vector{ID: hex.EncodeToString(id[:]), Secret: key.Reveal(), Opened: hex.EncodeToString(inner)})

	s, err := codec.SignedNamespaceOp{}.Decode(whole)
	require.NoError(t, err)
	requireSame(t, whole, id, &s)
	op, err := Check(&s)
	require.NoError(t, err)
	ring := Keyring{}
	ring.Gather(s.NamespaceID, []*Op{op}, vectorSeed)
	require.Len(t, ring, 2, "the key by the envelope, the one before by the chain")
	read := openWith(op, key, nil)
	require.Equal(t, &codec.GroupOp{Kind: codec.OpMemberLeft}, read.body)
	require.NoError(t, group.VerifyOp(inner, s.Signer))

	opaque := new(naive).u8(1).raw(id[:]).le(1, 4).id(0x10).raw(vectorSelf).le(7, 8).raw(g, keyID[:]).le(1, 4).
		raw(g, keyID[:]).u8(1).raw(previousID[:]).le(1, 4).raw(vectorSelf).Bytes()
	b, err := op.Skeleton().AppendBinary(nil)
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(opaque), hex.EncodeToString(b))
	add("skeleton", "StoredNamespaceOp", opaque, vector{})
	add("stored whole", "StoredNamespaceOp", slices.Concat([]byte{0}, whole), vector{})
}

// vectors2 are what version 2 has: a clear op that introduces a key which carries another,
// an op sealed under it, a delivery, and a skeleton.
func vectors2(t *testing.T, add func(name, typ string, b []byte, v vector)) {
	ns, g := bytes.Repeat([]byte{0x33}, 32), bytes.Repeat([]byte{0x22}, 32)
	key, earlier := vectorGroup, codec.Secret{0x41}
	keyID := sha256.Sum256(key[:])
	derive := func(domain string, secret []byte, n int, info ...[]byte) []byte {
		okm := make([]byte, n)
		_, err := io.ReadFull(hkdf.New(sha256.New, secret, nil, slices.Concat([]byte(domain), slices.Concat(info...))), okm)
		require.NoError(t, err)
		return okm
	}
	// the place of an op: namespace, group, signer, nonce, and a hash of its parents
	place := func(nonce byte, parents ...byte) []byte {
		hashed := sha256.Sum256(new(naive).id(parents...).Bytes())
		return new(naive).raw(ns, g, vectorSelf).le(uint64(nonce), 8).raw(hashed[:]).Bytes()
	}
	envelope := func(place []byte) []byte {
		seed := derive("stoa.ephemeral.v2", key[:], 32, place, vectorSelf)
		ephemeral, err := curve25519.X25519(seed, curve25519.Basepoint)
		require.NoError(t, err)
		point, err := new(edwards25519.Point).SetBytes(vectorSelf)
		require.NoError(t, err)
		shared, err := curve25519.X25519(seed, point.BytesMontgomery())
		require.NoError(t, err)
		okm := derive("stoa.envelope.v2", shared, 56, ns, g, keyID[:], ephemeral, vectorSelf)
		return slices.Concat(vectorSelf, ephemeral, xchacha(t, okm[:32], okm[32:], key[:], nil))
	}
	at := place(7, 0x10)
	okm := derive("stoa.carry.v2", key[:], 56, at, bytes.Repeat([]byte{0x77}, 32))
	carried := new(naive).id(0x77).raw(xchacha(t, okm[:32], okm[32:], earlier[:], nil)).Bytes()
	add("carried key", "CarriedKey", carried, vector{Secret: key.Reveal(), Opened: earlier.Reveal()})
	introduced := new(naive).raw(g, keyID[:]).le(1, 4).raw(carried).le(1, 4).raw(envelope(at)).Bytes()
	add("new key", "NewKey", introduced, vector{Secret: vectorSeed.Reveal(), Opened: key.Reveal()})

	inner := new(naive).u8(1).raw(g).le(1, 4).id(0x10).raw(vectorSelf).le(7, 8).u8(21).Bytes() // key_rotated
	signature := ed25519.Sign(vectorKey, slices.Concat([]byte("stoa.group.v1"), inner))
	body := new(naive).u8(2).raw(g).u8(21).raw(signature).le(1, 4).raw(introduced).Bytes()
	whole, id := signedByHand(2, ns, 7, body, 0x10)
	add("clear op", "SignedNamespaceOp", whole, vector{ID: hex.EncodeToString(id[:])})
	s, err := codec.SignedNamespaceOp{}.Decode(whole)
	require.NoError(t, err)
	requireSame(t, whole, id, &s)
	op, err := Check(&s)
	require.NoError(t, err)
	ring := Keyring{}
	ring.Gather(s.NamespaceID, []*Op{op}, vectorSeed)
	require.Len(t, ring, 1)
	made, err := siteOf(&s, codec.GroupID(g)).introduce(key, []heldKey{{fill[codec.OpID](0x77), earlier}}, []codec.Identity{codec.Identity(vectorSelf)})
	require.NoError(t, err)
	require.Equal(t, s.Op.Keys[0], made)

	sealing := derive("stoa.sealing.v2", key[:], 32)
	nonce := bytes.Repeat([]byte{0x66}, 24)
	inner = new(naive).u8(1).raw(g).le(1, 4).raw(id[:]).raw(vectorSelf).le(8, 8).u8(15, 0).Bytes() // group_alias_set
	inner = slices.Concat(inner, ed25519.Sign(vectorKey, slices.Concat([]byte("stoa.group.v1"), inner)))
	bound := new(naive).raw([]byte("stoa.seal.v2"), ns, g, id[:], vectorSelf).le(8, 8).le(1, 4).raw(id[:]).Bytes()
	sealed := slices.Concat(nonce, xchacha(t, sealing, nonce, inner, bound))
	unsigned := new(naive).u8(2).raw(ns).le(1, 4).raw(id[:], vectorSelf).le(8, 8).u8(3).raw(g, id[:]).le(uint64(len(sealed)), 4).raw(sealed).Bytes()
	whole = slices.Concat(unsigned, ed25519.Sign(vectorKey, slices.Concat([]byte("stoa.namespace.v2"), unsigned)))
	sealedID := sha256.Sum256(slices.Concat([]byte("stoa.namespace.v2"), whole))
	add("sealed op", "SignedNamespaceOp", whole, vector{ID: hex.EncodeToString(sealedID[:]), Secret: key.Reveal(), Opened: hex.EncodeToString(inner)})
	s, err = codec.SignedNamespaceOp{}.Decode(whole)
	require.NoError(t, err)
	requireSame(t, whole, sealedID, &s)
	op, err = Check(&s)
	require.NoError(t, err)
	require.Equal(t, &codec.GroupOp{Kind: codec.OpGroupAliasSet}, openWith(op, key, nil).body)

	skeleton := new(naive).u8(2).raw(sealedID[:]).le(1, 4).raw(id[:], vectorSelf).le(8, 8).raw(g, id[:]).Bytes()
	b, err := op.Skeleton().AppendBinary(nil)
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(skeleton), hex.EncodeToString(b))
	add("forgotten", "StoredNamespaceOp", skeleton, vector{})

	body = new(naive).u8(0, 8).raw(g).id(0x77).le(1, 4).raw(envelope(place(9, 0x10, 0x11))).Bytes()
	whole, id = signedByHand(2, ns, 9, body, 0x10, 0x11)
	add("delivery", "SignedNamespaceOp", whole, vector{ID: hex.EncodeToString(id[:]), Secret: vectorSeed.Reveal(), Opened: key.Reveal()})
	s, err = codec.SignedNamespaceOp{}.Decode(whole)
	require.NoError(t, err)
	_, err = Check(&s)
	require.NoError(t, err)
	envelopes, err := siteOf(&s, codec.GroupID(g)).envelopes(key, []codec.Identity{codec.Identity(vectorSelf)})
	require.NoError(t, err)
	require.Equal(t, s.Op.Root.Envelopes, envelopes)
}

func xchacha(t *testing.T, key, nonce, plain, data []byte) []byte {
	aead, err := chacha20poly1305.NewX(key)
	require.NoError(t, err)
	return aead.Seal(nil, nonce, plain, data)
}
