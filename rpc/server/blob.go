package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc/internal/blobwire"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// blobService is what of the Blob service is written by hand: content.
type blobService struct {
	stoav1.UnimplementedBlobServer
	s *Server
}

// Put stores the content that the client sends after a header, by [blob.Store.Put].
func (t *blobService) Put(stream grpc.ClientStreamingServer[stoav1.BlobPutRequest, stoav1.BlobPutResponse]) error {
	return t.s.transfer(stream.Context(), uploadBytes, func(ctx context.Context, wait *peerWait) error {
		in := &incoming{stream: stream, wait: wait}
		o, err := in.header()
		if err != nil {
			return err
		}
		stored, existed, err := t.s.blobs.Put(ctx, in, o)
		if err != nil {
			return err
		}
		m, err := blobwire.Uploads.Message(&blobwire.Upload{Info: stored, Existed: existed, Healed: stored.Healed})
		if err != nil {
			return err
		}
		return stream.SendAndClose(m)
	})
}

// incoming is the content of an upload, as it comes.
type incoming struct {
	stream grpc.ClientStreamingServer[stoav1.BlobPutRequest, stoav1.BlobPutResponse]
	wait   *peerWait
	rest   []byte // of the message that came last
}

// header reads what comes before the content.
func (in *incoming) header() (o blob.PutOptions, err error) {
	m, err := receive(in.wait, in.stream.Recv)
	if err != nil && !errors.Is(err, io.EOF) {
		return o, err
	}
	h := m.GetHeader()
	if h == nil {
		return o, badField("header", "it comes first")
	}
	o.Size, err = h.Size, nil
	if len(h.GetBlobId()) > 0 {
		o.ID, err = op.ParseID[codec.BlobID]("header.blob_id", h.GetBlobId())
	}
	return o, err
}

// Read reads what was sent, as [io.Reader] has it.
func (in *incoming) Read(p []byte) (int, error) {
	for len(in.rest) == 0 {
		m, err := receive(in.wait, in.stream.Recv)
		if err != nil {
			return 0, err
		}
		part, ok := m.GetPart().(*stoav1.BlobPutRequest_Data)
		if !ok {
			return 0, badField("part", "data follows the header, and nothing else")
		}
		if len(part.Data) > codec.ChunkSize {
			return 0, fault.New(stoav1.ErrorKind_ERROR_KIND_TOO_LARGE,
				fmt.Sprintf("rpc: %d bytes of a blob in one message; at most %d", len(part.Data), codec.ChunkSize),
				fault.FieldReason, "data", fault.FieldSize, strconv.Itoa(len(part.Data)), fault.FieldLimit, strconv.Itoa(codec.ChunkSize))
		}
		in.rest = part.Data
	}
	n := copy(p, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}

// Get sends the info of a blob, and then the content that was asked for, by
// [blob.Store.Read].
func (t *blobService) Get(r *stoav1.BlobGetRequest, stream grpc.ServerStreamingServer[stoav1.BlobGetResponse]) error {
	id, err := op.ParseID[codec.BlobID]("blob_id", r.GetBlobId())
	if err != nil {
		return err
	}
	length := uint64(blob.ToTheEnd)
	if r.Length != nil {
		length = *r.Length
	}
	return t.s.transfer(stream.Context(), 0, func(ctx context.Context, wait *peerWait) error {
		d, err := t.s.blobs.Read(id, r.GetOffset(), length)
		if errors.Is(err, blob.ErrOffset) {
			return badField("offset", err.Error())
		}
		if err != nil {
			return err
		}
		defer d.Close()
		found := d.Info()
		info, err := blobwire.Infos.Message(&found)
		if err != nil {
			return err
		}
		m := &stoav1.BlobGetResponse{Part: &stoav1.BlobGetResponse_Info{Info: info}}
		for {
			if err := wait.During(func() error { return stream.Send(m) }); err != nil {
				return err
			}
			piece, err := d.Next(wire.BlobPiece)
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

// sweepBlobs sweeps once, beside the calls of clients, until the server stops.
func (s *Server) sweepBlobs() {
	ctx, cancel := context.WithCancel(context.Background())
	s.streams.Add(1)
	go func() {
		defer s.streams.Done()
		defer cancel()
		swept, err := s.blobs.Sweep(ctx)
		switch {
		case errors.Is(err, context.Canceled):
		case err != nil:
			s.log.Warn("what broken uploads have left is not all removed; the next start tries again", "removed", swept, "error", err)
		case swept > 0:
			s.log.Info("removed what broken uploads have left", "blobs", swept)
		}
	}()
	go func() {
		defer cancel()
		select {
		case <-s.stopping:
		case <-ctx.Done():
		}
	}()
}
