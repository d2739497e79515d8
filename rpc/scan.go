package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/shm"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// scan is the pager that stands on a stream of pages. How far the daemon runs
// ahead is bounded by the stream's window.
type scan struct {
	client *Client
	stream grpc.ClientStream
	cancel context.CancelFunc
	of     *snapshot      // what it reads; nil: the present state
	slots  *shm.PagesRead // where pages lie; nil: they come by the socket

	page  wire.Lent // what came last
	rest  []byte    // entries of it that were not handed out
	count int       // of rest
	err   error     // what ended the stream; io.EOF: its end
}

// openScan returns once the daemon has opened the scan, so that the state it
// reads is that of the call.
func (c *Client) openScan(ctx context.Context, r *stoav1.ScanRequest, of *snapshot) (*scan, error) {
	if s := c.openSlotted(ctx, r, of); s != nil {
		return s, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.carrier.NewStream(ctx, &stoav1.Store_ServiceDesc.Streams[0], storeScan.Full())
	if err != nil {
		cancel()
		return nil, c.failed("scan", err)
	}
	return (&scan{client: c, stream: stream, cancel: cancel, of: of}).begun(r)
}

// begun sends the request, and waits for the first page.
func (s *scan) begun(r *stoav1.ScanRequest) (*scan, error) {
	err := s.stream.SendMsg(r)
	if err == nil {
		err = s.stream.CloseSend()
	}
	if err != nil {
		err = s.client.failed("scan", err)
	} else {
		err = s.receive()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// openSlotted opens a scan whose pages come by shared memory, if that is there, and it may be long.
// It returns nil where anything is in the way: the scan is then one by the socket, which says what.
func (c *Client) openSlotted(ctx context.Context, r *stoav1.ScanRequest, of *snapshot) *scan {
	if c.slotted == nil || r.GetLimit() > 0 && r.GetLimit() <= wire.MaxPageEntries {
		return nil
	}
	conn := c.slotted.Take()
	if conn == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	stream, err := conn.Open(ctx, storeScan.Number, false)
	if err != nil {
		cancel()
		c.slotted.Give()
		return nil
	}
	s, _ := (&scan{client: c, stream: stream, cancel: cancel, of: of, slots: stream.Slots()}).begun(r)
	return s
}

// receive waits for the next page. The end of the stream is no error.
func (s *scan) receive() error {
	switch err := s.stream.RecvMsg(&s.page); {
	case err == nil && s.page.Slot > 0:
		s.count = int(s.page.Count)
		if s.rest, s.err = s.slots.Page(s.page.Slot-1, s.page.SlotBytes); s.err != nil {
			s.err = fmt.Errorf("rpc: scan: %w: %w", engine.ErrCorrupt, s.err)
		}
		return s.err
	case err == nil:
		s.rest, s.count = s.page.Entries, int(s.page.Count)
		if s.client.slotted != nil && s.slots == nil && s.count > wire.MaxPageEntries/wire.PageGrowth {
			s.client.slotted.Came(len(s.rest))
		}
		return nil
	case errors.Is(err, io.EOF):
		s.err = io.EOF
		return nil
	case s.closed():
		s.err = engine.ErrClosed
	default:
		s.err = s.client.failed("scan", err)
	}
	return s.err
}

// closed reports whether the client, or the snapshot that is read, is closed.
func (s *scan) closed() bool {
	return s.client.closed() || s.of != nil && s.of.closed.Load()
}

// Page appends a page of entries to dst, as [engine.Pager] has it.
func (s *scan) Page(dst []byte, maxEntries, maxBytes int) ([]byte, int, error) {
	part, n, err := s.next(maxEntries, maxBytes)
	return append(dst, part...), n, err
}

// Lend returns a page in the memory that it came in, as [engine.Lender] has it.
func (s *scan) Lend(maxEntries int) ([]byte, int, error) { return s.next(maxEntries, math.MaxInt) }

// next returns the entries that follow, in the memory that they came in.
func (s *scan) next(maxEntries, maxBytes int) ([]byte, int, error) {
	switch {
	case s.closed():
		s.rest, s.err = nil, engine.ErrClosed
		return nil, 0, s.err
	case len(s.rest) > 0:
	case errors.Is(s.err, io.EOF):
		return nil, 0, nil
	case s.err != nil:
		return nil, 0, s.err
	default:
		if err := s.receive(); err != nil || len(s.rest) == 0 {
			return nil, 0, err
		}
	}
	return s.part(maxEntries, maxBytes)
}

// part hands out what came: all, or as much as is asked for.
func (s *scan) part(maxEntries, maxBytes int) ([]byte, int, error) {
	if s.count <= maxEntries && (len(s.rest) <= maxBytes || maxBytes >= wire.MaxPage) {
		all, n := s.rest, s.count
		s.rest, s.count = nil, 0
		return all, n, nil
	}
	rest, n := s.rest, 0
	for len(rest) > 0 && (n == 0 || n < maxEntries && len(s.rest)-len(rest) < maxBytes) {
		var ok bool
		if _, _, rest, ok = engine.CutEntry(rest); !ok {
			s.rest, s.err = nil, fmt.Errorf("rpc: scan: %w: a page does not parse", engine.ErrCorrupt)
			return nil, 0, s.err
		}
		n++
	}
	first := s.rest[:len(s.rest)-len(rest)]
	s.rest, s.count = rest, s.count-n
	return first, n, nil
}

// Close ends the stream.
func (s *scan) Close() error {
	s.cancel()
	if l, ok := s.stream.(interface{ Close() }); ok {
		l.Close()
	}
	s.page.Free()
	s.rest, s.err = nil, engine.ErrClosed
	if s.slots != nil {
		s.slots = nil
		s.client.slotted.Give()
	}
	return nil
}
