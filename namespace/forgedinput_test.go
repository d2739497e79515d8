package namespace

import (
	"crypto/ecdh"
	"crypto/sha512"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
)

// Inputs of which all is right but one thing, so that the one check decides.

// Somebody outside writes an invitation in the admin's name, and signs the joining by it
// as its member, as anybody can: only the inviter's signature is missing.
func TestInvitationThatItsInviterDidNotSignAdmitsNobody(t *testing.T) {
	z := found(t, "Z")
	z.do(add("M", codec.Member))
	for _, carrier := range []string{"X", "M"} {
		for _, signedBy := range []string{"X", "M", ""} {
			v := codec.Invitation{NamespaceID: z.namespace, GroupID: z.namespace, Role: codec.Admin, Inviter: idOf("Z"), ExpiresAt: 1 << 40}
			if signedBy != "" {
				require.NoError(t, group.SignInvitation(&v, seedOf(signedBy)))
			}
			r := codec.RootOp{Kind: codec.RootMemberJoined, Member: idOf("X"), Invitation: v}
			var err error
			r.JoinerSignature, err = group.SignJoin(&v, seedOf("X"))
			require.NoError(t, err)
			s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: z.namespace, Parents: z.view().heads(), Nonce: 1, Op: codec.NamespaceOp{Root: r}}
			require.NoError(t, Sign(s, seedOf(carrier)))
			requireRefused(t, BadSignature, z.offer(s))
			request, err := v.AppendBinary(nil)
			require.NoError(t, err)
			request = append(append(request, r.Member[:]...), r.JoinerSignature[:]...)
			_, err = z.store.Admit(bg, request)
			require.ErrorIs(t, err, ErrNotInvited)
		}
	}
}

// An op that creates a group in the name of another, with the id that goes with that.
func TestGroupIsCreatedInNobodyElsesName(t *testing.T) {
	z := found(t, "Z")
	z.do(add("M", codec.Admin))
	m := z.peer("M")
	m.sync(z)
	for _, creator := range []string{"Z", "M"} {
		r := codec.RootOp{Kind: codec.RootGroupCreated, ParentID: z.namespace, Creator: idOf(creator)}
		id, err := CreationID(&r)
		require.NoError(t, err)
		r.GroupID = id
		s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: z.namespace, Parents: m.view().heads(), Nonce: 1, Op: codec.NamespaceOp{Root: r}}
		require.NoError(t, Sign(s, seedOf("M")))
		if err := m.copy().offer(s); creator == "M" {
			require.NoError(t, err)
		} else {
			requireRefused(t, BadForm, err)
		}
	}
	// and a namespace in the name of somebody whose it then would be
	r := codec.RootOp{Kind: codec.RootNamespaceCreated, Creator: idOf("Z"), Salt: codec.Hash{8}}
	id, err := CreationID(&r)
	require.NoError(t, err)
	r.GroupID = id
	s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: id, Nonce: 1, Op: codec.NamespaceOp{Root: r}}
	require.NoError(t, Sign(s, seedOf("M")))
	_, err = Check(s)
	requireRefused(t, BadForm, err)
}

// Whoever seals an envelope can put another key into it than the one that it names, all
// else in order: then members would seal under keys that others do not have.
func TestEnvelopeWithAnotherKeyThanItNamesDoesNotOpen(t *testing.T) {
	ns, named, inside := codec.GroupID{1}, codec.Secret{3}, codec.Secret{4}
	for _, key := range []codec.Secret{named, inside} {
		e := codec.KeyEnvelope{Recipient: idOf("M")}
		hashed := sha512.Sum512([]byte("ephemeral"))
		ephemeral, err := ecdh.X25519().NewPrivateKey(hashed[:32])
		require.NoError(t, err)
		copy(e.Ephemeral[:], ephemeral.PublicKey().Bytes())
		theirs, err := montgomery(idOf("M"))
		require.NoError(t, err)
		shared, err := ephemeral.ECDH(theirs)
		require.NoError(t, err)
		sealed, err := underShared(domainEnvelope, shared, ns, ns, KeyID(named), &e, func(k codec.Secret, nonce []byte) ([]byte, error) {
			return sealWith(k, nonce, key), nil
		})
		require.NoError(t, err)
		copy(e.Sealed[:], sealed)
		opened, err := OpenKey(codec.OpVersion1, seedOf("M"), ns, ns, KeyID(named), &e)
		if key.Equal(named) {
			require.NoError(t, err)
			require.True(t, opened.Equal(named))
		} else {
			require.ErrorIs(t, err, ErrOpen)
		}
	}
}

// An invitation is good until the second in which it expires, which is none of its time.
func TestInvitationExpiresInItsSecond(t *testing.T) {
	now := time.Unix(1_000, 0)
	db := mem.New()
	z, err := Open(db, Options{Rand: randomness(1), Now: func() time.Time { return now }})
	require.NoError(t, err)
	defer z.Close()
	ns, _ := created(t, z)
	request := func(seed byte, expires time.Time) []byte {
		invitation, err := z.Invite(bg, Invite{GroupID: ns, Role: codec.Member, Expires: expires})
		require.NoError(t, err)
		request, err := newStore(t, seed).Join(bg, invitation)
		require.NoError(t, err)
		return request
	}
	first, second := request(2, time.Unix(2_000, 0)), request(3, time.Unix(2_000, 0))
	now = time.Unix(1_999, 999_999_999)
	_, err = z.Admit(bg, first)
	require.NoError(t, err)
	now = time.Unix(2_000, 0)
	_, err = z.Admit(bg, second)
	require.ErrorIs(t, err, ErrExpired)
}
