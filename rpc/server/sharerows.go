package server

import (
	"net"

	"github.com/stoadb/stoa/engine/rocks/rows"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/shm"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
)

// shareRows hands a client the rows that are shared, and ends the connection with them.
func (s *Server) shareRows(c *demux.Conn) {
	defer c.Close()
	conn, ok := c.Raw().(*net.UnixConn)
	mayRead := s.readsEverything(c.Peer)
	if !ok || !mayRead || s.o.SharedRows == nil || s.o.Refuse != nil {
		_ = shm.Refuse(c, shm.MagicRows, mayRead) // it is hung up on either way
		return
	}
	share, err := s.o.SharedRows.SharedRows()
	if err != nil {
		s.log.Debug("no rows are shared", "uid", c.Peer.UID, "pid", c.Peer.PID, "error", err)
		_ = shm.Refuse(c, shm.MagicRows, true)
		return
	}
	s.lend(conn, share)
}

// lend hands rows to a client, and returns when they have ended, or the client or the server
// has.
func (s *Server) lend(conn *net.UnixConn, share rows.Share) {
	s.readers.Add(1) // before the client has them
	defer s.readers.Add(-1)
	err := shm.SendRows(conn, share)
	share.Close()
	if err != nil {
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		var b [1]byte
		_, _ = conn.Read(b[:]) // it has nothing to say
	}()
	select {
	case <-share.Ended:
	case <-s.stopping:
	case <-gone:
	}
	conn.Close()
	<-gone
}

// readsEverything reports whether a peer may read all there is.
func (s *Server) readsEverything(who demux.Peer) bool {
	return who.Rights.Tenant == "" && who.Rights.May(access.Reader|access.Secrets) && s.seesTenants(who)
}
