package rpc

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/blobwire"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// BlobPutOptions say what is known of a blob before its content. In the zero
// BlobPutOptions nothing is.
type BlobPutOptions struct {
	// ID is the SHA-256 of the content; zeros: not known. The daemon writes
	// content with a known id once, and spools other content first.
	ID codec.BlobID
	// Size is the length of the content in bytes; 0: not known. Of a known one
	// the daemon says at once if it can't take it.
	Size uint64
}

// BlobGetOptions say which part of a blob is read. The zero BlobGetOptions are
// all of it.
type BlobGetOptions struct {
	Offset uint64 // of the first byte
	Length uint64 // the most bytes; 0: to the end
}

// BlobPut stores what it reads from content, up to blob.MaxSize bytes, as a blob. If
// it is there already, existed is true and nothing is written but what is damaged of
// it, which stored.Healed says then. It returns
// blob.ErrMismatch if the content is not what o declares, engine.ErrTooLarge,
// engine.ErrNoSpace, engine.ErrReadOnly, engine.ErrUnsupported if the daemon
// spools nothing, or what reading content returned; then nothing of it stays, and
// nothing of a blob that was there is worse. It takes as long as it takes, unless ctx ends.
func (c *Client) BlobPut(ctx context.Context, content io.Reader, o BlobPutOptions) (stored blob.Info, existed bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := stoav1.NewBlobClient(c.carrier).Put(ctx)
	if err != nil {
		return blob.Info{}, false, c.failed("blob put", err)
	}
	header := new(stoav1.BlobPutHeader)
	if !o.ID.IsZero() {
		header.BlobId = o.ID[:]
	}
	if o.Size != 0 {
		header.Size = &o.Size
	}
	m := &stoav1.BlobPutRequest{Part: &stoav1.BlobPutRequest_Header{Header: header}}
	sent := &tally{sum: sha256.New()}
	if err = stream.Send(m); err == nil {
		err = upload(stream, m, io.TeeReader(content, sent))
	}
	var unread *contentError
	switch {
	case errors.As(err, &unread):
		return blob.Info{}, false, unread
	case err != nil && !errors.Is(err, io.EOF): // io.EOF: the daemon says why below
		return blob.Info{}, false, c.failed("blob put", err)
	}
	res, err := stream.CloseAndRecv()
	if err != nil {
		return blob.Info{}, false, c.failed("blob put", err)
	}
	done, err := blobwire.Uploads.Value(res)
	stored, err = done.Info, caller.Odd("blob put", err)
	stored.Healed = done.Healed
	if err == nil && (stored.ID != sent.id() || stored.Size != sent.n) {
		err = fmt.Errorf("%w: %d bytes with the SHA-256 %s were sent, but the daemon stored %d bytes as %s",
			blob.ErrMismatch, sent.n, sent.id(), stored.Size, stored.ID)
	}
	return stored, done.Existed, err
}

// upload sends content. It returns io.EOF if the daemon has ended the stream.
func upload(stream grpc.ClientStreamingClient[stoav1.BlobPutRequest, stoav1.BlobPutResponse], m *stoav1.BlobPutRequest, content io.Reader) error {
	data := new(stoav1.BlobPutRequest_Data)
	m.Part = data
	return inPieces("content of the blob", content, func(piece []byte) error {
		data.Data = piece
		return stream.Send(m)
	})
}

// inPieces sends what it reads, which what names, in pieces that are valid until send
// returns. It returns what send does, or a contentError.
func inPieces(what string, content io.Reader, send func([]byte) error) error {
	buf := make([]byte, wire.BlobPiece)
	for {
		n := 0
		for n < len(buf) {
			k, err := content.Read(buf[n:])
			n += k
			if err == io.EOF {
				if n == 0 {
					return nil
				}
				return send(buf[:n])
			}
			if err != nil {
				return &contentError{what, err}
			}
		}
		if err := send(buf); err != nil {
			return err
		}
	}
}

// contentError is an error of the reader or the writer that a caller gave.
type contentError struct {
	what  string
	cause error
}

func (e *contentError) Error() string { return "rpc: " + e.what + ": " + e.cause.Error() }
func (e *contentError) Unwrap() error { return e.cause }

// tally counts and hashes what is written to it.
type tally struct {
	n   uint64
	sum hash.Hash
}

// Write sends a piece of the content, as [io.Writer] has it.
func (t *tally) Write(p []byte) (int, error) {
	t.n += uint64(len(p))
	return t.sum.Write(p)
}

func (t *tally) id() codec.BlobID { return codec.BlobID(t.sum.Sum(nil)) }

