package namespace

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

func TestSealedOpsAreBoundToTheirPlace(t *testing.T) {
	z := found(t, "Z")
	made := z.do(call("z"))
	s, key := made[1], z.ring[GroupKey{z.namespace, made[0].Op.Keys[0].KeyID}]
	_, err := OpenOp(s, key)
	require.NoError(t, err)
	for name, change := range map[string]func(*codec.SignedNamespaceOp){
		"namespace": func(s *codec.SignedNamespaceOp) { s.NamespaceID[0]++ },
		"group":     func(s *codec.SignedNamespaceOp) { s.Op.GroupID[0]++ },
		"key":       func(s *codec.SignedNamespaceOp) { s.Op.KeyOp[0]++ },
		"signer":    func(s *codec.SignedNamespaceOp) { s.Signer[0]++ },
		"nonce":     func(s *codec.SignedNamespaceOp) { s.Nonce++ },
		"parents":   func(s *codec.SignedNamespaceOp) { s.Parents[0][0]++ },
		"sealed":    func(s *codec.SignedNamespaceOp) { s.Op.Sealed[30] ^= 1 },
		"cut":       func(s *codec.SignedNamespaceOp) { s.Op.Sealed = s.Op.Sealed[:3] },
	} {
		other := resigned(t, s, "Z", func(*codec.SignedNamespaceOp) {})
		change(other)
		_, err := OpenOp(other, key)
		require.ErrorIs(t, err, ErrOpen, name)
	}
	_, err = OpenOp(s, codec.Secret{1})
	require.ErrorIs(t, err, ErrOpen)
}

func TestEnvelopesAreBoundToAllTheyAreAbout(t *testing.T) {
	ns, g, key := codec.GroupID{1}, codec.GroupID{2}, codec.Secret{3}
	at := site{namespace: ns, group: g, signer: idOf("Z"), nonce: 4, parents: []codec.OpID{{5}}}
	e, err := at.envelope(key, idOf("M"))
	require.NoError(t, err)
	back, err := OpenKey(codec.OpVersion2, seedOf("M"), ns, g, KeyID(key), &e)
	require.NoError(t, err)
	require.True(t, back.Equal(key))
	again, err := at.envelope(key, idOf("M"))
	require.NoError(t, err)
	require.Equal(t, e, again, "whoever holds the key rebuilds it")
	for name, change := range map[string]func(at *site){
		"namespace": func(at *site) { at.namespace[0]++ },
		"group":     func(at *site) { at.group[0]++ },
		"signer":    func(at *site) { at.signer[0]++ },
		"nonce":     func(at *site) { at.nonce++ },
		"parents":   func(at *site) { at.parents = []codec.OpID{{6}} },
	} {
		other := at
		change(&other)
		elsewhere, err := other.envelope(key, idOf("M"))
		require.NoError(t, err)
		require.NotEqual(t, e.Ephemeral, elsewhere.Ephemeral, name)
	}
	theirs, err := at.envelope(key, idOf("K"))
	require.NoError(t, err)
	require.NotEqual(t, e.Ephemeral, theirs.Ephemeral)
	fails := func(seed codec.Secret, ns, g codec.GroupID, id codec.KeyID, e codec.KeyEnvelope) {
		t.Helper()
		_, err := OpenKey(codec.OpVersion2, seed, ns, g, id, &e)
		require.ErrorIs(t, err, ErrOpen)
	}
	fails(seedOf("K"), ns, g, KeyID(key), e)
	fails(seedOf("M"), codec.GroupID{9}, g, KeyID(key), e)
	fails(seedOf("M"), ns, codec.GroupID{9}, KeyID(key), e)
	fails(seedOf("M"), ns, g, codec.KeyID{9}, e)
	for i := range e.Sealed {
		bad := e
		bad.Sealed[i] ^= 1
		fails(seedOf("M"), ns, g, KeyID(key), bad)
	}
	bad := e
	bad.Ephemeral[0] ^= 1
	fails(seedOf("M"), ns, g, KeyID(key), bad)
	_, err = OpenKey(codec.OpVersion1, seedOf("M"), ns, g, KeyID(key), &e)
	require.ErrorIs(t, err, ErrOpen, "of another version")
}

