package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// What makes an [Attachment].
const (
	attachedPrefix = "stoa.blob/"            // of the app_key; the id follows, in lower-case hex
	domainAttached = "stoa.blob.attached.v1" // of the value's hash
)

// Attachment is the entry by which the state of a context names a blob: who may read the context may
// have the blob. The value is SHA-256("stoa.blob.attached.v1" ‖ context_id ‖ content), which only who
// has the content can make: an id is no secret, and who has seen one gets nothing by writing it down.
type Attachment struct {
	AppKey []byte
	Value  []byte
}

// AttachedKey returns the app_key of an [Attachment].
func AttachedKey(id codec.BlobID) []byte { return hex.AppendEncode([]byte(attachedPrefix), id[:]) }

// AttachedRange is where the app_keys of attachments are.
func AttachedRange() engine.Range { return engine.Prefixed([]byte(attachedPrefix)) }

// Attached returns the blob that an app_key of a context names; ok is false for any other app_key.
func Attached(appKey []byte) (id codec.BlobID, ok bool) {
	text, ok := bytes.CutPrefix(appKey, []byte(attachedPrefix))
	if !ok || len(text) != hex.EncodedLen(len(id)) || !bytes.Equal(text, bytes.ToLower(text)) {
		return codec.BlobID{}, false
	}
	_, err := hex.Decode(id[:], text)
	return id, err == nil
}

// Attachment returns the entry that attaches a blob to a context, for a commit there. It reads the blob
// to its end. It returns engine.ErrNotFound, engine.ErrCorrupt, or the error of ctx.
func (b *Store) Attachment(ctx context.Context, to codec.ContextID, id codec.BlobID) (Attachment, error) {
	d, err := b.Read(id, 0, ToTheEnd)
	if err != nil {
		return Attachment{}, err
	}
	defer d.Close()
	sum := sha256.New()
	sum.Write([]byte(domainAttached))
	sum.Write(to[:])
	for {
		piece, err := d.Next(codec.ChunkSize)
		if errors.Is(err, io.EOF) {
			return Attachment{AttachedKey(id), sum.Sum(nil)}, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return Attachment{}, err
		}
		sum.Write(piece)
	}
}

// NamedBy returns the blobs that the application with that id names here; none where there is no such
// application.
func (b *Store) NamedBy(id codec.ApplicationID) (named []codec.BlobID, err error) {
	app, err := engine.Get(b.eng, keys.ApplicationMeta{App: id})
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for id := range Named(&app) {
		named = append(named, id)
	}
	return named, nil
}
