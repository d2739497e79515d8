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
	"github.com/stoadb/stoa/rpc/internal/fault"
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
		return stream.SendAndClose(&stoav1.BlobPutResponse{Info: blobInfo(stored), Existed: existed, Healed: blobHealed(stored.Healed)})
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
		o.ID, err = blobID("header.blob_id", h.GetBlobId())
	}
	return o, err
}

// Read is io.Reader's.
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
	id, err := blobID("blob_id", r.GetBlobId())
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
		m := &stoav1.BlobGetResponse{Part: &stoav1.BlobGetResponse_Info{Info: blobInfo(d.Info())}}
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

// Verify sends what is damaged of one blob or of all, and a summary, by
// [blob.Store.Verify].
func (t *blobService) Verify(r *stoav1.BlobVerifyRequest, stream grpc.ServerStreamingServer[stoav1.BlobVerifyResponse]) error {
	o := blob.VerifyOptions{Repair: r.GetRepair()}
	if len(r.GetBlobId()) > 0 {
		var err error
		if o.ID, err = blobID("blob_id", r.GetBlobId()); err != nil {
			return err
		}
	}
	return t.s.pacedStream(stream.Context(), &t.s.transfers, func(ctx context.Context, wait *peerWait) error {
		send := func(m *stoav1.BlobVerifyResponse) error {
			return wait.During(func() error { return stream.Send(m) })
		}
		v, err := t.s.blobs.Verify(ctx, o, func(d blob.Damage) error {
			return send(&stoav1.BlobVerifyResponse{Part: &stoav1.BlobVerifyResponse_Damage{Damage: blobDamage(&d)}})
		})
		if err != nil {
			return err
		}
		summary := &stoav1.BlobVerifySummary{Blobs: v.Blobs, Bytes: v.Bytes, Damaged: v.Damaged, Repaired: v.Repaired}
		return send(&stoav1.BlobVerifyResponse{Part: &stoav1.BlobVerifyResponse_Summary{Summary: summary}})
	})
}

// blobDamage returns d as it goes over the wire.
func blobDamage(d *blob.Damage) *stoav1.BlobDamage {
	m := &stoav1.BlobDamage{BlobId: d.ID[:], More: d.More, Remedy: remedies[d.Remedy], Repaired: d.Repaired}
	for _, f := range d.Faults {
		m.Faults = append(m.Faults, &stoav1.BlobFault{Code: f.Code, Key: f.Key, Reason: f.Reason})
	}
	return m
}

// remedies are the numbers of remedies on the wire.
var remedies = map[blob.Remedy]stoav1.BlobRemedy{
	blob.Repair: stoav1.BlobRemedy_BLOB_REMEDY_REPAIR,
	blob.Remove: stoav1.BlobRemedy_BLOB_REMEDY_REMOVE,
	blob.Upload: stoav1.BlobRemedy_BLOB_REMEDY_PUT,
}

// blobInfo returns b as it goes over the wire.
func blobInfo(b blob.Info) *stoav1.BlobInfo {
	return &stoav1.BlobInfo{BlobId: b.ID[:], Size: b.Size, Chunks: b.Chunks}
}

// blobHealed returns h as it goes over the wire: nil if nothing was damaged.
func blobHealed(h blob.Healing) *stoav1.BlobHealed {
	if h == (blob.Healing{}) {
		return nil
	}
	return &stoav1.BlobHealed{Chunks: h.Chunks, Manifest: h.Manifest, Surplus: h.Surplus}
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
