// Package demux stands before the two framings of a server: it accepts connections,
// looks at who made them, turns away those who may not connect, and tells those that
// speak HTTP/2 from those that speak frames, and from those that want shared memory. Start at [New].
package demux

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/shm"
)

// Listener stands before gRPC: it accepts connections, lets its Admission look at who
// it is, and gives those that begin with HTTP/2 to gRPC, whose listener it is,
// and those that begin with something else to functions.
type Listener struct {
	net.Listener
	admission *Admission
	framed    func(*Conn)
	rows      func(*Conn)
	pages     func(*Conn)

	http2   chan *Conn // of those who may do everything
	limited chan *Conn // of others
	failed  chan error // from accept, once
	closed  chan struct{}
	once    sync.Once
	open    sync.WaitGroup // goroutines of connections

	mu      sync.Mutex
	waiting map[net.Conn]struct{} // connections that have not said what they speak

	turned     [MaxTurnedAway]net.Conn // the last ones that are not served
	turnedNext int
}

// Conn is a connection that was let in. What was read of it to see
// what it speaks is read again.
type Conn struct {
	*counted
	Peer   Peer
	prefix []byte
}

// NewConn returns conn as one that was let in, of who. Its end calls closed.
func NewConn(conn net.Conn, who Peer, closed func()) *Conn {
	return &Conn{counted: &counted{Conn: conn, closed: closed}, Peer: who}
}

// Raw returns the connection itself, without what Close counts. It is of one that
// speaks frames, whose first bytes are read.
func (c *Conn) Raw() net.Conn { return c.counted.Conn }

// Read reads what was read ahead, and then the connection, as [net.Conn] has it.
func (c *Conn) Read(b []byte) (int, error) {
	if len(c.prefix) > 0 {
		n := copy(b, c.prefix)
		c.prefix = c.prefix[n:]
		return n, nil
	}
	return c.counted.Read(b)
}

// New returns a listener that accepts from ln from [Listener.Start] on, and calls, on a
// goroutine of its own, framed for each connection that speaks frames, rows for each that asks for
// shared rows, and pages for each that asks for slots of pages.
func New(ln net.Listener, a *Admission, framed, rows, pages func(*Conn)) *Listener {
	return &Listener{
		Listener: ln, admission: a, framed: framed, rows: rows, pages: pages, waiting: make(map[net.Conn]struct{}),
		http2: make(chan *Conn), limited: make(chan *Conn), failed: make(chan error, 1), closed: make(chan struct{}),
	}
}

// Longest pauses of an accept that fails for now, as for want of files.
const acceptPause = time.Second

// Start accepts, on a goroutine of its own, until the listener is closed or fails for good.
func (d *Listener) Start() { d.open.Go(d.run) }

// Wait waits until accepting has ended, and all that has begun with a connection, the calls
// of framed included.
func (d *Listener) Wait() { d.open.Wait() }

func (d *Listener) run() {
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
		d.admission.Log.Warn("accept failed; tried again", "error", err, "after", pause)
		select {
		case <-time.After(pause):
		case <-d.closed:
			return
		}
		pause = min(2*pause, acceptPause)
	}
}

// enter serves a connection, or gives it to gRPC.
func (d *Listener) enter(conn net.Conn) {
	c, err := d.admission.admit(conn)
	if errors.Is(err, ErrPeer) {
		conn.Close()
		return
	}
	if err != nil {
		d.turnAway(conn, err)
		return
	}
	if !d.track(c) {
		c.Close()
		return
	}
	var begin [len(frame.Magic)]byte
	c.SetReadDeadline(time.Now().Add(d.admission.Greeting))
	_, err = io.ReadFull(conn, begin[:])
	c.SetReadDeadline(time.Time{})
	d.untrack(c)
	switch {
	case err != nil:
		c.Close()
	case string(begin[:]) == frame.Magic:
		d.framed(c)
	case string(begin[:]) == shm.MagicRows:
		d.rows(c)
	case string(begin[:]) == shm.MagicPages:
		d.pages(c)
	default:
		c.prefix = begin[:]
		d.admission.watched(c)
		to := d.http2
		if c.Peer.Account.Limited() {
			to = d.limited
		}
		select {
		case to <- c:
		case <-d.closed:
			c.Close()
		}
	}
}

// track has c closed with the doorway; it returns false if it is closed already.
func (d *Listener) track(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil {
		return false
	}
	d.waiting[c] = struct{}{}
	return true
}

func (d *Listener) untrack(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.waiting, c)
}

// Accept returns the next connection that speaks gRPC of a peer who may do everything, as
// [net.Listener] has it.
func (d *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-d.http2:
		return c, nil
	case err := <-d.failed:
		return nil, err
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Limited returns the listener of the other connections that speak gRPC. It is closed with d.
func (d *Listener) Limited() net.Listener { return limitedListener{d} }

type limitedListener struct{ *Listener }

// Accept returns the next connection, as [net.Listener] has it.
func (l limitedListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.limited:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the listener, as [net.Listener] has it. Connections that have not said what they speak are
// closed.
func (d *Listener) Close() error {
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

// Credentials are the transport credentials of gRPC: its connections have been let in.
type Credentials struct{}

// ServerHandshake says who the peer is, as [credentials.TransportCredentials] has it.
func (g Credentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, ok := conn.(*Conn)
	if !ok {
		return nil, nil, ErrPeer
	}
	return c, c.Peer, nil
}

// ClientHandshake refuses: servers have none.
func (g Credentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("server: these are a server's credentials")
}

// Info names the protocol, as [credentials.TransportCredentials] has it.
func (g Credentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "unix-peer"}
}

// Clone returns the same, which nothing changes.
func (g Credentials) Clone() credentials.TransportCredentials { return g }

// OverrideServerName does nothing: there is no name.
func (g Credentials) OverrideServerName(string) error { return nil }
