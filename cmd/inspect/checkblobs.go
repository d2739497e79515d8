package inspect

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

// blobs checks that blobs have all their chunks, of the sizes that their manifests
// say; and, in a full verification, that their content is what their ids say.
type blobs struct {
	v     *verifier
	hash  hash.Hash // nil: content is not looked at
	id    codec.BlobID
	open  bool // a manifest was read
	meta  codec.BlobMeta
	next  uint32
	fault bool // the blob has one, so that its hash says nothing

	strays uint64 // blobs of which there are chunks only
	stray  codec.BlobID
}

func checkBlobs(v *verifier) check { return &blobs{v: v} }

func checkBlobHashes(v *verifier) check { return &blobs{v: v, hash: sha256.New()} }

func (b *blobs) row(r row) error {
	if r.info.Name == "BlobMeta" {
		return b.manifest(r)
	}
	k, err := keys.BlobChunk{}.Parse(r.key)
	switch {
	case err != nil:
		return err
	case b.open && k.Blob == b.id:
		return b.chunk(r, k.Index)
	case b.strays == 0 || k.Blob != b.stray:
		b.strays++
		b.stray = k.Blob
	}
	return nil
}

func (b *blobs) manifest(r row) (err error) {
	if err := b.finish(); err != nil {
		return err
	}
	b.id, b.open, b.next, b.fault = codec.BlobID(r.key), true, 0, false
	if b.meta, err = (codec.BlobMeta{}).Decode(r.value); err != nil {
		return err
	}
	if b.hash != nil {
		b.hash.Reset()
	}
	if reason := blob.ManifestFault(b.id, b.meta); reason != "" {
		return b.found(blob.CodeManifest, r.key, reason)
	}
	return nil
}

// found reports a fault of the blob, unless the other of the two checks does.
func (b *blobs) found(code string, key []byte, reason string) error {
	b.fault = true
	if b.hash != nil {
		return nil
	}
	return b.v.found(code, column.Blobs, key, "%s", reason)
}

func (b *blobs) chunk(r row, index uint32) error {
	want := b.next
	b.next = index + 1
	if index != want {
		if err := b.found(blob.CodeChunk, r.key, fmt.Sprintf("chunk %d where %d should be", index, want)); err != nil {
			return err
		}
	}
	if size := blob.ChunkBytes(b.meta, index); index < b.meta.Chunks && uint64(len(r.value)) != size {
		return b.found(blob.CodeChunk, r.key, fmt.Sprintf("chunk %d has %d bytes instead of %d", index, len(r.value), size))
	}
	if b.hash != nil {
		_, _ = b.hash.Write(r.value) // a hash takes everything
	}
	return nil
}

// finish checks the blob that was read last.
func (b *blobs) finish() error {
	if !b.open {
		return nil
	}
	b.open = false
	if b.next != b.meta.Chunks {
		return b.found(blob.CodeChunk, b.id[:], fmt.Sprintf("the chunks end at %d, the manifest has %d", b.next, b.meta.Chunks))
	}
	if b.hash == nil || b.fault {
		return nil
	}
	if sum := b.hash.Sum(nil); string(sum) != string(b.id[:]) {
		return b.v.found(blob.CodeHash, column.Blobs, b.id[:], "the content hashes to %s", hex.EncodeToString(sum))
	}
	return nil
}

func (b *blobs) end() error {
	if b.strays > 0 && b.hash == nil {
		b.v.out.Notes = append(b.v.out.Notes, fmt.Sprintf("chunks without a manifest under %d ids of Blobs: what uploads that broke off have left", b.strays))
	}
	return b.finish()
}

// checkApplications checks that the code of applications is among the blobs.
func checkApplications(v *verifier) check {
	return rowCheck(func(r row) error {
		a, err := codec.ApplicationMeta{}.Decode(r.value)
		if err != nil {
			return err
		}
		for id := range blob.Named(&a) {
			there, err := has(v, keys.BlobMeta{Blob: id})
			if err == nil && !there {
				err = v.found("application-blob", column.Application, r.key, "the blob %s is not there", id)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// checkAliases checks that there is what aliases of contexts and applications
// name, and the context of those of public keys.
func checkAliases(v *verifier) check {
	return rowCheck(func(r row) error {
		k, err := keys.Alias{}.Parse(r.key)
		if err != nil {
			return err
		}
		a, err := codec.AliasValue{}.Decode(r.value)
		if err != nil {
			return err
		}
		there, what := true, ""
		switch k.Kind {
		case keys.AliasContext:
			what = "the context " + hex.EncodeToString(a.ID[:])
			there, err = has(v, keys.ContextMeta{Context: codec.ContextID(a.ID)})
		case keys.AliasIdentity:
			what = "the context " + hex.EncodeToString(k.Scope[:])
			there, err = has(v, keys.ContextMeta{Context: codec.ContextID(k.Scope)})
		case keys.AliasApplication:
			what = "the application " + hex.EncodeToString(a.ID[:])
			there, err = has(v, keys.ApplicationMeta{App: codec.ApplicationID(a.ID)})
		}
		if err == nil && !there {
			err = v.found("alias", column.Alias, r.key, "%s is not there", what)
		}
		return err
	})
}
