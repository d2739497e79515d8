package server

import (
	"errors"
	"io"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// session is one stream of requests. It belongs to the goroutine that serves
// it, but for what is atomic.
type session struct {
	s      *Server
	stream grpc.BidiStreamingServer[stoav1.SessionRequest, stoav1.SessionResponse]
	peer   demux.Peer
	scans  map[uint64]*sessionScan
	held   *heldSnapshot // nil: none taken
	answer stoav1.SessionResponse
	page   []byte // memory of the answer's page

	wait *peerWait
}

// keepPage is the capacity of the largest page whose memory a session keeps.
const keepPage = 1 << 20

// sessionScan is a scan with the state that it reads.
type sessionScan struct {
	*scan
	view view
}

// Session answers Store.Session: it holds a snapshot for as long as the client does.
func (t *storeService) Session(stream grpc.BidiStreamingServer[stoav1.SessionRequest, stoav1.SessionResponse]) error {
	who, ok := framed.PeerFrom(stream.Context())
	if !ok {
		return demux.ErrPeer
	}
	if err := t.s.sessions.Take(who.Account, 1); err != nil {
		return err
	}
	return t.s.paced(stream.Context(), t.s.o.SessionIdle, 0, nil, func(wait *peerWait) error {
		n := &session{s: t.s, stream: stream, peer: who, scans: make(map[uint64]*sessionScan), wait: wait}
		defer t.s.sessions.Give(who.Account, 1)
		defer n.close()
		return n.serve()
	})
}

// serve answers request after request, until the client ends the stream.
func (n *session) serve() error {
	for {
		r, err := receive(n.wait, n.stream.Recv)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := n.counted(r); err != nil {
			n.fail(err)
		}
		n.answer.Id = r.GetId()
		if err := n.wait.During(func() error { return n.stream.Send(&n.answer) }); err != nil {
			return err
		}
		n.answer.Response = nil
		if cap(n.page) > keepPage {
			n.page = nil
		}
	}
}

// counted does r while its bytes count as in flight, however it ends.
func (n *session) counted(r *stoav1.SessionRequest) error {
	size := int64(proto.Size(r))
	if err := n.s.inFlight.Take(n.peer.Account, size); err != nil {
		return err
	}
	defer n.s.inFlight.Give(n.peer.Account, size)
	return n.peer.Account.Heavy(n.stream.Context(), func() error { return n.do(r) })
}

// fail makes err the answer.
func (n *session) fail(err error) {
	published := n.s.publish(n.stream.Context(), "session", err)
	var e *fault.Error
	if !errors.As(published, &e) {
		e = fault.New(stoav1.ErrorKind_ERROR_KIND_STOPPING, "rpc: unavailable: "+published.Error())
	}
	n.answer.Response = &stoav1.SessionResponse_Error{Error: e.InSession()}
}

// do does what r asks for, and leaves the answer.
func (n *session) do(r *stoav1.SessionRequest) error {
	switch ask := r.GetRequest().(type) {
	case *stoav1.SessionRequest_Get:
		v, err := n.view(ask.Get.GetSnapshot())
		if err != nil {
			return err
		}
		defer v.release()
		res, err := v.get(ask.Get)
		n.answer.Response = &stoav1.SessionResponse_Get{Get: res}
		return err
	case *stoav1.SessionRequest_MultiGet:
		v, err := n.view(ask.MultiGet.GetSnapshot())
		if err != nil {
			return err
		}
		defer v.release()
		res, err := v.multiGet(n.stream.Context(), ask.MultiGet)
		n.answer.Response = &stoav1.SessionResponse_MultiGet{MultiGet: res}
		return err
	case *stoav1.SessionRequest_Snapshot:
		return n.takeSnapshot()
	case *stoav1.SessionRequest_Scan:
		return n.openScan(r.GetId(), ask.Scan)
	case *stoav1.SessionRequest_Next:
		return n.nextPage(ask.Next.GetScan())
	case *stoav1.SessionRequest_Close:
		return n.closeScan(ask.Close.GetScan())
	default:
		return badField("request", "none of those that this daemon knows")
	}
}

// view returns the state that a request names: the session's own snapshot if it
// names none and the session has one.
func (n *session) view(snapshot uint64) (view, error) {
	if snapshot == 0 && n.held != nil {
		snapshot = n.held.id
	}
	return n.s.view(n.stream.Context(), snapshot)
}

func (n *session) takeSnapshot() error {
	if n.held != nil {
		return badField("snapshot", "the session has one already; open another session for another")
	}
	snap, err := n.s.eng.Snapshot()
	if err != nil {
		return err
	}
	h, err := n.s.snapshots.add(snap, n.peer.UID)
	if err != nil {
		snap.Close()
		return err
	}
	n.held = h
	n.wait.held.Store(h)
	n.answer.Response = &stoav1.SessionResponse_Snapshot{Snapshot: &stoav1.SessionSnapshotResponse{Snapshot: h.id}}
	return nil
}

func (n *session) openScan(id uint64, r *stoav1.ScanRequest) error {
	if n.scans[id] != nil {
		return badField("id", "a scan of this session has it")
	}
	if len(n.scans) >= n.s.o.MaxSessionScans {
		return limit.Busy(limit.WhatSessionScans, int64(n.s.o.MaxSessionScans))
	}
	v, err := n.view(r.GetSnapshot())
	if err != nil {
		return err
	}
	sc, err := v.open(r)
	if err != nil {
		v.release()
		return err
	}
	n.scans[id] = &sessionScan{scan: sc, view: v}
	return n.nextPage(id)
}

func (n *session) nextPage(id uint64) error {
	sc := n.scans[id]
	if sc == nil {
		return noScan(id)
	}
	page := &stoav1.ScanResponse{}
	var err error
	n.page, page.Count, err = sc.next(n.page[:0], limit.PageSize(n.s.scans))
	page.Entries, page.End = n.page, page.Count == 0
	if err != nil || page.End {
		n.drop(id)
	}
	n.answer.Response = &stoav1.SessionResponse_Page{Page: page}
	return err
}

func (n *session) closeScan(id uint64) error {
	if n.scans[id] == nil {
		return noScan(id)
	}
	n.drop(id)
	n.answer.Response = &stoav1.SessionResponse_Page{Page: &stoav1.ScanResponse{End: true}}
	return nil
}

func noScan(id uint64) error {
	return badField("scan", "the session has no open scan "+strconv.FormatUint(id, 10))
}

func (n *session) drop(id uint64) {
	sc := n.scans[id]
	delete(n.scans, id)
	sc.close()
	sc.view.release()
}

// close gives back everything that the session holds.
func (n *session) close() {
	for id := range n.scans {
		n.drop(id)
	}
	if n.held != nil {
		n.s.snapshots.end(n.held)
	}
}
