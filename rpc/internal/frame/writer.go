package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc/mem"

	"github.com/stoadb/stoa/rpc/internal/wire"
)

const (
	// copied is the size of the largest payload that is copied behind its header;
	// larger ones are lent to the system where they are.
	copied = 16 << 10
	// full is how many bytes may wait before those who bring more wait too.
	full = 4 << 20
	// keepTail is the capacity of the largest buffer that is kept.
	keepTail = 256 << 10
)

// ErrUnsent is returned by Flush if the connection took nothing of what was
// brought since the Flush before.
var ErrUnsent = errors.New("frame: not sent")

// Writer puts frames on a connection. What many goroutines bring at once goes
// out in one write. It is safe for concurrent use.
type Writer struct {
	conn  net.Conn
	stall time.Duration // how long a write may wait for a peer that does not read; 0: for ever

	mu      sync.Mutex
	room    sync.Cond // broadcast when less waits
	tail    []byte    // headers and small payloads
	cut     int       // up to where tail is in parts
	parts   net.Buffers
	lent    mem.BufferSlice // large payloads, which are in parts
	waiting int             // bytes
	writing bool
	err     error
	until   time.Time // the deadline that is set; guarded by writing
	spare   []byte
}

// NewWriter returns a writer to conn, which stays the caller's. A write that
// waits for longer than stall, or up to a quarter less, fails.
func NewWriter(conn net.Conn, stall time.Duration) *Writer {
	w := &Writer{conn: conn, stall: stall}
	w.room.L = &w.mu
	return w
}

// Add brings a frame, which goes out with the next Flush. The length in h is
// set from payload, which Add takes over. It waits while very much waits to be
// written, and returns what writing failed with.
func (w *Writer) Add(h Header, payload mem.BufferSlice) error { return w.AddBehind(full, h, payload) }

// AddBehind is Add that waits while more than most bytes wait to be written.
func (w *Writer) AddBehind(most int, h Header, payload mem.BufferSlice) error {
	size := payload.Len()
	h.Length = uint32(size)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ready(most); err != nil {
		payload.Free()
		return err
	}
	w.tail = h.Append(w.tail)
	w.waiting += HeaderSize + size
	if size > copied {
		w.lend(payload)
		return nil
	}
	for _, b := range payload {
		w.tail = append(w.tail, b.ReadOnlyData()...)
	}
	payload.Free()
	return nil
}

// AddBytes is Add for a payload that stays the caller's.
func (w *Writer) AddBytes(h Header, payload []byte) error {
	h.Length = uint32(len(payload))
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ready(full); err != nil {
		return err
	}
	w.tail = append(h.Append(w.tail), payload...)
	w.waiting += HeaderSize + len(payload)
	return nil
}

// AddMessage is Add for a small message.
func (w *Writer) AddMessage(h Header, m wire.Outbound) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ready(full); err != nil {
		return err
	}
	at := len(w.tail)
	w.tail = m.AppendTo(h.Append(w.tail))
	binary.LittleEndian.PutUint32(w.tail[at:], uint32(len(w.tail)-at-HeaderSize))
	w.waiting += len(w.tail) - at
	return nil
}

// ready waits while more than most bytes wait. The caller holds mu.
func (w *Writer) ready(most int) error {
	for w.waiting > most && w.writing && w.err == nil {
		w.room.Wait()
	}
	return w.err
}

// lend puts a payload after what is in tail. The caller holds mu.
func (w *Writer) lend(payload mem.BufferSlice) {
	w.parts = append(w.parts, w.tail[w.cut:])
	w.cut = len(w.tail)
	for _, b := range payload {
		w.parts = append(w.parts, b.ReadOnlyData())
	}
	w.lent = append(w.lent, payload...)
}

// Waiting returns how many bytes wait to be written.
func (w *Writer) Waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting
}

// Flush writes what was brought, unless somebody does so already, who then
// writes this too. With yield others who are about to bring something may do so
// first. It returns ErrUnsent, or what writing failed with.
func (w *Writer) Flush(yield bool) error {
	w.mu.Lock()
	if w.writing || w.err != nil {
		defer w.mu.Unlock()
		return w.err
	}
	w.writing = true
	if yield {
		w.mu.Unlock()
		runtime.Gosched()
		w.mu.Lock()
	}
	sent := false
	for w.err == nil && w.waiting > 0 {
		n, err := w.write()
		sent = sent || n > 0
		if err != nil && !sent {
			err = fmt.Errorf("%w: %w", ErrUnsent, err)
		}
		w.err = err
	}
	w.writing = false
	w.room.Broadcast()
	err := w.err
	if err != nil {
		w.drop()
	}
	w.mu.Unlock()
	return err
}

// write writes what is there once. The caller holds mu, which is free meanwhile.
func (w *Writer) write() (int64, error) {
	tail, parts, lent, size := w.tail, w.parts, w.lent, w.waiting
	if len(parts) > 0 && w.cut < len(tail) {
		parts = append(parts, tail[w.cut:])
	}
	w.tail, w.spare = w.spare[:0], nil
	w.parts, w.lent, w.cut = nil, nil, 0
	w.mu.Unlock()
	w.setDeadline()
	var n int64
	var err error
	if len(parts) == 0 {
		var k int
		k, err = w.conn.Write(tail)
		n = int64(k)
	} else {
		n, err = parts.WriteTo(w.conn)
	}
	lent.Free()
	w.mu.Lock()
	w.waiting -= size
	if cap(tail) <= keepTail {
		w.spare = tail[:0]
	}
	w.room.Broadcast()
	return n, err
}

// setDeadline sets a deadline for writing, now and then.
func (w *Writer) setDeadline() {
	if w.stall == 0 {
		return
	}
	if now := time.Now(); w.until.Sub(now) < w.stall*3/4 {
		w.until = now.Add(w.stall)
		w.conn.SetWriteDeadline(w.until) // a connection without deadlines has none
	}
}

// drop gives back what is not written any more. The caller holds mu.
func (w *Writer) drop() {
	w.lent.Free()
	w.tail, w.parts, w.lent, w.cut, w.waiting = nil, nil, nil, 0, 0
}
