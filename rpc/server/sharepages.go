package server

import (
	"io"
	"net"
	"time"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/shm"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
)

// sharePages hands a client slots of memory for pages of its scans, and then serves it in frames.
// What they are for is all that it may read; of users who may not do everything, the memory of
// the daemon is not for the taking.
func (s *Server) sharePages(c *demux.Conn) {
	conn, ok := c.Raw().(*net.UnixConn)
	may := !c.Peer.Account.Limited()
	if !ok || !may || s.slotted.Add(1) > int64(s.o.MaxSharedPages) {
		if ok && may {
			s.slotted.Add(-1)
		}
		_ = shm.Refuse(c, shm.MagicPages, may) // it is hung up on either way
		c.Close()
		return
	}
	defer s.slotted.Add(-1)
	pages, err := shm.NewPages()
	if err != nil {
		s.log.Debug("no pages are shared", "uid", c.Peer.UID, "pid", c.Peer.PID, "error", err)
		_ = shm.Refuse(c, shm.MagicPages, true)
		c.Close()
		return
	}
	if err := shm.SendPages(conn, pages); err != nil || !s.speaksFrames(c) {
		pages.Close()
		c.Close()
		return
	}
	s.framed.ServeSlots(c, pages)
}

// speaksFrames waits for what a framed connection begins with.
func (s *Server) speaksFrames(c *demux.Conn) bool {
	var begin [len(frame.Magic)]byte
	c.SetReadDeadline(time.Now().Add(s.o.Greeting))
	defer c.SetReadDeadline(time.Time{})
	_, err := io.ReadFull(c, begin[:])
	return err == nil && string(begin[:]) == frame.Magic
}
