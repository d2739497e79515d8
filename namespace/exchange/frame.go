package exchange

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoadb/stoa/codec"
)

// preface is what each side says first: the protocol and its version.
const preface = "stoa sync 1\n"

// Limits of what travels, in bytes.
const (
	maxFrame = 1 << 20 // of a frame but its length
	maxItem  = 5 << 20 // of a message, which may take several frames
	window   = 8 << 20 // of messages that carry something and are not yet taken in
)

// Memory is about how many bytes a session takes at most, beside what the stores do.
const Memory = window + maxItem + maxWaiting + 4*codec.ChunkSize

// more is set in the kind of a frame whose message goes on in the next.
const more = 0x80

// kind says what a message is. rpc/SYNC.md has the bytes.
type kind byte

// The kinds of messages. The numbers are sent: they do not change.
const (
	kindHello      kind = 1
	kindNamespaces kind = 2
	kindState      kind = 3
	kindOp         kind = 4
	kindRanges     kind = 5
	kindContext    kind = 6
	kindEnvelope   kind = 7
	kindWant       kind = 8
	kindLack       kind = 9
	kindPiece      kind = 10
	kindDone       kind = 16
	kindTaken      kind = 17
	kindFault      kind = 18
)

// carries reports whether messages of the kind need room on the other side.
func (k kind) carries() bool { return k == kindOp || k == kindEnvelope || k == kindPiece }

