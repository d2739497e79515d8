package kvstorage

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBytesStandInJSONAndComeBack(t *testing.T) {
	h := newHost(t, Options{})
	rapid.Check(t, func(r *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(r, "bytes")
		value := FromBytes(b)
		i, err := h.Put(ctx, "t", "k", value, WriteOptions{})
		require.NoError(r, err)
		require.Equal(r, string(value), string(i.Value), "it is canonical")
		i, err = h.Get(ctx, "t", "k")
		require.NoError(r, err)
		got, ok := ToBytes(i.Value)
		require.True(r, ok)
		require.Equal(r, b, append([]byte{}, got...))
	})
	require.JSONEq(t, `{"/":{"bytes":"+/8A"}}`, string(FromBytes([]byte{0xfb, 0xff, 0})), "DAG-JSON, of RFC 4648 section 4 without padding")
	for _, no := range []string{
		`"+/8A"`, `{}`, `null`, `{"/":{"bytes":"+/8"}}x`, `{"/":{"bytes":"+_8A"}}`, `{"/":{"bytes":"+/8A=="}}`, `{"/":{"bytes":"+"}}`, `{"/":{"bytes":"+/9"}}`,
		"{\"/\":{\"bytes\":\"+/8A\n\"}}", `{"/":{"bytes":"+/8A"},"a":1}`, `{"/":{"bytes":1}}`, `{"/":"bafy"}`, ``,
	} {
		_, ok := ToBytes([]byte(no))
		require.False(t, ok, no)
	}
}
