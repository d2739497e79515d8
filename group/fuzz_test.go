package group

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

// FuzzSignedGroupOp demands of any bytes: an error, or an op that encodes to them and
// whose signature is judged without a panic.
func FuzzSignedGroupOp(f *testing.F) {
	ops, _ := groupOps()
	for _, op := range ops {
		signed := codec.SignedGroupOp{Signer: IdentityOf(codec.Secret{1}), Nonce: 1, Op: op}
		require.NoError(f, SignOp(&signed, codec.Secret{1}))
		b, err := signed.AppendBinary(nil)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		op, err := codec.SignedGroupOp{}.Decode(src)
		if err != nil {
			require.ErrorIs(t, err, codec.ErrMalformed)
			return
		}
		b, err := op.AppendBinary(nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(src, b))
		if err := VerifyOp(b, op.Signer); err != nil {
			require.ErrorIs(t, err, ErrSignature)
		}
	})
}

// FuzzInvitation is the same for invitations.
func FuzzInvitation(f *testing.F) {
	v := codec.Invitation{Inviter: IdentityOf(codec.Secret{1}), Invitee: codec.Some(codec.Identity{1})}
	require.NoError(f, SignInvitation(&v, codec.Secret{1}))
	b, err := v.AppendBinary(nil)
	require.NoError(f, err)
	f.Add(b)
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := codec.Invitation{}.Decode(src)
		if err != nil {
			require.ErrorIs(t, err, codec.ErrMalformed)
			return
		}
		if err := VerifyInvitation(&v); err != nil {
			require.ErrorIs(t, err, ErrSignature)
		}
		_, err = InvitationID(&v)
		require.NoError(t, err)
	})
}
