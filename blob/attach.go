package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"sync"

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
// to its end, unless it has been asked for the same of late. It returns engine.ErrNotFound,
// engine.ErrCorrupt, or the error of ctx.
func (b *Store) Attachment(ctx context.Context, to codec.ContextID, id codec.BlobID) (Attachment, error) {
	if value, ok := b.known.get(to, id); ok {
		if _, err := b.Stat(id); err != nil {
			return Attachment{}, err
		}
		return Attachment{AttachedKey(id), value[:]}, nil
	}
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
			value := codec.Hash(sum.Sum(nil))
			b.known.put(to, id, value)
			return Attachment{AttachedKey(id), value[:]}, nil
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

// proofs are those that were worked out of late, so that nobody has a large blob be read again and again.
// What a blob has never changes, and so they do not. The zero proofs are none.
type proofs struct {
	mu  sync.Mutex
	all map[proofOf]codec.Hash
}

type proofOf struct {
	to codec.ContextID
	id codec.BlobID
}

// maxProofs is how many are kept.
const maxProofs = 4096

func (p *proofs) get(to codec.ContextID, id codec.BlobID) (value codec.Hash, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	value, ok = p.all[proofOf{to, id}]
	return value, ok
}

func (p *proofs) put(to codec.ContextID, id codec.BlobID, value codec.Hash) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) >= maxProofs || p.all == nil {
		p.all = map[proofOf]codec.Hash{}
	}
	p.all[proofOf{to, id}] = value
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
