package demux

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
)

// Peer is the process at the other end of a connection, as the kernel knows it.
type Peer struct {
	PID      int32 // 0 where the system does not tell
	UID, GID uint32
	Groups   []uint32 // supplementary; not all on macOS

	Rights access.Rights // what it may do here
}

// AuthType names how a peer is known, as [credentials.AuthInfo] has it.
func (Peer) AuthType() string { return "unix-peer" }

// ErrPeer is what the transport is told of a peer that may not connect. The peer
// is told nothing.
var ErrPeer = errors.New("server: peer refused")

// Admission asks the kernel who connects, and turns away those who may not, before
// they have sent a byte. All of its fields are set.
type Admission struct {
	Peers    *access.Table
	PeerOf   func(net.Conn) (Peer, error) // [ReadPeer], but in tests
	Log      *slog.Logger
	Limit    int64         // connections
	Open     *atomic.Int64 // connections that are open now
	Greeting time.Duration // how long one may take to say which framing it speaks
}

// admit returns conn, counted, with who is at its other end; ErrPeer for one who may
// not connect, and a *fault.Error where there are too many connections.
func (g *Admission) admit(conn net.Conn) (*Conn, error) {
	p, err := g.PeerOf(conn)
	if err != nil {
		g.Log.Warn("peer refused: its credentials can't be read", "error", err)
		return nil, fmt.Errorf("%w: %w", ErrPeer, err)
	}
	var known bool
	if p.Rights, known, err = g.Peers.Of(p.UID, p.GID, p.Groups); !known {
		g.Log.Warn("peer refused: not on the list of peers", "uid", p.UID, "gid", p.GID, "pid", p.PID, "error", err)
		return nil, ErrPeer
	}
	if g.Open.Add(1) > g.Limit {
		g.Open.Add(-1)
		g.Log.Warn("peer refused: too many connections", "limit", g.Limit, "uid", p.UID, "pid", p.PID)
		return nil, limit.Busy(limit.WhatConnections, g.Limit)
	}
	g.Log.Debug("connected", "uid", p.UID, "gid", p.GID, "pid", p.PID)
	return NewConn(conn, p, g.Open), nil
}

// counted is a connection that counts as open until it is closed.
type counted struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

// Close ends the connection, as [net.Conn] has it.
func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}
