package namespace

import (
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
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
