package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// blobService is the Blob service: what it does is blobStore's.
type blobService struct {
	stoav1.UnimplementedBlobServer
	s *Server
}

// Put is Blob.Put.
func (t *blobService) Put(stream grpc.ClientStreamingServer[stoav1.BlobPutRequest, stoav1.BlobPutResponse]) error {
	return t.s.transfer(stream.Context(), uploadBytes, func(ctx context.Context, wait *peerWait) error {
		in := &incoming{stream: stream, wait: wait}
		u, err := in.header()
		if err != nil {
			return err
		}
		stored, existed, err := t.s.blobs.put(ctx, u)
		if err != nil {
			return err
		}
		return stream.SendAndClose(&stoav1.BlobPutResponse{Info: stored.info(), Existed: existed, Healed: stored.healed.wire()})
	})
}

// incoming is the content of an upload, as it comes.
type incoming struct {
	stream grpc.ClientStreamingServer[stoav1.BlobPutRequest, stoav1.BlobPutResponse]
	wait   *peerWait
	rest   []byte // of the message that came last
}

// receive waits for the next message. Its error is io.EOF at the end.
func (in *incoming) receive() (m *stoav1.BlobPutRequest, err error) {
	err = in.wait.during(func() (err error) {
		m, err = in.stream.Recv()
		return err
	})
	return m, err
}

// header reads what comes before the content.
func (in *incoming) header() (upload, error) {
	m, err := in.receive()
	if err != nil && !errors.Is(err, io.EOF) {
		return upload{}, err
	}
	h := m.GetHeader()
	if h == nil {
		return upload{}, badField("header", "it comes first")
	}
	u := upload{size: h.Size, content: in}
	if len(h.GetBlobId()) > 0 {
		u.id, err = blobID("header.blob_id", h.GetBlobId())
	} else {
		err = nil
	}
	return u, err
}

// Read is io.Reader's.
func (in *incoming) Read(p []byte) (int, error) {
	for len(in.rest) == 0 {
		m, err := in.receive()
		if err != nil {
			return 0, err
		}
		part, ok := m.GetPart().(*stoav1.BlobPutRequest_Data)
		if !ok {
			return 0, badField("part", "data follows the header, and nothing else")
		}
		if len(part.Data) > codec.ChunkSize {
			return 0, rpc.NewError(stoav1.ErrorKind_ERROR_KIND_TOO_LARGE,
				fmt.Sprintf("rpc: %d bytes of a blob in one message; at most %d", len(part.Data), codec.ChunkSize),
				rpc.FieldReason, "data", rpc.FieldSize, strconv.Itoa(len(part.Data)), rpc.FieldLimit, strconv.Itoa(codec.ChunkSize))
		}
		in.rest = part.Data
	}
	n := copy(p, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}

// Get is Blob.Get.
func (t *blobService) Get(r *stoav1.BlobGetRequest, stream grpc.ServerStreamingServer[stoav1.BlobGetResponse]) error {
	id, err := blobID("blob_id", r.GetBlobId())
	if err != nil {
		return err
	}
	return t.s.transfer(stream.Context(), 0, func(ctx context.Context, wait *peerWait) error {
		d, err := t.s.blobs.open(id, r.GetOffset(), r.Length)
		if err != nil {
			return err
		}
		defer d.close()
		m := &stoav1.BlobGetResponse{Part: &stoav1.BlobGetResponse_Info{Info: d.info()}}
		for {
			if err := wait.during(func() error { return stream.Send(m) }); err != nil {
				return err
			}
			piece, err := d.next()
			if err == io.EOF {
				return nil
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			m.Part = &stoav1.BlobGetResponse_Data{Data: piece}
		}
	})
}

// Stat is Blob.Stat.
func (t *blobService) Stat(_ context.Context, r *stoav1.BlobStatRequest) (*stoav1.BlobStatResponse, error) {
	id, err := blobID("blob_id", r.GetBlobId())
	if err != nil {
		return nil, err
	}
	found, err := t.s.blobs.stat(t.s.eng, id)
	if err != nil {
		return nil, err
	}
	return &stoav1.BlobStatResponse{Info: found.info()}, nil
}

// Delete is Blob.Delete.
func (t *blobService) Delete(ctx context.Context, r *stoav1.BlobDeleteRequest) (*stoav1.BlobDeleteResponse, error) {
	id, err := blobID("blob_id", r.GetBlobId())
	if err != nil {
		return nil, err
	}
	if err := t.s.blobs.delete(ctx, id, r.GetForce()); err != nil {
		return nil, err
	}
	return &stoav1.BlobDeleteResponse{}, nil
}

// List is Blob.List.
func (t *blobService) List(ctx context.Context, r *stoav1.BlobListRequest) (*stoav1.BlobListResponse, error) {
	if n := len(r.GetAfter()); n != 0 && n != len(codec.BlobID{}) {
		return nil, badField("after", fmt.Sprintf("%d bytes instead of the %d of an id", n, len(codec.BlobID{})))
	}
	page, more, err := t.s.blobs.list(ctx, r.GetAfter(), listLimit(r.GetLimit()))
	if err != nil {
		return nil, err
	}
	res := &stoav1.BlobListResponse{Blobs: make([]*stoav1.BlobInfo, len(page))}
	for i := range page {
		res.Blobs[i] = page[i].info()
	}
	if more {
		res.Next = res.Blobs[len(page)-1].BlobId
	}
	return res, nil
}

// info returns b as it goes over the wire.
func (b *blob) info() *stoav1.BlobInfo {
	return &stoav1.BlobInfo{BlobId: append([]byte{}, b.id[:]...), Size: b.meta.Size, Chunks: b.meta.Chunks}
}

// wire returns h as it goes over the wire.
func (h healing) wire() *stoav1.BlobHealed {
	if h == (healing{}) {
		return nil
	}
	return &stoav1.BlobHealed{Chunks: h.chunks, Manifest: h.manifest, Surplus: h.surplus}
}

// blobID returns the id in a field of a request.
func blobID(field string, bytes []byte) (id codec.BlobID, err error) {
	if len(bytes) != len(id) {
		return id, badField(field, fmt.Sprintf("%d bytes instead of the %d of an id", len(bytes), len(id)))
	}
	if id = codec.BlobID(bytes); id.IsZero() {
		return id, badField(field, "all zeros, which means no blob")
	}
	return id, nil
}
