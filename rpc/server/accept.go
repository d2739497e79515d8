package server

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/stoadb/stoa/rpc/internal/frame"
)

// doorway stands before gRPC: it accepts connections, lets the gate look at who
// it is, and gives those that begin with HTTP/2 to gRPC, whose listener it is,
// and those that begin with frames to framed.
type doorway struct {
	net.Listener
	gate   *gate
	framed func(*admitted)

	http2  chan *admitted
	failed chan error // from accept, once
	closed chan struct{}
	once   sync.Once
	open   sync.WaitGroup // goroutines of connections

	mu      sync.Mutex
	waiting map[net.Conn]struct{} // connections that have not said what they speak

	turned     [maxTurnedAway]net.Conn // the last ones that are not served
	turnedNext int
}

// admitted is a connection that the gate has let in. What was read of it to see
// what it speaks is read again.
type admitted struct {
	*countedConn
	peer   Peer
	prefix []byte
}

// Read is net.Conn's.
func (c *admitted) Read(b []byte) (int, error) {
	if len(c.prefix) > 0 {
		n := copy(b, c.prefix)
		c.prefix = c.prefix[n:]
		return n, nil
	}
	return c.countedConn.Read(b)
}

func newDoorway(ln net.Listener, g *gate, framed func(*admitted)) *doorway {
	return &doorway{
		Listener: ln, gate: g, framed: framed, waiting: make(map[net.Conn]struct{}),
		http2: make(chan *admitted), failed: make(chan error, 1), closed: make(chan struct{}),
	}
}

// Longest pauses of an accept that fails for now, as for want of files.
const acceptPause = time.Second

// run accepts until the listener is closed or fails for good.
func (d *doorway) run() {
	pause := 5 * time.Millisecond
	for {
		conn, err := d.Listener.Accept()
		if err == nil {
			pause = 5 * time.Millisecond
			d.open.Go(func() { d.enter(conn) })
			continue
		}
		var passing interface{ Temporary() bool }
		if !errors.As(err, &passing) || !passing.Temporary() {
			d.failed <- err
			return
		}
		d.gate.log.Warn("accept failed; tried again", "error", err, "after", pause)
		select {
		case <-time.After(pause):
		case <-d.closed:
			return
		}
		pause = min(2*pause, acceptPause)
	}
}

// enter serves a connection, or gives it to gRPC.
func (d *doorway) enter(conn net.Conn) {
	counted, who, err := d.gate.admit(conn)
	if errors.Is(err, errPeer) {
		conn.Close()
		return
	}
	if err != nil {
		d.turnAway(conn, err)
		return
	}
	c := &admitted{countedConn: counted, peer: who}
	if !d.track(c) {
		c.Close()
		return
	}
	var begin [len(frame.Magic)]byte
	c.SetReadDeadline(time.Now().Add(d.gate.greeting))
	_, err = io.ReadFull(conn, begin[:])
	c.SetReadDeadline(time.Time{})
	d.untrack(c)
	switch {
	case err != nil:
		c.Close()
	case string(begin[:]) == frame.Magic:
		d.framed(c)
	default:
		c.prefix = begin[:]
		select {
		case d.http2 <- c:
		case <-d.closed:
			c.Close()
		}
	}
}

// track has c closed with the doorway; it returns false if it is closed already.
func (d *doorway) track(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil {
		return false
	}
	d.waiting[c] = struct{}{}
	return true
}

func (d *doorway) untrack(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.waiting, c)
}

// Accept is net.Listener's, for gRPC.
func (d *doorway) Accept() (net.Conn, error) {
	select {
	case c := <-d.http2:
		return c, nil
	case err := <-d.failed:
		return nil, err
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close is net.Listener's. Connections that have not said what they speak are
// closed.
func (d *doorway) Close() error {
	var err error
	d.once.Do(func() {
		close(d.closed)
		err = d.Listener.Close()
		d.mu.Lock()
		defer d.mu.Unlock()
		for c := range d.waiting {
			c.Close()
		}
		d.waiting = nil
	})
	return err
}

// handshake is the transport credentials of gRPC: its connections have been let in.
type handshake struct{}

// ServerHandshake is credentials.TransportCredentials's.
func (g handshake) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, ok := conn.(*admitted)
	if !ok {
		return nil, nil, errPeer
	}
	return c, c.peer, nil
}

// ClientHandshake is credentials.TransportCredentials's; servers have none.
func (g handshake) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("server: these are a server's credentials")
}

// Info is credentials.TransportCredentials's.
func (g handshake) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "unix-peer"}
}

// Clone is credentials.TransportCredentials's.
func (g handshake) Clone() credentials.TransportCredentials { return g }

// OverrideServerName is credentials.TransportCredentials's; there is no name.
func (g handshake) OverrideServerName(string) error { return nil }
