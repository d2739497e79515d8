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
		ring := Keyring{GroupKey{op.GroupID, op.KeyID}: codec.Secret{1}}
		ring.Gather(s.NamespaceID, []*Op{op}, seedOf("X"))
		require.Nil(t, ring.Read(op).Body)
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
		b, err = codec.StoredNamespaceOp{Kind: codec.StoredOpaque, Opaque: op.Skeleton()}.AppendBinary(nil)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		op, err := ParseOp(src)
		if err != nil {
			require.ErrorIs(t, err, codec.ErrMalformed)
			return
		}
		_ = holdings([]*Op{op})
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
			_, err := OpenKey(seedOf("M"), codec.GroupID{9}, r.GroupID, r.NewKeyID, &r.Envelopes[i])
			require.Error(t, err)
		}
		_, err = OpenPrevious(codec.GroupID{9}, &r, key)
		require.ErrorIs(t, err, ErrOpen)
	})
}
