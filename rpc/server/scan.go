package server

import (
	"bytes"
	"context"
	"encoding/hex"
	"math"
	"sync"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Scan is Store.Scan.
func (t *storeService) Scan(r *stoav1.ScanRequest, stream grpc.ServerStreamingServer[stoav1.ScanResponse]) error {
	ctx := stream.Context()
	size := int64(len(r.GetStart()) + len(r.GetEnd()) + len(r.GetPrefix()))
	if err := t.s.inFlight.take(size); err != nil {
		return err
	}
	defer t.s.inFlight.give(size)
	v, err := t.s.view(ctx, r.GetSnapshot())
	if err != nil {
		return err
	}
	sc, err := v.open(r)
	if err != nil {
		v.release()
		return err
	}
	var ended chan struct{}
	if v.held != nil {
		ended = v.held.ended
	}
	return t.s.apart(ctx, ended, func() error {
		defer v.release()
		defer sc.close()
		for {
			page, err := sc.next()
			if err != nil || page.Count == 0 {
				return err
			}
			if err := stream.Send(page); err != nil {
				return err
			}
			if v.held != nil {
				t.s.snapshots.touch(v.held)
			}
		}
	})
}

// scan is an open scan. It belongs to one goroutine.
type scan struct {
	s       *Server
	it      *engine.Iterator
	page    []byte
	entries int // the most of the next page
	answer  stoav1.ScanResponse
}

var pages = sync.Pool{New: func() any { return new([]byte) }}

// open opens a scan of the state of v.
func (v *view) open(r *stoav1.ScanRequest) (*scan, error) {
	col, rg, err := rangeOf(r)
	if err != nil {
		return nil, err
	}
	if err := v.mayScan(col, rg); err != nil {
		return nil, err
	}
	if r.GetLimit() > math.MaxInt {
		return nil, badField("limit", "too large")
	}
	rg.Reverse, rg.Limit = r.GetReverse(), int(r.GetLimit())
	if err := v.s.scans.take(1); err != nil {
		return nil, err
	}
	it, err := v.read.Iterate(col, rg)
	if err != nil {
		v.s.scans.give(1)
		return nil, err
	}
	return &scan{s: v.s, it: it, page: *pages.Get().(*[]byte), entries: rpc.FirstPageEntries}, nil
}

// next returns the next page, which is valid until the call after. One without
// entries is the end.
func (sc *scan) next() (*stoav1.ScanResponse, error) {
	sc.page = sc.it.Page(sc.page[:0], sc.entries, rpc.MaxPage)
	if err := sc.it.Err(); err != nil {
		return nil, err
	}
	sc.entries = min(sc.entries*rpc.PageGrowth, rpc.MaxPageEntries)
	sc.answer.Entries, sc.answer.Count = sc.page, 0
	if len(sc.page) > 0 {
		sc.answer.Count = uint32(sc.it.PageEntries())
	}
	return &sc.answer, nil
}

func (sc *scan) close() {
	sc.it.Close()
	sc.s.scans.give(1)
	if cap(sc.page) <= 2*rpc.MaxPage {
		pages.Put(&sc.page)
	}
	sc.page = nil
}

// mayScan returns an error if the range meets secret rows and the peer may not
// read them.
func (v *view) mayScan(col column.Column, rg engine.Range) error {
	if v.s.maySeeSecrets(v.peer) {
		return nil
	}
	for _, secret := range keys.SecretRanges(col) {
		before := rg.End != nil && bytes.Compare(rg.End, secret.Start) <= 0
		after := secret.End != nil && bytes.Compare(rg.Start, secret.End) >= 0
		if before || after {
			continue
		}
		return rpc.NewError(stoav1.ErrorKind_ERROR_KIND_SECRET, secretText(col, v.peer), rpc.FieldColumn, col.String(),
			rpc.FieldStart, hex.EncodeToString(secret.Start), rpc.FieldEnd, hex.EncodeToString(secret.End))
	}
	return nil
}

// apart runs work, the sends and receives of a stream, on a goroutine of its
// own, so that the handler can return, which ends the stream, while work waits
// for a peer that does not read. It returns when work does, or when the server
// stops or ended is closed.
func (s *Server) apart(ctx context.Context, ended <-chan struct{}, work func() error) error {
	select {
	case err := <-s.detached(ctx, work):
		return err
	case <-s.stopping:
		return errStopping()
	case <-ended:
		return rpc.NewError(stoav1.ErrorKind_ERROR_KIND_CLOSED, "rpc: the snapshot that was read is closed")
	}
}
