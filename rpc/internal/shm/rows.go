package shm

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/rows"
)

const (
	// asksAfter is how many reads go by the socket before a client asks for shared rows: one
	// that reads little does without.
	asksAfter = 64
	// asksAgainAfter is how many do after it was handed nothing.
	asksAgainAfter = 64 << 10

	timeout = 5 * time.Second
)

// Rows are the rows that a daemon shares with a client, if it does. All methods are safe for
// concurrent use.
type Rows struct {
	dial func(context.Context) (*net.UnixConn, error)
	ctx  context.Context // until Close
	end  context.CancelFunc

	reader atomic.Pointer[rows.Reader] // nil: there are none now
	missed atomic.Int64                // reads by the socket since; from asksAfter on, one asks

	mu     sync.Mutex
	conn   *net.UnixConn // over which rows were handed, or are asked for
	closed bool
	open   sync.WaitGroup // of who asks, and then looks whether the connection stands
}

// NewRows returns the rows of the daemon that dial connects to.
func NewRows(dial func(context.Context) (*net.UnixConn, error)) *Rows {
	r := &Rows{dial: dial}
	r.ctx, r.end = context.WithCancel(context.Background())
	return r
}

// Get appends the value of a row to dst, if the rows that are shared have it. It is what the
// row was at one moment of the call.
func (r *Rows) Get(dst []byte, col column.Column, key []byte) ([]byte, bool) {
	reader := r.reader.Load()
	if reader == nil {
		r.miss()
		return dst, false
	}
	return reader.Get(dst, col, key)
}

// MultiGet is Get of many in one state: all, or none.
func (r *Rows) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, bool) {
	reader := r.reader.Load()
	if reader == nil {
		r.miss()
		return buf, false
	}
	return reader.MultiGet(buf, lookups)
}

// Shared reports whether there are rows now.
func (r *Rows) Shared() bool {
	reader := r.reader.Load()
	return reader != nil && reader.Current()
}

// miss counts a read that goes by the socket. One of many asks for rows, and waits for nothing.
func (r *Rows) miss() {
	if r.missed.Add(1) != asksAfter {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.open.Go(r.follow)
	}
}

// follow asks for rows, and has them read until the daemon ends the connection.
func (r *Rows) follow() {
	err := r.attach()
	again := int64(asksAfter - asksAgainAfter)
	if err == nil {
		again = 0
	}
	r.reader.Store(nil)
	r.missed.Store(again)
}

// attach returns nil if there were rows, and are no more.
func (r *Rows) attach() error {
	ctx, cancel := context.WithTimeout(r.ctx, timeout)
	defer cancel()
	conn, err := r.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if !r.has(conn) {
		return net.ErrClosed
	}
	deadline, _ := ctx.Deadline()
	conn.SetDeadline(deadline)
	share, err := Receive(conn)
	if err != nil {
		return err
	}
	reader, err := rows.Map(share)
	share.Close() // what is mapped stays so
	if err != nil {
		return err
	}
	conn.SetDeadline(time.Time{})
	r.reader.Store(reader)
	var end [1]byte
	_, _ = conn.Read(end[:]) // whatever it returns, this is over
	return nil
}

// has keeps a connection for Close to end. It returns false after Close.
func (r *Rows) has(conn *net.UnixConn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conn = conn
	return !r.closed
}

// Close ends it: nothing is found any more.
func (r *Rows) Close() {
	r.end()
	r.mu.Lock()
	r.closed = true
	if r.conn != nil {
		r.conn.Close()
	}
	r.mu.Unlock()
	r.open.Wait()
}
