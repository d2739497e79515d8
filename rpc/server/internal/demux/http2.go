package demux

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
)

// Incoming is what messages on a connection that speaks HTTP/2 may take while they come. All
// of its fields are set.
type Incoming struct {
	Take   func(n int64) error // asked for bytes before they are handed on
	Give   func(n int64)       // gives them back, when a message is complete
	Pace   func(frames int)    // waits until so many frames more may have come
	Stall  time.Duration       // how long a message that has begun may stand still
	Failed func(error)         // told why the connection is ended
}

// frameCost is what each frame of data counts beside its bytes: what gRPC keeps of it.
const frameCost = 64

// http2Conn counts the bytes of messages of which a part has come: gRPC holds them until the
// last is there, of every stream of a connection, for as long as the client likes, and
// tells nobody. It reads the headers of frames of HTTP/2 (RFC 9113, 4.1) and the prefixes of
// messages in frames of data ("gRPC over HTTP2", Length-Prefixed-Message) as they pass; what
// makes no sense it leaves to gRPC to refuse. It is read by one goroutine.
type http2Conn struct {
	net.Conn
	in Incoming

	mu     sync.Mutex // guards what follows
	closed bool

	preface int                     // bytes of the client's preface still to come
	head    [9]byte                 // of the frame under way
	have    int                     // of head
	left    int                     // bytes of the frame's payload still to come
	data    int                     // of left, bytes that are neither padding nor its length
	pad     bool                    // the length of the padding comes next
	stream  *http2Stream            // of a frame of data
	streams map[uint32]*http2Stream // that have sent data, and not ended
	open    int                     // of streams, those with a part of a message
}

// http2Stream is what is known of a stream's message under way.
type http2Stream struct {
	prefix [5]byte
	got    int   // of prefix
	left   int   // bytes of the message still to come, behind its prefix
	cost   int64 // taken
}

const (
	http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	http2Data      = 0x0
	http2RstStream = 0x3

	http2EndStream = 0x1
	http2Padded    = 0x8
)

// newHTTP2Conn returns a connection of whose preface as many bytes were read as frames begin with.
func newHTTP2Conn(c net.Conn, in Incoming) *http2Conn {
	return &http2Conn{Conn: c, in: in, preface: len(http2Preface) - len(frame.Magic), streams: make(map[uint32]*http2Stream)}
}

// Read reads, as [net.Conn] has it. It fails when there is too much of messages that are not
// complete, or they don't go on.
func (c *http2Conn) Read(b []byte) (int, error) {
	begun := c.begun()
	if begun {
		c.Conn.SetReadDeadline(time.Now().Add(c.in.Stall)) // gRPC sets none once it has greeted
		defer c.Conn.SetReadDeadline(time.Time{})
	}
	n, err := c.Conn.Read(b)
	if begun && errors.Is(err, os.ErrDeadlineExceeded) {
		err = limit.Stalled(c.in.Stall)
		c.in.Failed(err)
	}
	frames, failed := c.pass(b[:n])
	if failed != nil {
		c.in.Failed(failed)
		return 0, failed
	}
	c.in.Pace(frames)
	return n, err
}

// Close gives back what is taken, and ends the connection, as [net.Conn] has it.
func (c *http2Conn) Close() error {
	c.mu.Lock()
	c.closed = true
	for _, s := range c.streams {
		c.in.Give(s.cost)
	}
	clear(c.streams)
	c.mu.Unlock()
	return c.Conn.Close()
}

// begun reports whether a part of a message has come, and not the rest.
func (c *http2Conn) begun() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open > 0
}

// pass looks at bytes that have come, and returns how many frames have begun in them.
func (c *http2Conn) pass(b []byte) (frames int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, nil // who reads will see it
	}
	skip := min(c.preface, len(b))
	c.preface, b = c.preface-skip, b[skip:]
	for len(b) > 0 {
		if c.have < len(c.head) {
			n := copy(c.head[c.have:], b)
			c.have, b = c.have+n, b[n:]
			if c.have < len(c.head) {
				return frames, nil
			}
			frames++
			if err := c.begin(); err != nil {
				return frames, err
			}
		}
		n := min(c.left, len(b))
		c.payload(b[:n])
		c.left, b = c.left-n, b[n:]
		if c.left == 0 {
			c.end()
		}
	}
	return frames, nil
}

// begin begins a frame, whose header has come.
func (c *http2Conn) begin() error {
	c.left = int(c.head[0])<<16 | int(c.head[1])<<8 | int(c.head[2])
	c.data, c.pad, c.stream = 0, false, nil
	if c.head[3] != http2Data {
		return nil
	}
	cost := int64(c.left) + frameCost
	if err := c.in.Take(cost); err != nil {
		return err
	}
	id := c.id()
	if c.stream = c.streams[id]; c.stream == nil {
		c.stream = new(http2Stream)
		c.streams[id] = c.stream
	}
	if c.stream.cost == 0 {
		c.open++
	}
	c.stream.cost += cost
	c.data, c.pad = c.left, c.head[4]&http2Padded != 0
	return nil
}

func (c *http2Conn) id() uint32 { return binary.BigEndian.Uint32(c.head[5:]) &^ (1 << 31) }

// payload takes a part of the payload of the frame under way.
func (c *http2Conn) payload(b []byte) {
	if c.stream == nil || len(b) == 0 {
		return
	}
	if c.pad {
		c.pad, c.data = false, max(c.data-1-int(b[0]), 0)
		b = b[1:]
	}
	n := min(c.data, len(b))
	c.data -= n
	c.stream.take(b[:n])
}

// end ends a frame: what its stream has no message under way for any more is given back.
func (c *http2Conn) end() {
	c.have = 0
	s, id := c.stream, c.id()
	over := c.head[3] == http2RstStream
	if over {
		s = c.streams[id]
	}
	if s == nil {
		return
	}
	over = over || c.head[4]&http2EndStream != 0
	if over {
		delete(c.streams, id)
	}
	if s.cost > 0 && (over || s.got == 0) {
		c.in.Give(s.cost)
		s.cost = 0
		c.open--
	}
}

// take takes bytes of the stream's messages.
func (s *http2Stream) take(b []byte) {
	for len(b) > 0 {
		if s.got < len(s.prefix) {
			n := copy(s.prefix[s.got:], b)
			s.got, b = s.got+n, b[n:]
			if s.got < len(s.prefix) {
				return
			}
			s.left = int(binary.BigEndian.Uint32(s.prefix[1:]))
		}
		n := min(s.left, len(b))
		s.left, b = s.left-n, b[n:]
		if s.left == 0 {
			s.got = 0
		}
	}
}
