package namespace

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
)

func TestAnExportedIdentityOpensByItsPassphraseOnly(t *testing.T) {
	v := codec.NamespaceIdentityValue{PrivateKey: codec.Secret{1}, SenderKey: codec.Secret{2}}
	v.PublicKey = group.IdentityOf(v.PrivateKey)
	ns := codec.GroupID{3}
	sealed, err := SealIdentity(rand.Reader, ns, v, []byte("right"))
	require.NoError(t, err)
	require.NotContains(t, string(sealed), string(v.PrivateKey[:]))

	got, err := OpenIdentity(ns, sealed, []byte("right"))
	require.NoError(t, err)
	require.Equal(t, v, got)
	for name, open := range map[string]func() error{
		"passphrase": func() error { _, err := OpenIdentity(ns, sealed, []byte("wrong")); return err },
		"namespace":  func() error { _, err := OpenIdentity(codec.GroupID{4}, sealed, []byte("right")); return err },
		"short":      func() error { _, err := OpenIdentity(ns, sealed[:20], []byte("right")); return err },
		"nothing":    func() error { _, err := OpenIdentity(ns, nil, []byte("right")); return err },
		"damaged": func() error {
			b := append([]byte(nil), sealed...)
			b[len(b)-1] ^= 1
			_, err := OpenIdentity(ns, b, []byte("right"))
			return err
		},
	} {
		require.ErrorIs(t, open(), ErrExport, name)
	}
	_, err = SealIdentity(rand.Reader, ns, v, nil)
	require.ErrorIs(t, err, ErrExport)
}

func TestAnIdentityMovesSealed(t *testing.T) {
	a, b := newStore(t, 1), newStore(t, 2)
	ns := codec.GroupID{3}
	_, err := a.ExportSealed(ns, []byte("right"))
	require.ErrorIs(t, err, ErrNoIdentity)
	self, err := a.NewIdentity(ns)
	require.NoError(t, err)
	_, err = a.ExportSealed(ns, nil)
	require.ErrorIs(t, err, ErrExport)
	sealed, err := a.ExportSealed(ns, []byte("right"))
	require.NoError(t, err)
	_, err = b.ImportSealed(ns, sealed, []byte("wrong"))
	require.ErrorIs(t, err, ErrExport)
	id, err := b.ImportSealed(ns, sealed, []byte("right"))
	require.NoError(t, err)
	require.Equal(t, self, id)
	_, err = b.NewIdentity(ns)
	require.ErrorIs(t, err, ErrIdentityExists)
}

func TestAGroupIsMadeWhenTheClockSaysUnlessItIsSaid(t *testing.T) {
	s, err := Open(mem.New(), Options{Now: func() time.Time { return time.Unix(77, 0) }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	ns, _, err := s.Create(t.Context(), Create{})
	require.NoError(t, err)
	for said, want := range map[uint64]uint64{0: 77, 5: 5} {
		done, err := s.Propose(t.Context(), ns, Proposal{Root: &codec.RootOp{Kind: codec.RootGroupCreated, ParentID: ns, CreatedAt: said}})
		require.NoError(t, err)
		op, err := s.Op(ns, done.Answer.ID)
		require.NoError(t, err)
		require.Equal(t, want, op.Root.CreatedAt)
	}
}
