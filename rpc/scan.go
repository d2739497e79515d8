package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// scan is the pager that stands on a stream of pages. How far the daemon runs
// ahead is bounded by the stream's window.
type scan struct {
	client *Client
	stream grpc.ServerStreamingClient[stoav1.ScanResponse]
	cancel context.CancelFunc
	of     *Snapshot // what it reads; nil: the present state

	rest  []byte // of the page that came last
	count int    // entries in rest
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
	if err := s.receive(); err != nil {
		cancel()
		return nil, err
	}
	return s, nil
}

// receive waits for the next page. The end of the stream is no error.
func (s *scan) receive() error {
	page, err := s.stream.Recv()
	switch {
	case errors.Is(err, io.EOF):
		s.err = io.EOF
		return nil
	case err != nil && s.closed():
		s.err = engine.ErrClosed
		return s.err
	case err != nil:
		s.err = s.client.failed("scan", err)
		return s.err
	}
	s.rest, s.count = page.GetEntries(), int(page.GetCount())
	return nil
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
	for len(s.rest) == 0 && s.err == nil {
		if err := s.receive(); err != nil {
			return dst, 0, err
		}
	}
	switch {
	case len(s.rest) == 0 && errors.Is(s.err, io.EOF):
		return dst, 0, nil
	case len(s.rest) == 0:
		return dst, 0, s.err
	case s.count <= maxEntries && len(s.rest) <= maxBytes:
		dst = append(dst, s.rest...)
		n := s.count
		s.rest, s.count = nil, 0
		return dst, n, nil
	}
	return s.part(dst, maxEntries, maxBytes)
}

// part hands out the beginning of a page that is larger than was asked for.
func (s *scan) part(dst []byte, maxEntries, maxBytes int) ([]byte, int, error) {
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