var (
	// ErrProtocol is returned for a peer that does not keep to the protocol.
	ErrProtocol = errors.New("sync: the peer does not keep to the protocol")
	// ErrStalled is returned where nothing has come from the peer for too long.
	ErrStalled = errors.New("sync: nothing came from the peer")
	// ErrPeer is returned where the peer has ended the session, with what it said of why.
	ErrPeer = errors.New("sync: the peer ended the session")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// message is one on its way out.
type message struct {
	kind kind
	body []byte
}

// wire is the stream of a session, as messages. One goroutine reads, one writes, a third takes in what
// was read; any may hand out what is to be written.
type wire struct {
	conn  io.ReadWriteCloser
	r     *bufio.Reader
	idle  time.Duration
	stall *time.Timer // ends the session unless something comes

	first *message      // of what came, was taken from came, and is next
	came  chan message  // from the peer, but what is about room; closed after the last
	dead  chan struct{} // closed once reading has failed
	why   error         // of that, before dead is closed

	out    chan message
	taken  chan struct{} // of capacity 1: owed has grown
	broken chan struct{} // closed once writing has failed
	err    error         // of writing, before broken is closed

	mu   sync.Mutex
	room int64         // for messages that carry something
	wake chan struct{} // closed when room has grown
	owed int64         // bytes that were taken in, of which the peer does not know

	granted int64        // how much the peer may send yet; guarded by mu
	in      atomic.Int64 // bytes that came
	sent    atomic.Int64
	stalled bool // guarded by mu
}

func newWire(conn io.ReadWriteCloser, idle time.Duration) *wire {
	w := &wire{
		conn: conn, r: bufio.NewReaderSize(conn, 64<<10), idle: idle,
		came: make(chan message), dead: make(chan struct{}),
		out: make(chan message, 16), taken: make(chan struct{}, 1), broken: make(chan struct{}),
		room: window, wake: make(chan struct{}), granted: window,
	}
	w.stall = time.AfterFunc(idle, func() {
		w.mu.Lock()
		w.stalled = true
		w.mu.Unlock()
		_ = w.conn.Close() // what reads then fails
	})
	return w
}

// write writes what is put until ctx ends, or out is closed.
func (w *wire) write(ctx context.Context) {
	b := bufio.NewWriterSize(w.conn, 64<<10)
	_, err := b.WriteString(preface)
	w.sent.Add(int64(len(preface)))
	for err == nil {
		var m *message
		select {
		case <-w.taken: // before anything else: the peer may wait for it
			m = w.thanks()
		default:
			select {
			case next, ok := <-w.out:
				if m = &next; !ok {
					err = cmp.Or(b.Flush(), io.ErrClosedPipe) // nothing is written after the end
				}
			default:
				m, err = w.idly(ctx, b)
			}
		}
		if err == nil && m != nil {
			err = w.frames(b, *m)
		}
	}
	w.err = err
	close(w.broken)
}

// idly flushes what is written, and waits for what is next.
func (w *wire) idly(ctx context.Context, b *bufio.Writer) (*message, error) {
	if err := b.Flush(); err != nil {
		return nil, err
	}
	select {
	case next, ok := <-w.out:
		if !ok {
			return nil, io.ErrClosedPipe
		}
		return &next, nil
	case <-w.taken:
		return w.thanks(), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// thanks is the message that says what was taken in; none if that was said.
func (w *wire) thanks() *message {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.owed
	if w.owed = 0; n == 0 {
		return nil
	}
	return &message{kindTaken, binary.LittleEndian.AppendUint32(nil, uint32(n))}
}

// frames writes a message.
func (w *wire) frames(b *bufio.Writer, m message) error {
	for {
		part := m.body[:min(len(m.body), maxFrame-1)]
		m.body = m.body[len(part):]
		k := byte(m.kind)
		if len(m.body) > 0 {
			k |= more
		}
		head := append(binary.LittleEndian.AppendUint32(nil, uint32(len(part)+1)), k)
		if _, err := b.Write(head); err != nil {
			return err
		}
		if _, err := b.Write(part); err != nil {
			return err
		}
		w.sent.Add(int64(len(head) + len(part)))
		if len(m.body) == 0 {
			return nil
		}
	}
}

// put hands a message to who writes, once the peer has room for it.
func (w *wire) put(ctx context.Context, k kind, body []byte) error {
	if k.carries() {
		if err := w.reserve(ctx, int64(len(body))); err != nil {
			return err
		}
	}
	m := message{k, body}
	select {
	case w.out <- m: // first: a peer that greets badly is greeted all the same, and told why it is left
		return nil
	default:
	}
	select {
	case w.out <- m:
		return nil
	case <-w.broken:
		return w.failed()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// errBroken is returned where the stream can't be written.
var errBroken = errors.New("sync: the stream can't be written")

func (w *wire) failed() error { return fmt.Errorf("%w: %w", errBroken, w.err) }

// reserve waits until the peer has room for n bytes.
func (w *wire) reserve(ctx context.Context, n int64) error {
	for {
		w.mu.Lock()
		if w.room >= n {
			w.room -= n
			w.mu.Unlock()
			return nil
		}
		wake := w.wake
		w.mu.Unlock()
		select {
		case <-wake:
		case <-w.broken:
			return w.failed()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// greeted reads the preface of the peer.
func (w *wire) greeted() error {
	var b [len(preface)]byte
	if err := w.full(b[:]); err != nil {
		return err
	}
	if string(b[:]) != preface {
		return malformed("it begins with %q, and not with %q: it speaks something else, or another version", b[:], preface)
	}
	return nil
}

// full fills b from the stream.
func (w *wire) full(b []byte) error {
	n, err := io.ReadFull(w.r, b)
	w.in.Add(int64(n))
	if err == nil {
		w.stall.Reset(w.idle)
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stalled {
		return fmt.Errorf("%w for %s", ErrStalled, w.idle)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) {
		return fmt.Errorf("%w: the stream ended within it", ErrPeer)
	}
	return err
}

// read reads until the stream fails, or ctx ends. While nobody takes what came, the peer is not waited
// for.
func (w *wire) read(ctx context.Context) {
	err := w.greeted()
	for err == nil {
		var m message
		var ok bool
		if m, ok, err = w.handled(); err != nil || !ok {
			continue
		}
		w.stall.Stop()
		select {
		case w.came <- m:
			w.stall.Reset(w.idle)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	w.stall.Stop()
	w.why = err
	close(w.dead)
	close(w.came)
}

// handled reads a message. ok is false for one that was about room.
func (w *wire) handled() (m message, ok bool, err error) {
	m.kind, m.body, err = w.one()
	switch {
	case err != nil:
	case m.kind == kindTaken:
		err = w.given(m.body)
	case m.kind == kindFault:
		err = fmt.Errorf("%w: %q", ErrPeer, m.body[:min(len(m.body), maxFault)])
	case m.kind.carries():
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.granted -= int64(len(m.body)); w.granted < 0 {
			err = malformed("it sent more than there is room for")
		}
		ok = true
	default:
		ok = true
	}
	return m, ok, err
}

// given notes what the peer has taken in.
func (w *wire) given(body []byte) error {
	if len(body) != 4 {
		return malformed("what was taken, in %d bytes", len(body))
	}
	n := int64(binary.LittleEndian.Uint32(body))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.room += n; n == 0 || w.room > window {
		return malformed("it took in more than was sent, or nothing")
	}
	close(w.wake)
	w.wake = make(chan struct{})
	return nil
}

// next returns the next message. Its bytes are the caller's.
func (w *wire) next() (kind, []byte, error) {
	if m := w.first; m != nil {
		w.first = nil
		return m.kind, m.body, nil
	}
	m, ok := <-w.came
	if !ok {
		return 0, nil, w.why
	}
	return m.kind, m.body, nil
}

// maxFault is how much of what a peer says of an error is repeated, in bytes.
const maxFault = 200

// one reads the frames of a message.
func (w *wire) one() (k kind, body []byte, err error) {
	for first := true; ; first = false {
		var head [5]byte
		if err := w.full(head[:]); err != nil {
			return 0, nil, err
		}
		n := int(binary.LittleEndian.Uint32(head[:]))
		if n < 1 || n > maxFrame {
			return 0, nil, malformed("a frame of %d bytes, where 1 to %d may be", n, maxFrame)
		}
		switch now := kind(head[4] &^ more); {
		case first:
			k = now
		case k != now:
			return 0, nil, malformed("a message of kind %d goes on as one of %d", k, now)
		}
		if len(body)+n-1 > maxItem {
			return 0, nil, malformed("a message of more than %d bytes", maxItem)
		}
		part := make([]byte, n-1)
		if err := w.full(part); err != nil {
			return 0, nil, err
		}
		if body = append(body, part...); head[4]&more == 0 {
			return k, body, nil
		}
	}
}

// took says that a message that carries something was taken in, of so many bytes.
func (w *wire) took(n int) {
	w.mu.Lock()
	w.granted += int64(n)
	w.owed += int64(n)
	tell := w.owed >= window/4
	w.mu.Unlock()
	if tell {
		select {
		case w.taken <- struct{}{}:
		default: // it is to be told already
		}
	}
}
