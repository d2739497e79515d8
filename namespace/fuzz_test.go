package namespace

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

// FuzzSignedNamespaceOp demands of any bytes: an error, or an op that encodes to them,
// is refused with a reason or passes, has a skeleton, and reads with any key.
func FuzzSignedNamespaceOp(f *testing.F) {
	z := found(f, "Z")
	z.do(add("M", codec.Admin))
	z.do(remove("M"))
	for _, op := range z.ops {
		b, err := op.Signed.AppendBinary(nil)
		require.NoError(f, err)
		f.Add(b)
	}
	roots, _ := rootVectors()
	for _, r := range roots {
		s := codec.SignedNamespaceOp{Parents: []codec.OpID{{1}}, Nonce: 1, Op: codec.NamespaceOp{Root: r}}
		require.NoError(f, Sign(&s, vectorSeed))
		b, err := s.AppendBinary(nil)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := codec.SignedNamespaceOp{}.Decode(src)
		if err != nil {
			require.ErrorIs(t, err, codec.ErrMalformed)
			return
		}
		b, err := s.AppendBinary(nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(src, b))
		op, err := Check(&s)
		if err != nil {
			require.ErrorIs(t, err, ErrRefused)
			return
		}
		if err := admit(op, z.ops); err != nil {
			require.ErrorIs(t, err, ErrRefused)
		}
		ring := Keyring{}
		ring.Gather(s.NamespaceID, []*Op{op}, seedOf("X"))
		if op.sealed() {
			require.Nil(t, openWith(op, codec.Secret{1}, nil).body)
		}
	})
}

// FuzzStoredNamespaceOp demands of any row: an error, or an op.
func FuzzStoredNamespaceOp(f *testing.F) {
	z := found(f, "Z")
	z.do(add("M", codec.Admin))
	for _, op := range z.ops {
		b, err := codec.StoredNamespaceOp{Signed: *op.Signed}.AppendBinary(nil)
		require.NoError(f, err)
		f.Add(b)
		b, err = op.Skeleton().AppendBinary(nil)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		op, err := ParseOp(src)
		if err != nil {
			require.ErrorIs(t, err, codec.ErrMalformed)
			return
		}
		_ = op.groups()
	})
}

// FuzzNewKey demands of any bytes that no envelope or carried key of them opens elsewhere.
func FuzzNewKey(f *testing.F) {
	ns, key := codec.GroupID{1}, codec.Secret{2}
	at := site{namespace: ns, group: ns, signer: idOf("Z"), nonce: 3, parents: []codec.OpID{{4}}}
	made, err := at.introduce(key, []heldKey{{codec.OpID{5}, codec.Secret{6}}}, []codec.Identity{idOf("M"), idOf("K")})
	require.NoError(f, err)
	b, err := made.AppendBinary(nil)
	require.NoError(f, err)
	f.Add(b)
	f.Fuzz(func(t *testing.T, src []byte) {
		n, err := codec.NewKey{}.Decode(src)
		if err != nil {
			require.ErrorIs(t, err, codec.ErrMalformed)
			return
		}
		for i := range n.Envelopes {
			_, err := OpenKey(codec.OpVersion2, seedOf("M"), codec.GroupID{9}, n.GroupID, n.KeyID, &n.Envelopes[i])
			require.Error(t, err)
		}
		elsewhere := at
		elsewhere.nonce++
		for i := range n.Carried {
			_, err := elsewhere.openCarried(key, &n.Carried[i])
			require.ErrorIs(t, err, ErrOpen)
		}
		without, _ := elsewhere.faulty(key, &n, func(codec.OpID) (codec.KeyID, bool) { return codec.KeyID{}, false })
		require.Len(t, without, len(n.Envelopes))
	})
}

// FuzzKeyRotation demands of any bytes that no envelope or previous key of them opens.
func FuzzKeyRotation(f *testing.F) {
	ns, key := codec.GroupID{1}, codec.Secret{2}
	r, err := NewRotation(randomness(1), ns, ns, key, codec.Some(codec.Secret{3}), []codec.Identity{idOf("M"), idOf("K")})
	require.NoError(f, err)
	b, err := r.AppendBinary(nil)
	require.NoError(f, err)
	f.Add(b)
	f.Fuzz(func(t *testing.T, src []byte) {
		r, err := codec.KeyRotation{}.Decode(src)
		if err != nil {
			require.ErrorIs(t, err, codec.ErrMalformed)
			return
		}
		for i := range r.Envelopes {
			_, err := OpenKey(codec.OpVersion1, seedOf("M"), codec.GroupID{9}, r.GroupID, r.NewKeyID, &r.Envelopes[i])
			require.Error(t, err)
		}
		_, err = OpenPrevious(codec.GroupID{9}, &r, key)
		require.ErrorIs(t, err, ErrOpen)
	})
}
