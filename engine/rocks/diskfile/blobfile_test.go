package diskfile

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A reference says how large its value is: what a file does not have is not made room for.
func TestABlobBeyondItsFileTakesNoMemory(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "000007.blob"), make([]byte, 100), 0o600))
	ref := []byte{refInFile}
	for _, n := range []uint64{7, 50, 64 << 20} {
		ref = binary.AppendUvarint(ref, n)
	}
	took := allocated(func() {
		_, err := BlobValue(dir, []byte("k"), append(ref, blockPlain))
		require.ErrorIs(t, err, ErrDamaged)
	})
	require.Less(t, took, uint64(1<<20))
}