func TestCarriedKeysAreBoundToTheirPlace(t *testing.T) {
	at := site{namespace: codec.GroupID{1}, group: codec.GroupID{2}, signer: idOf("Z"), nonce: 4, parents: []codec.OpID{{5}}}
	key, earlier := codec.Secret{3}, codec.Secret{6}
	c, err := at.carry(key, codec.OpID{7}, earlier)
	require.NoError(t, err)
	back, err := at.openCarried(key, &c)
	require.NoError(t, err)
	require.True(t, back.Equal(earlier))
	_, err = at.openCarried(earlier, &c)
	require.ErrorIs(t, err, ErrOpen)
	renamed := c
	renamed.Op[0]++
	_, err = at.openCarried(key, &renamed)
	require.ErrorIs(t, err, ErrOpen)
	for i := range c.Sealed {
		bad := c
		bad.Sealed[i] ^= 1
		_, err = at.openCarried(key, &bad)
		require.ErrorIs(t, err, ErrOpen)
	}
	elsewhere := at
	elsewhere.parents = []codec.OpID{{5}, {6}}
	_, err = elsewhere.openCarried(key, &c)
	require.ErrorIs(t, err, ErrOpen)
}

func TestEnvelopesOfVersion1AreBoundToAllTheyAreAbout(t *testing.T) {
	ns, g, key := codec.GroupID{1}, codec.GroupID{2}, codec.Secret{3}
	e, err := SealKey(randomness(1), ns, g, key, idOf("M"))
	require.NoError(t, err)
	back, err := OpenKey(codec.OpVersion1, seedOf("M"), ns, g, KeyID(key), &e)
	require.NoError(t, err)
	require.True(t, back.Equal(key))
	again, err := SealKey(randomness(2), ns, g, key, idOf("M"))
	require.NoError(t, err)
	require.NotEqual(t, e.Ephemeral, again.Ephemeral)
	fails := func(seed codec.Secret, ns, g codec.GroupID, id codec.KeyID, e codec.KeyEnvelope) {
		t.Helper()
		_, err := OpenKey(codec.OpVersion1, seed, ns, g, id, &e)
		require.ErrorIs(t, err, ErrOpen)
	}
	fails(seedOf("K"), ns, g, KeyID(key), e)
	fails(seedOf("M"), codec.GroupID{9}, g, KeyID(key), e)
	fails(seedOf("M"), ns, codec.GroupID{9}, KeyID(key), e)
	fails(seedOf("M"), ns, g, codec.KeyID{9}, e)
	for i := range e.Sealed {
		bad := e
		bad.Sealed[i] ^= 1
		fails(seedOf("M"), ns, g, KeyID(key), bad)
	}
	bad := e
	bad.Ephemeral[0] ^= 1
	fails(seedOf("M"), ns, g, KeyID(key), bad)
	bad = e
	bad.Recipient = idOf("K")
	fails(seedOf("K"), ns, g, KeyID(key), bad)
	// an envelope for another key under the id of this one
	other, err := SealKey(randomness(1), ns, g, codec.Secret{4}, idOf("M"))
	require.NoError(t, err)
	fails(seedOf("M"), ns, g, KeyID(key), other)
}

