package carry

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/inspect/merod"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// merodBlob is a row of Blobs.
type merodBlob struct {
	Size  uint64         `json:"size,string"`
	Hash  codec.BlobID   `json:"hash"` // of the content
	Links []codec.BlobID `json:"links"`
}

// blobs takes over content. The id of a blob is the hash of its content here, and that of the
// ids of its chunks there.
func (c *carrier) blobs() error {
	linked := map[codec.BlobID]bool{}
	err := c.each("Blobs", nil, func(row diskfile.Row) error {
		var b merodBlob
		if ok, err := c.decode("Blobs", row, &b); !ok || err != nil {
			return err
		}
		for _, id := range b.Links {
			linked[id] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	return opened(c.openBlobs, func(to *blob.Store) error {
		return c.each("Blobs", nil, func(row diskfile.Row) error {
			var b merodBlob
			id := codec.BlobID(row.Key)
			if linked[id] {
				return nil // a chunk of others
			}
			if ok, err := c.explained("Blobs", row, &b); !ok || err != nil {
				return err
			}
			return c.blob(to, row, id, &b)
		})
	})
}

func (c *carrier) blob(to *blob.Store, row diskfile.Row, id codec.BlobID, b *merodBlob) error {
	if c.o.Blobs == "" {
		return c.leave("Blobs", row, "the directory of content was not given")
	}
	if why, err := c.unlike(b, id); err != nil || why != "" {
		if err != nil {
			return err
		}
		return c.leave("Blobs", row, why)
	}
	content := c.content(b, id)
	defer content.Close()
	_, existed, err := to.Put(c.ctx, content, blob.PutOptions{ID: b.Hash, Size: &b.Size})
	if err != nil {
		return err
	}
	if c.blobIDs[id] = b.Hash; !existed {
		c.out.Blobs++
	}
	if c.o.BlobID != nil {
		return c.o.BlobID(id, b.Hash)
	}
	return nil
}

// unlike says what is wrong with the content of a blob; "": nothing. Its error is one of
// reading.
func (c *carrier) unlike(b *merodBlob, id codec.BlobID) (string, error) {
	content := c.content(b, id)
	defer content.Close()
	h := sha256.New()
	n, err := io.Copy(h, content)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "its content is not there", nil
	case errors.Is(err, diskfile.ErrDamaged):
		return "its content is no file", nil
	case err != nil:
		return "", err
	case uint64(n) != b.Size || !sums(h, b.Hash):
		return "its content is not what its row says", nil
	}
	return "", nil
}

func sums(h hash.Hash, want codec.BlobID) bool { return string(h.Sum(nil)) == string(want[:]) }

// content is the files of chunks, one after the other. Close is to be called in the end.
func (c *carrier) content(b *merodBlob, id codec.BlobID) io.ReadCloser {
	chunks := b.Links
	if len(chunks) == 0 && b.Size > 0 {
		chunks = []codec.BlobID{id} // it is a chunk itself
	}
	return &chunkReader{dir: c.o.Blobs, chunks: slices.Clone(chunks)}
}

type chunkReader struct {
	dir    string
	chunks []codec.BlobID // that are not open yet
	file   io.ReadCloser  // nil: none is
}

func (r *chunkReader) Read(p []byte) (int, error) {
	for {
		if r.file == nil {
			if len(r.chunks) == 0 {
				return 0, io.EOF
			}
			f, err := diskfile.Open(filepath.Join(r.dir, merod.Base58(r.chunks[0][:])))
			if err != nil {
				return 0, fmt.Errorf("a chunk of a blob: %w", err)
			}
			r.file, r.chunks = f, r.chunks[1:]
		}
		n, err := r.file.Read(p)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		if err := r.Close(); err != nil || n > 0 {
			return n, err
		}
	}
}

func (r *chunkReader) Close() error {
	f := r.file
	if r.file = nil; f == nil {
		return nil
	}
	return f.Close()
}
