package server

import (
	"encoding/hex"
	"math"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Scan answers Store.Scan: it sends the entries of a range, page by page.
func (t *storeService) Scan(r *stoav1.ScanRequest, stream grpc.ServerStreamingServer[stoav1.ScanResponse]) error {
	ctx := stream.Context()
	size := int64(len(r.GetStart()) + len(r.GetEnd()) + len(r.GetPrefix()))
	a := accountOf(ctx)
	if err := t.s.inFlight.Take(a, size); err != nil {
		return err
	}
	defer t.s.inFlight.Give(a, size)
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
	var plain grpc.ServerStream = stream
	if typed, ok := stream.(*grpc.GenericServerStream[stoav1.ScanRequest, stoav1.ScanResponse]); ok {
		plain = typed.ServerStream // which may have a way to send the last page with the end
	}
	return t.s.paced(ctx, t.s.o.SessionIdle, 0, ended, func(wait *peerWait) error {
		defer v.release()
		defer sc.close()
		return sc.send(plain, wait, v.held)
	})
}

// send sends all pages, which are reads of a snapshot if it is not nil. It reads none
// ahead, since the socket holds what the client reads meanwhile, but behind a short one: if
// that is the last, the end goes with it.
func (sc *scan) send(stream grpc.ServerStream, wait *peerWait, held *heldSnapshot) error {
	slots, _ := stream.(slotted)
	page, err := sc.page()
	for err == nil && page.Count > 0 {
		short, send := sc.short, stream.SendMsg
		var next wire.Page
		if short {
			next, err = sc.page()
			if by, ok := stream.(op.LastSender); ok && err == nil && next.Count == 0 {
				send = by.SendLast
			}
		}
		if failed := wait.During(func() error { return send(&page) }); failed != nil {
			if next.Count > 0 {
				wire.Return(next.Entries)
			}
			return failed
		}
		if held != nil {
			sc.s.snapshots.touch(held)
		}
		if slots != nil && !short && sc.entries == wire.MaxPageEntries && slots.TakeSlots() {
			return sc.sendSlots(stream, slots, wait, held)
		}
		if !short {
			next, err = sc.page()
		}
		page = next
	}
	return err
}

// slotted is a [grpc.ServerStream] whose client reads memory that pages are written to.
type slotted interface {
	TakeSlots() bool
	GiveSlots()
	Slot() ([]byte, error)
	SendSlot(size int, entries uint32) error
	LeaveSlot()
}

// sendSlots is send of what is left, by slots, which it gives back.
func (sc *scan) sendSlots(stream grpc.ServerStream, slots slotted, wait *peerWait, held *heldSnapshot) error {
	defer slots.GiveSlots()
	for {
		var slot []byte
		if err := wait.During(func() (err error) { slot, err = slots.Slot(); return err }); err != nil {
			return err
		}
		page, count, err := sc.next(slot[:0], limit.PageSize(sc.s.scans))
		if err != nil || count == 0 {
			return err
		}
		err = wait.During(func() error {
			if &page[0] == &slot[0] {
				return slots.SendSlot(len(page), count)
			}
			slots.LeaveSlot() // it was too small, or might have been
			return stream.SendMsg(&wire.Page{Entries: &page, Count: count})
		})
		if err != nil {
			return err
		}
		if held != nil {
			sc.s.snapshots.touch(held)
		}
	}
}

// page returns the next page, in borrowed memory. One without entries, whose
// memory is given back, is the end.
func (sc *scan) page() (wire.Page, error) {
	size := limit.PageSize(sc.s.scans)
	page := wire.Page{Entries: wire.BorrowUpTo(size)}
	var err error
	*page.Entries, page.Count, err = sc.next(*page.Entries, size)
	if err != nil || page.Count == 0 {
		wire.Return(page.Entries)
		return wire.Page{}, err
	}
	return page, nil
}

// scan is an open scan. It belongs to one goroutine.
type scan struct {
	s       *Server
	account *limit.Account
	it      *engine.Iterator
	entries int  // the most of the next page
	short   bool // the page before had room for more: the end is near
}

// open opens a scan of the state of v.
func (v *view) open(r *stoav1.ScanRequest) (*scan, error) {
	col, rg, err := rangeOf(r)
	if err != nil {
		return nil, err
	}
	if err := v.s.mayMeet(v.peer, col, rg); err != nil {
		return nil, err
	}
	if r.GetLimit() > math.MaxInt {
		return nil, badField("limit", "too large")
	}
	rg.Reverse, rg.Limit = r.GetReverse(), int(r.GetLimit())
	if err := v.s.scans.Take(v.peer.Account, 1); err != nil {
		return nil, err
	}
	it, err := v.read.Iterate(col, rg)
	if err != nil {
		v.s.scans.Give(v.peer.Account, 1)
		return nil, err
	}
	first := wire.FirstPageEntries
	if rg.Limit > 0 {
		first = max(first, min(rg.Limit, wire.MaxPageEntries))
	}
	return &scan{s: v.s, account: v.peer.Account, it: it, entries: first}, nil
}

// next appends the next page, of about size bytes at most, to dst, and returns how many
// entries it has. None is the end.
func (sc *scan) next(dst []byte, size int) ([]byte, uint32, error) {
	before := len(dst)
	dst = sc.it.Page(dst, sc.entries, size)
	if err := sc.it.Err(); err != nil || len(dst) == before {
		return dst, 0, err
	}
	count := sc.it.PageEntries()
	sc.short = count < sc.entries && len(dst)-before < size || sc.it.Limited()
	sc.entries = min(sc.entries*wire.PageGrowth, wire.MaxPageEntries)
	return dst, uint32(count), nil
}

func (sc *scan) close() {
	sc.it.Close()
	sc.s.scans.Give(sc.account, 1)
}

// errSecretRange refuses a range that meets secret rows.
func errSecretRange(col column.Column, who demux.Peer, secret keys.KeyRange, pairs ...string) *fault.Error {
	return fault.New(stoav1.ErrorKind_ERROR_KIND_SECRET, secretText(col, who), append(pairs, fault.FieldColumn, col.String(),
		fault.FieldStart, hex.EncodeToString(secret.Start), fault.FieldEnd, hex.EncodeToString(secret.End))...)
}
