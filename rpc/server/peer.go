package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/peer"

	"github.com/stoadb/stoa/rpc/server/internal/limit"
)

// Peer is the process at the other end of a connection, as the kernel knows it.
type Peer struct {
	PID      int32 // 0 where the system does not tell
	UID, GID uint32
	Groups   []uint32 // supplementary; not all on macOS
}

// AuthType is credentials.AuthInfo's.
func (Peer) AuthType() string { return "unix-peer" }

// errPeer is what the transport is told of a peer that may not connect. The peer
// is told nothing.
var errPeer = errors.New("server: peer refused")

// gate asks the kernel who connects, and turns away those who may not, before
// they have sent a byte.
type gate struct {
	allowUIDs, allowGIDs []uint32
	peerOf               func(net.Conn) (Peer, error)
	log                  *slog.Logger
	limit                int64
	open                 *atomic.Int64 // connections
	greeting             time.Duration // how long one may take to say which framing it speaks
}

// admit returns conn, counted, and who is at its other end; errPeer for one who may
// not connect, and an *rpc.Error where there are too many connections.
func (g *gate) admit(conn net.Conn) (*countedConn, Peer, error) {
	p, err := g.peerOf(conn)
	if err != nil {
		g.log.Warn("peer refused: its credentials can't be read", "error", err)
		return nil, p, fmt.Errorf("%w: %w", errPeer, err)
	}
	if !g.allows(p) {
		g.log.Warn("peer refused: not on the list of peers", "uid", p.UID, "gid", p.GID, "pid", p.PID)
		return nil, p, errPeer
	}
	if g.open.Add(1) > g.limit {
		g.open.Add(-1)
		g.log.Warn("peer refused: too many connections", "limit", g.limit, "uid", p.UID, "pid", p.PID)
		return nil, p, limit.Busy(limit.WhatConnections, g.limit)
	}
	g.log.Debug("connected", "uid", p.UID, "gid", p.GID, "pid", p.PID)
	return &countedConn{Conn: conn, open: g.open}, p, nil
}

func (g *gate) allows(p Peer) bool {
	return slices.Contains(g.allowUIDs, p.UID) || slices.Contains(g.allowGIDs, p.GID) ||
		slices.ContainsFunc(p.Groups, func(gid uint32) bool { return slices.Contains(g.allowGIDs, gid) })
}

// countedConn is a connection that counts as open until it is closed.
type countedConn struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// peerFrom returns who made the call of ctx.
func peerFrom(ctx context.Context) (Peer, bool) {
	if c, ok := ctx.(*shortContext); ok {
		return c.peer, true
	}
	p, ok := peer.FromContext(ctx)
	if !ok {
		return Peer{}, false
	}
	who, ok := p.AuthInfo.(Peer)
	return who, ok
}
