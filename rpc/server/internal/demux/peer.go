package demux

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/peercred"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
)

// Peer is the process at the other end of a connection, as the kernel knows it.
type Peer struct {
	PID      int32 // 0 where the system does not tell
	UID, GID uint32
	Groups   []uint32 // supplementary; not all on macOS

	Rights  access.Rights  // what it may do here
	Account *limit.Account // what its connection takes; nil: nothing is counted for it
}

// ReadPeer asks the kernel who is at the other end of a Unix connection.
func ReadPeer(conn net.Conn) (Peer, error) {
	p, err := peercred.Read(conn)
	return Peer{PID: p.PID, UID: p.UID, GID: p.GID, Groups: p.Groups}, err
}

// AuthType names how a peer is known, as [credentials.AuthInfo] has it.
func (Peer) AuthType() string { return "unix-peer" }

// ErrPeer is what the transport is told of a peer that may not connect. The peer
// is told nothing.
var ErrPeer = errors.New("server: peer refused")

// Admission asks the kernel who connects, and turns away those who may not, before
// they have sent a byte. All of its fields are set.
type Admission struct {
	Peers       *access.Table
	PeerOf      func(net.Conn) (Peer, error) // [ReadPeer], but in tests
	Log         *slog.Logger
	Shares      *limit.Shares
	Connections *limit.Quota
	Memory      int64         // bytes that a connection may hold of requests and answers
	Requests    *limit.Quota  // bytes of what comes over HTTP/2 and is not complete, and of others
	Stall       time.Duration // how long such a message may stand still
	Greeting    time.Duration // how long one may take to say which framing it speaks

	refusals lines
}

// admit returns conn, counted, with who is at its other end; ErrPeer for one who may
// not connect, and a *fault.Error where there are too many connections.
func (g *Admission) admit(conn net.Conn) (*Conn, error) {
	p, err := g.PeerOf(conn)
	if err != nil {
		g.refuse(nobody, "peer refused: its credentials can't be read", "error", err)
		return nil, fmt.Errorf("%w: %w", ErrPeer, err)
	}
	var known bool
	if p.Rights, known, err = g.Peers.Of(p.UID, p.GID, p.Groups); !known {
		g.refuse(p.UID, "peer refused: not on the list of peers", "uid", p.UID, "gid", p.GID, "pid", p.PID, "error", err)
		return nil, ErrPeer
	}
	p.Account = g.Shares.Join(p.UID, p.Rights.Everything(), g.Memory)
	if err := g.Connections.Take(p.Account, 1); err != nil {
		g.Shares.Leave(p.Account)
		g.refuse(p.UID, "peer refused: too many connections", "uid", p.UID, "pid", p.PID, "error", err)
		return nil, err
	}
	g.Log.Debug("connected", "uid", p.UID, "gid", p.GID, "pid", p.PID)
	return NewConn(conn, p, func() {
		g.Connections.Give(p.Account, 1)
		g.Shares.Leave(p.Account)
	}), nil
}

// watched has what comes on a connection that speaks HTTP/2 count for its user, unless that
// may do everything.
func (g *Admission) watched(c *Conn) {
	a, who := c.Peer.Account, c.Peer
	if !a.Limited() {
		return
	}
	c.counted.Conn = newHTTP2Conn(c.counted.Conn, Incoming{
		Take:  func(n int64) error { return g.Requests.Take(a, n) },
		Give:  func(n int64) { g.Requests.Give(a, n) },
		Pace:  a.Frames,
		Stall: g.Stall,
		Failed: func(err error) {
			g.refuse(who.UID, "hung up on a peer", "uid", who.UID, "pid", who.PID, "error", err)
		},
	})
}

// nobody stands for who is not known; it is no user of any system.
const nobody = 1<<32 - 1

// refuse logs a refusal.
func (g *Admission) refuse(uid uint32, text string, args ...any) {
	if more, ok := g.refusals.next(uid, time.Now()); ok {
		g.Log.Warn(text, append(args, "more_since_the_last_line", more)...)
	}
}

// lines count the lines of a log that users bring about, each of whom gets one a second.
type lines struct {
	mu   sync.Mutex
	last map[uint32]*line
}

type line struct {
	at   time.Time
	more int // that were not written since
}

// manyLines is from how many users on those are forgotten who have been quiet.
const manyLines = 1024

// next reports whether a line about a user is to be written, and how many were not since
// the last.
func (l *lines) next(uid uint32, now time.Time) (more int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil || len(l.last) >= manyLines {
		l.forget(now)
	}
	last := l.last[uid]
	switch {
	case last == nil:
		l.last[uid] = &line{at: now}
		return 0, true
	case now.Sub(last.at) < time.Second:
		last.more++
		return 0, false
	}
	more, *last = last.more, line{at: now}
	return more, true
}

func (l *lines) forget(now time.Time) {
	if l.last == nil {
		l.last = make(map[uint32]*line)
	}
	maps.DeleteFunc(l.last, func(_ uint32, last *line) bool { return now.Sub(last.at) >= time.Second })
}

// counted is a connection of which something is done when it is closed.
type counted struct {
	net.Conn
	closed func()
	once   sync.Once
}

// Close ends the connection, as [net.Conn] has it.
func (c *counted) Close() error {
	c.once.Do(c.closed)
	return c.Conn.Close()
}
