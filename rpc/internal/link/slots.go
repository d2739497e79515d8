package link

import (
	"context"
	"sync"
	"time"
)

const (
	// asksAfter is how many bytes of long scans come by a socket before a connection with slots is
	// asked for: who scans little does without.
	asksAfter = 4 << 20
	// asksAgainAfter is how many do after there was none.
	asksAgainAfter = 1 << 30

	slotsTimeout = 5 * time.Second
)

// Slotted is the connection with slots of shared memory that a client has for long scans, one at a
// time, once there were some. All methods are safe for concurrent use.
type Slotted struct {
	dial func(context.Context) (*Conn, error)
	ctx  context.Context // until Close
	end  context.CancelFunc

	mu     sync.Mutex
	conn   *Conn // nil: there is none
	taken  bool
	came   int // bytes by other connections
	asking bool
	closed bool
	open   sync.WaitGroup
}

// NewSlotted returns what has a connection that dial makes, when it is wanted.
func NewSlotted(dial func(context.Context) (*Conn, error)) *Slotted {
	s := &Slotted{dial: dial}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Take returns the connection if there is one and nothing is under way there, for a scan; nil else.
// Whoever gets it calls Give.
func (s *Slotted) Take() *Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil || s.taken || !s.conn.Idle() {
		if s.conn != nil && s.conn.Err() != nil {
			s.conn = nil
		}
		return nil
	}
	if !s.conn.Alive() {
		s.conn.Close()
		s.conn = nil
		return nil
	}
	s.taken = true
	return s.conn
}

// Give is called when a scan is closed, and nobody has pages of it any more.
func (s *Slotted) Give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = false
}

// Came counts bytes of a scan by another connection. One of many asks for a connection, and waits for
// nothing.
func (s *Slotted) Came(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.came += bytes; s.came < asksAfter || s.conn != nil || s.asking || s.closed {
		return
	}
	s.asking = true
	s.open.Go(s.ask)
}

func (s *Slotted) ask() {
	ctx, cancel := context.WithTimeout(s.ctx, slotsTimeout)
	defer cancel()
	conn, err := s.dial(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking, s.came = false, 0
	switch {
	case err != nil:
		s.came = asksAfter - asksAgainAfter
	case s.closed:
		conn.Close()
	default:
		s.conn = conn
	}
}

// Close ends the connection, and what is under way there.
func (s *Slotted) Close() {
	s.end()
	s.mu.Lock()
	s.closed = true
	if s.conn != nil {
		s.conn.Close()
	}
	s.mu.Unlock()
	s.open.Wait()
}
