package blobwire

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

func TestRemediesHaveTheirNumbers(t *testing.T) {
	damages := op.NewFields[stoav1.BlobDamage, blob.Damage]()
	for r, number := range map[blob.Remedy]stoav1.BlobRemedy{
		0: stoav1.BlobRemedy_BLOB_REMEDY_UNSPECIFIED, blob.Repair: stoav1.BlobRemedy_BLOB_REMEDY_REPAIR,
		blob.Remove: stoav1.BlobRemedy_BLOB_REMEDY_REMOVE, blob.Upload: stoav1.BlobRemedy_BLOB_REMEDY_PUT,
	} {
		m, err := damages.Message(&blob.Damage{ID: codec.BlobID{1}, Remedy: r})
		require.NoError(t, err)
		require.Equal(t, number, m.GetRemedy())
		d, err := damages.Value(m)
		require.NoError(t, err)
		require.Equal(t, r, d.Remedy)
	}
	for _, later := range []stoav1.BlobRemedy{-1, 4, 257} {
		d, err := damages.Value(&stoav1.BlobDamage{BlobId: op.Bytes(codec.BlobID{1}), Remedy: later})
		require.NoError(t, err)
		require.Zero(t, d.Remedy, "one of a later version is not known")
	}
}

func TestWhatWasNotDamagedIsNotSaidToBeHealed(t *testing.T) {
	m, err := Uploads.Message(&Upload{Info: blob.Info{ID: codec.BlobID{1}}})
	require.NoError(t, err)
	require.Nil(t, m.Healed)
	u, err := Uploads.Value(m)
	require.NoError(t, err)
	require.Zero(t, u.Healed)
}