// The points of small order of the Montgomery form, as an ephemeral key, and of the
// Edwards form, as a recipient: whoever sends or is sent them knows the shared secret.
func TestSmallOrderPointsOpenAndSealNothing(t *testing.T) {
	ns, key := codec.GroupID{1}, codec.Secret{3}
	for _, u := range []codec.Hash{{}, {1},
		{0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a, 0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00},
		{0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b, 0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57}} {
		e := codec.KeyEnvelope{Recipient: idOf("M"), Ephemeral: u}
		for _, v := range []codec.OpVersion{codec.OpVersion1, codec.OpVersion2} {
			sealed, err := underShared([]string{domainEnvelope, domainEnvelope2}[v], make([]byte, 32), ns, ns, KeyID(key), &e, func(k codec.Secret, nonce []byte) ([]byte, error) {
				return sealWith(k, nonce, key), nil
			})
			require.NoError(t, err)
			copy(e.Sealed[:], sealed)
			_, err = OpenKey(v, seedOf("M"), ns, ns, KeyID(key), &e)
			require.ErrorIs(t, err, ErrOpen)
		}
	}
	unreduced := codec.Identity{0xEE, 31: 0x7F} // p + 1
	for i := range 30 {
		unreduced[i+1] = 0xFF
	}
	for _, id := range []codec.Identity{{}, {1}, {2}, unreduced} {
		_, err := site{}.envelope(key, id)
		require.ErrorIs(t, err, ErrIdentity, id)
		require.False(t, ValidIdentity(id))
	}
}

func TestNewestKeyOpensAllHistory(t *testing.T) {
	z := found(t, "Z")
	z.do(add("M", codec.Member))
	for range 3 {
		z.do(call("x"))
		z.do(remove("M"))
		z.do(add("M", codec.Member))
	}
	last := z.do(add("N", codec.Member))
	require.Len(t, last, 2, "the key is delivered to who was added")
	n := z.peer("N")
	n.sync(z)
	require.Equal(t, z.result(), n.result())
	require.Len(t, n.ring, len(z.ring))
	require.Greater(t, len(n.ring), 3)
	// and nobody else
	x := z.peer("X")
	x.sync(z)
	require.Empty(t, x.ring)
	for _, op := range x.ops {
		if op.sealed() {
			require.Equal(t, "sealed", x.result().Verdicts[op.ID].String())
		}
	}
}

// Who joined by a root op reads nothing until the key is delivered, and needs it for
// nothing that is clear.
func TestJoinedMemberIsSentTheKey(t *testing.T) {
	z := found(t, "Z")
	z.do(call("x"))
	join := codec.RootOp{Kind: codec.RootMemberJoined, Member: idOf("J"), Invitation: codec.Invitation{NamespaceID: z.namespace,
		GroupID: z.namespace, Role: codec.Member, Inviter: idOf("Z")}}
	require.NoError(t, group.SignInvitation(&join.Invitation, seedOf("Z")))
	var err error
	join.JoinerSignature, err = group.SignJoin(&join.Invitation, seedOf("J"))
	require.NoError(t, err)
	z.root(join)
	j := z.peer("J")
	j.sync(z)
	require.Empty(t, j.ring)
	_, err = j.try(j.namespace, call("y"))
	require.ErrorIs(t, err, ErrNotEffective, "it may not name the group")
	left := j.copy().do(codec.GroupOp{Kind: codec.OpMemberLeft})
	require.Len(t, left, 1)
	named := j.copy().do(codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: idOf("J"), Name: codec.Some(codec.AliasName("j"))})
	require.Len(t, named, 2, "it makes a key of its own")
	z.do(call("z")) // and sends the key
	j.sync(z)
	require.Equal(t, z.result(), j.result())
}

// A sealed op under a key that this node lacks does not stop it, and takes effect when
// the key comes as if it had come late itself.
func TestOpWithoutItsKeyStopsNothing(t *testing.T) {
	z := found(t, "Z")
	z.do(add("M", codec.Admin))
	m := z.peer("M")
	m.sync(z)
	m.do(call("m"))
	z.sync(m)
	blind := z.peer("X")
	blind.sync(z)
	require.Len(t, blind.ops, len(z.ops))
	require.Empty(t, blind.ring)
	view, err := newView(z.namespace, blind.ops, z.ring)
	require.NoError(t, err)
	sighted, err := group.Evaluate(view.readAt(view.heads()), codec.Identity{})
	require.NoError(t, err)
	require.Equal(t, z.result(), sighted)
	blind.result()
}

