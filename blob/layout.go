package blob

import (
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/stoadb/stoa/codec"
)

// MaxSize is the size of the largest blob in bytes.
const MaxSize = 4 << 30

// The codes of faults of blobs, as [Store.Verify] and `stoa verify` have them.
const (
	CodeManifest = "blob-manifest" // the manifest is missing, or cannot be that of the blob
	CodeChunk    = "blob-chunk"    // a chunk is missing, too short or too long, or too many
	CodeHash     = "blob-hash"     // the content has another SHA-256 than the id
)

// ChunksOf returns how many chunks content of that many bytes takes.
func ChunksOf(size uint64) uint64 { return (size + codec.ChunkSize - 1) / codec.ChunkSize }

// ChunkBytes returns how many bytes the chunk with that index has of a blob with the
// manifest m. The manifest must be right, and have such a chunk.
func ChunkBytes(m codec.BlobMeta, index uint32) uint64 {
	return min(m.Size-uint64(index)*codec.ChunkSize, codec.ChunkSize)
}

// ManifestFault says why m cannot be the manifest of a blob; empty: it can.
func ManifestFault(id codec.BlobID, m codec.BlobMeta) string {
	switch {
	case m.Hash != codec.Hash(id):
		return "the manifest names another hash, " + m.Hash.String()
	case m.Size > MaxSize || uint64(m.Chunks) != ChunksOf(m.Size):
		return fmt.Sprintf("the manifest has %d bytes in %d chunks", m.Size, m.Chunks)
	}
	return ""
}

// checkManifest returns a *Corrupt unless m can be the manifest of the blob.
func checkManifest(id codec.BlobID, m codec.BlobMeta) error {
	if reason := ManifestFault(id, m); reason != "" {
		return &Corrupt{id, id[:], reason}
	}
	return nil
}

// chunksFrom returns the keys that the chunks of a blob lie between, from that index on.
func chunksFrom(id codec.BlobID, index uint32) (start, end []byte) {
	start = binary.BigEndian.AppendUint32(id[:len(id):len(id)], index)
	return start, append(id[:len(id):len(id)], 0xFF, 0xFF, 0xFF, 0xFF, 0)
}

// Named yields the blobs that an application names: its code and that of its services.
// Some may come twice.
func Named(a *codec.ApplicationMeta) iter.Seq[codec.BlobID] {
	return func(yield func(codec.BlobID) bool) {
		each := func(id codec.BlobID) bool { return id.IsZero() || yield(id) }
		if !each(a.Bytecode) || !each(a.Compiled) {
			return
		}
		for i := range a.Services {
			if s := &a.Services[i]; !each(s.Bytecode) || !each(s.Compiled) {
				return
			}
		}
	}
}
