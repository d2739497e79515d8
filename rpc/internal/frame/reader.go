package frame

import (
	"io"

	"github.com/stoadb/stoa/rpc/internal/wire"
)

// Sizes of a reader's buffer, in bytes. It grows as it is filled, so that a
// connection that does little holds little.
const (
	minBuffer = 4 << 10
	maxBuffer = 64 << 10
)

// Frame is a frame that was received.
type Frame struct {
	Header
	// Payload is a part of the reader's buffer, valid until the next Fill, or all
	// of Owned.
	Payload []byte
	// Owned is the memory of a large payload, which is now the receiver's: to be
	// given to wire.Return. nil: Payload is in the reader's buffer.
	Owned *[]byte
	// Refused is why the payload was skipped; see Reader.Admit.
	Refused error
}

// Reader takes frames off a connection. A Fill that fails for a deadline may be
// repeated. It is not safe for concurrent use.
type Reader struct {
	// Admit is asked before memory for a payload that is larger than the buffer is
	// taken. A payload that it returns an error for is skipped. nil: all are
	// admitted.
	Admit func(size int) error

	src        io.Reader
	buf        []byte
	start, end int

	head   Header  // of the payload under way
	body   *[]byte // nil: none is
	have   int     // of body
	skip   int     // bytes of a refused payload still to come
	reason error   // why it was refused
	spare  bool    // the last payload was large: read its next header alone
}

// NewReader returns a reader of src.
func NewReader(src io.Reader) *Reader { return &Reader{src: src, buf: make([]byte, minBuffer)} }

// Next returns the next frame of what was read. ok is false if there is none
// in full: Fill then. It returns ErrMalformed and ErrTooLarge, after which the
// connection is of no use.
func (r *Reader) Next() (f Frame, ok bool, err error) {
	if r.body != nil {
		if r.have < len(*r.body) {
			return Frame{}, false, nil
		}
		f = Frame{Header: r.head, Payload: *r.body, Owned: r.body}
		r.body, r.spare = nil, true
		return f, true, nil
	}
	if r.reason != nil {
		if r.discard(); r.skip > 0 {
			return Frame{}, false, nil
		}
		f = Frame{Header: r.head, Refused: r.reason}
		r.reason = nil
		return f, true, nil
	}
	if r.end-r.start < HeaderSize {
		return Frame{}, false, nil
	}
	h, err := Parse(r.buf[r.start:r.end])
	if err != nil {
		return Frame{Header: h}, false, err
	}
	if size := HeaderSize + int(h.Length); size <= maxBuffer {
		return r.small(h, size)
	}
	return r.large(h)
}

// Buffered returns how many bytes were read that Next has not returned, nor taken
// for a payload with memory of its own.
func (r *Reader) Buffered() int { return r.end - r.start }

// small returns a frame that fits into the buffer, if it is there.
func (r *Reader) small(h Header, size int) (Frame, bool, error) {
	if r.end-r.start < size {
		r.reserve(size)
		return Frame{}, false, nil
	}
	f := Frame{Header: h, Payload: r.buf[r.start+HeaderSize : r.start+size : r.start+size]}
	r.start += size
	return f, true, nil
}

// large begins a payload that has memory of its own, or is to be skipped.
func (r *Reader) large(h Header) (Frame, bool, error) {
	r.start += HeaderSize
	r.head = h
	if r.Admit != nil {
		if r.reason = r.Admit(int(h.Length)); r.reason != nil {
			r.skip = int(h.Length)
			return r.Next()
		}
	}
	r.body = wire.BorrowSize(int(h.Length))
	r.have = copy(*r.body, r.buf[r.start:r.end])
	r.start += r.have
	return r.Next()
}

// discard drops what was read of a payload that is skipped.
func (r *Reader) discard() {
	n := min(r.skip, r.end-r.start)
	r.start, r.skip = r.start+n, r.skip-n
}

// reserve makes the buffer one of size at least, with what was read at its
// beginning.
func (r *Reader) reserve(size int) {
	if size <= len(r.buf) {
		return
	}
	grown := len(r.buf)
	for grown < size {
		grown *= 4
	}
	buf := make([]byte, min(grown, maxBuffer))
	r.end = copy(buf, r.buf[r.start:r.end])
	r.buf, r.start = buf, 0
}

// Fill reads once, and waits for it. It returns what the connection returns.
func (r *Reader) Fill() error {
	if r.body != nil {
		n, err := r.src.Read((*r.body)[r.have:])
		r.have += n
		return failed(n, err)
	}
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	room := r.buf[r.end:]
	if r.spare && len(room) > minBuffer {
		room = room[:minBuffer]
	}
	r.spare = false
	n, err := r.src.Read(room)
	r.end += n
	if n == len(room) && r.end == len(r.buf) {
		r.reserve(min(4*len(r.buf), maxBuffer))
	}
	return failed(n, err)
}

// failed returns err unless something was read: it comes again.
func failed(n int, err error) error {
	if n > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// Fork returns a reader that goes on where r is, and leaves the buffer of r to
// the frame that was returned last. It is called between frames; r is not to be
// used any more.
func (r *Reader) Fork() *Reader {
	f := *r
	f.buf = make([]byte, len(r.buf))
	f.start, f.end = 0, copy(f.buf, r.buf[r.start:r.end])
	return &f
}

// Close gives back what a payload that has not come in full holds, and returns
// its size, which Admit was asked for; 0: there is none.
func (r *Reader) Close() int {
	if r.body == nil {
		return 0
	}
	n := len(*r.body)
	wire.Return(r.body)
	r.body = nil
	return n
}
