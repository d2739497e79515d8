package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// recordService does what package rpc does not describe of the Record service.
type recordService struct {
	stoav1.UnimplementedRecordServer
	s *Server
}

// importBytes is what an import counts among the bytes of requests under way: the
// documents of a batch, a long line, and a message.
const importBytes = 5 << 20

// maxLines is how many bytes of lines a message of an import has at most.
const maxLines = 1 << 20

// Import answers Record.Import: it stores the documents of lines.
func (t *recordService) Import(stream grpc.ClientStreamingServer[stoav1.RecordImportRequest, stoav1.RecordImportResponse]) error {
	return t.s.pacedStream(stream.Context(), t.s.kvStreams, func(ctx context.Context, wait *peerWait) error {
		a := accountOf(ctx)
		if err := t.s.inFlight.Take(a, importBytes); err != nil {
			return err
		}
		defer t.s.inFlight.Give(a, importBytes)
		in := &linesIn{stream: stream, wait: wait}
		m, err := receive(in.wait, in.stream.Recv)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		h := m.GetHeader()
		if h == nil {
			return badField("header", "it comes first")
		}
		tenant, err := t.s.tenantOf(ctx, string(h.GetTenant()))
		if err != nil {
			return err
		}
		if err := t.s.checkVerb(ctx, "import", h.GetCollection()); err != nil {
			return err
		}
		n, err := t.s.o.Records.ImportWith(ctx, tenant, h.GetCollection(), in, record.ImportOptions{Keep: h.GetKeep(), Dry: h.GetDryRun()})
		if err != nil {
			return err
		}
		return stream.SendAndClose(&stoav1.RecordImportResponse{Stored: uint64(n.Stored), Same: uint64(n.Same), Kept: uint64(n.Kept), KeptIds: n.IDs})
	})
}

// linesIn are the lines of an import, as they come.
type linesIn struct {
	stream grpc.ClientStreamingServer[stoav1.RecordImportRequest, stoav1.RecordImportResponse]
	wait   *peerWait
	rest   []byte // of the message that came last
}

// Read reads what was sent, as [io.Reader] has it.
func (in *linesIn) Read(p []byte) (int, error) {
	for len(in.rest) == 0 {
		m, err := receive(in.wait, in.stream.Recv)
		if err != nil {
			return 0, err
		}
		part, ok := m.GetMessage().(*stoav1.RecordImportRequest_Lines)
		if !ok {
			return 0, badField("message", "lines follow the header, and nothing else")
		}
		if n := len(part.Lines); n > maxLines {
			return 0, fault.New(stoav1.ErrorKind_ERROR_KIND_TOO_LARGE, fmt.Sprintf("rpc: %d bytes of lines in one message; at most %d", n, maxLines),
				fault.FieldReason, "lines", fault.FieldSize, strconv.Itoa(n), fault.FieldLimit, strconv.Itoa(maxLines))
		}
		in.rest = part.Lines
	}
	n := copy(p, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}
