package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// scan is the pager that stands on a stream of pages. How far the daemon runs
// ahead is bounded by the stream's window.
type scan struct {
	client *Client
	stream grpc.ServerStreamingClient[stoav1.ScanResponse]
	cancel context.CancelFunc
	of     *Snapshot // what it reads; nil: the present state

	kept  []byte // memory of rest
	rest  []byte // entries that came and were not handed out
	count int    // of rest
	err   error  // what ended the stream; io.EOF: its end
}

// openScan returns once the daemon has opened the scan, so that the state it
// reads is that of the call.
func (c *Client) openScan(ctx context.Context, r *stoav1.ScanRequest, of *Snapshot) (*scan, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.store.Scan(ctx, r)
	if err != nil {
		cancel()
		return nil, c.failed("scan", err)
	}
	s := &scan{client: c, stream: stream, cancel: cancel, of: of}
	if s.rest, s.count, err = s.receive(nil); err != nil {
		cancel()
		return nil, err
	}
	return s, nil
}

// receive waits for the next page and appends it to dst. The end of the stream
// is no error.
func (s *scan) receive(dst []byte) ([]byte, int, error) {
	page := wire.Inbound{Data: dst}
	switch err := s.stream.RecvMsg(&page); {
	case err == nil:
		return page.Data, int(page.Count), nil
	case errors.Is(err, io.EOF):
		s.err = io.EOF
		return dst, 0, nil
	case s.closed():
		s.err = engine.ErrClosed
	default:
		s.err = s.client.failed("scan", err)
	}
	return dst, 0, s.err
}

// closed reports whether the client, or the snapshot that is read, is closed.
func (s *scan) closed() bool {
	return s.client.closed() || s.of != nil && s.of.closed.Load()
}

// Page is engine.Pager's.
func (s *scan) Page(dst []byte, maxEntries, maxBytes int) ([]byte, int, error) {
	if s.closed() {
		s.rest, s.err = nil, engine.ErrClosed
	}
	if len(s.rest) > 0 {
		return s.part(dst, maxEntries, maxBytes)
	}
	if errors.Is(s.err, io.EOF) {
		return dst, 0, nil
	}
	if s.err != nil {
		return dst, 0, s.err
	}
	at := len(dst)
	dst, n, err := s.receive(dst)
	if n <= maxEntries && (len(dst)-at <= maxBytes || maxBytes >= MaxPage) {
		return dst, n, err
	}
	s.kept = append(s.kept[:0], dst[at:]...)
	s.rest, s.count = s.kept, n
	return s.part(dst[:at], maxEntries, maxBytes)
}

// part hands out what came before: all, or as much as is asked for.
func (s *scan) part(dst []byte, maxEntries, maxBytes int) ([]byte, int, error) {
	if s.count <= maxEntries && len(s.rest) <= maxBytes {
		dst, n := append(dst, s.rest...), s.count
		s.rest, s.count = nil, 0
		return dst, n, nil
	}
	rest, n := s.rest, 0
	for len(rest) > 0 && (n == 0 || n < maxEntries && len(s.rest)-len(rest) < maxBytes) {
		var ok bool
		if _, _, rest, ok = engine.CutEntry(rest); !ok {
			s.rest, s.err = nil, fmt.Errorf("rpc: scan: %w: a page does not parse", engine.ErrCorrupt)
			return dst, 0, s.err
		}
		n++
	}
	dst = append(dst, s.rest[:len(s.rest)-len(rest)]...)
	s.rest, s.count = rest, s.count-n
	return dst, n, nil
}

// Close ends the stream.
func (s *scan) Close() error {
	s.cancel()
	s.rest, s.err = nil, engine.ErrClosed
	return nil
}