// BlobGet writes the content of a blob, or a part of it, to w. It returns
// engine.ErrNotFound, ErrRequest for an offset beyond the end, what w returned,
// or engine.ErrCorrupt if the content is damaged: what w was given then is not
// the blob's, which for a whole blob is known for certain only at its end. It
// takes as long as it takes, unless ctx ends.
func (c *Client) BlobGet(ctx context.Context, id codec.BlobID, w io.Writer, o BlobGetOptions) (blob.Info, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ask := &stoav1.BlobGetRequest{BlobId: id[:], Offset: o.Offset}
	if o.Length != 0 {
		ask.Length = &o.Length
	}
	stream, err := stoav1.NewBlobClient(c.carrier).Get(ctx, ask)
	if err != nil {
		return blob.Info{}, c.failed("blob get", err)
	}
	m, err := stream.Recv()
	if err != nil {
		return blob.Info{}, c.failed("blob get", err)
	}
	b, err := blobwire.Infos.Value(m.GetInfo())
	if err != nil {
		return blob.Info{}, caller.Odd("blob get", err)
	}
	if b.ID != id {
		return blob.Info{}, fmt.Errorf("rpc: blob get: %w: asked for %s, the daemon answered %s", ErrInternal, id, b.ID)
	}
	got := &tally{sum: sha256.New()}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return b, got.complete(b, o)
		}
		if err != nil {
			return b, c.failed("blob get", err)
		}
		got.Write(m.GetData())
		if _, err := w.Write(m.GetData()); err != nil {
			return b, &contentError{"content of the blob", err}
		}
	}
}

// complete returns an error unless t is the part of b that was asked for.
func (t *tally) complete(b blob.Info, o BlobGetOptions) error {
	want := b.Size - min(o.Offset, b.Size)
	if o.Length != 0 {
		want = min(want, o.Length)
	}
	if t.n != want {
		return fmt.Errorf("%w: blob %s: %d bytes came instead of %d", engine.ErrCorrupt, b.ID, t.n, want)
	}
	if t.n == b.Size && t.id() != b.ID {
		return fmt.Errorf("%w: blob %s: the content that came has the SHA-256 %s", engine.ErrCorrupt, b.ID, t.id())
	}
	return nil
}

// The operations whose content streams are written by hand, on both ends.
var (
	_ = op.ByHand(op.Method{Number: 701, Name: "Blob.Put", Role: access.Writer})
	_ = op.ByHand(op.Method{Number: 702, Name: "Blob.Get", Role: access.Reader})
)

var blobStat = op.New(op.Method{Number: 703, Name: "Blob.Stat", Role: access.Reader},
	func(_ context.Context, s *blob.Store, id *codec.BlobID) (blob.Info, error) { return s.Stat(*id) })

// BlobStat describes a blob. It returns engine.ErrNotFound if it is not there.
func (c *Client) BlobStat(ctx context.Context, id codec.BlobID) (blob.Info, error) {
	return call(ctx, c, blobStat, id)
}

// deletion are the arguments of BlobDelete.
type deletion struct {
	BlobID codec.BlobID
	Force  bool
}

var blobDelete = op.New(op.Method{Number: 704, Name: "Blob.Delete", Role: access.Writer},
	func(ctx context.Context, s *blob.Store, a *deletion) (op.Nothing, error) {
		return op.Nothing{}, s.Delete(ctx, a.BlobID, a.Force)
	})

// BlobDelete removes a blob. It returns engine.ErrNotFound if it is not there,
// and unless force is set blob.ErrInUse if an application names it. It waits for
// an upload of the blob that is under way.
func (c *Client) BlobDelete(ctx context.Context, id codec.BlobID, force bool) error {
	_, err := call(ctx, c, blobDelete, deletion{id, force})
	return err
}

// attaching are the arguments of BlobAttachment.
type attaching struct {
	ContextID codec.ContextID
	BlobID    codec.BlobID
}

var blobAttachment = op.New(op.Method{Number: 707, Name: "Blob.Attachment", Role: access.Reader},
	func(ctx context.Context, s *blob.Store, a *attaching) (blob.Attachment, error) {
		return s.Attachment(ctx, a.ContextID, a.BlobID)
	})

// BlobAttachment returns the entry that attaches a blob to a context, for a commit there; see
// [blob.Store.Attachment].
func (c *Client) BlobAttachment(ctx context.Context, to codec.ContextID, id codec.BlobID) (blob.Attachment, error) {
	return call(ctx, c, blobAttachment, attaching{to, id})
}

var blobList = op.New(op.Method{Number: 705, Name: "Blob.List", Role: access.Reader},
	func(ctx context.Context, s *blob.Store, a *after[codec.BlobID]) (paged[blob.Info, codec.BlobID], error) {
		var start []byte
		if !a.After.IsZero() {
			if start = engine.Successor(a.After[:]); start == nil {
				return paged[blob.Info, codec.BlobID]{}, nil
			}
		}
		return cut(a, s.All(ctx, start), func(b *blob.Info) codec.BlobID { return b.ID })
	})

// BlobList yields all blobs in the order of their ids. It asks for them page by
// page, so that it may miss what comes and goes meanwhile. It ends after an
// error.
func (c *Client) BlobList(ctx context.Context) iter.Seq2[blob.Info, error] {
	return pages(ctx, c, blobList, after[codec.BlobID]{})
}