func TestWhatIsSealedBelongsToItsCarrier(t *testing.T) {
	z := found(t, "Z")
	z.do(add("M", codec.Admin))
	theirs := z.do(call("z"))
	m := z.peer("M")
	m.sync(z)
	key := GroupKey{z.namespace, theirs[0].Op.Keys[0].KeyID}
	inner, err := OpenOp(theirs[1], z.ring[key])
	require.NoError(t, err)
	v := m.view()
	// wrap carries those bytes in an op that M signs
	wrap := func(plain []byte, secret codec.Secret) group.Verdict {
		s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: z.namespace, Parents: v.heads(), Signer: idOf("M"), Nonce: 1,
			Op: codec.NamespaceOp{Kind: codec.NamespaceSealed, GroupID: z.namespace, KeyOp: theirs[1].Op.KeyOp}}
		require.NoError(t, SealOp(randomness(1), s, secret, plain))
		require.NoError(t, Sign(s, seedOf("M")))
		other := m.copy()
		other.take(s)
		r := other.result()
		return r.Verdicts[other.ops[len(other.ops)-1].ID]
	}
	require.Equal(t, group.Verdict{Outcome: group.Void, Reason: group.Rewrapped}, wrap(inner, z.ring[key]))
	require.Equal(t, group.Verdict{Outcome: group.Void, Reason: group.Malformed}, wrap([]byte("no op"), z.ring[key]))
	require.Equal(t, group.Verdict{Outcome: group.Void, Reason: group.Unopenable}, wrap(inner, codec.Secret{1}))
	own := codec.SignedGroupOp{GroupID: z.namespace, Parents: v.heads(), Signer: idOf("M"), Nonce: 1, Op: call("x")}
	forged, err := own.AppendBinary(nil)
	require.NoError(t, err)
	require.Equal(t, group.Verdict{Outcome: group.Void, Reason: group.Forged}, wrap(forged, z.ring[key]))
	for name, change := range map[string]func(*codec.SignedGroupOp){
		"group":   func(o *codec.SignedGroupOp) { o.GroupID[0]++ },
		"parents": func(o *codec.SignedGroupOp) { o.Parents = []codec.OpID{{1}} },
		"nonce":   func(o *codec.SignedGroupOp) { o.Nonce++ },
		"signer":  func(o *codec.SignedGroupOp) { o.Signer = idOf("Z") },
	} {
		other := own
		change(&other)
		require.NoError(t, group.SignOp(&other, seedOf("M")))
		moved, err := other.AppendBinary(nil)
		require.NoError(t, err)
		require.Equal(t, group.Verdict{Outcome: group.Void, Reason: group.Rewrapped}, wrap(moved, z.ring[key]), name)
	}
	for kind := range codec.OpMembersRemoved + 1 {
		if !IsClear(kind) {
			continue
		}
		own.Op = codec.GroupOp{Kind: kind}
		require.NoError(t, group.SignOp(&own, seedOf("M")))
		hidden, err := own.AppendBinary(nil)
		require.NoError(t, err)
		require.Equal(t, group.Verdict{Outcome: group.Void, Reason: group.NotClear}, wrap(hidden, z.ring[key]), kind)
	}
	own.Op = call("x")
	require.NoError(t, group.SignOp(&own, seedOf("M")))
	good, err := own.AppendBinary(nil)
	require.NoError(t, err)
	require.Equal(t, group.Verdict{Outcome: group.Effective}, wrap(good, z.ring[key]))
}

func TestSecretsPrintRedacted(t *testing.T) {
	z := found(t, "Z")
	z.do(call("z"))
	require.NotEmpty(t, z.ring)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("ring", "ring", z.ring)
	for _, key := range z.ring {
		text := fmt.Sprintf("%v %+v %#v %x %s", z.ring, z.ring, z.ring, z.ring, log.String())
		require.NotContains(t, text, key.Reveal())
		require.Contains(t, text, "redacted:")
	}
}
