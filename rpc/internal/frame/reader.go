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
	// taken: so many bytes more, of one that has whole in all. A payload that it returns
	// an error for is skipped. nil: all are admitted.
	Admit func(more, whole int) error
	// Release gives back what was admitted of a payload that is skipped even so. It is
	// set if Admit is.
	Release func(size int)
	// Growing has the memory for a payload grow as it comes, from [firstPart] bytes on:
	// who announces much and sends little gets little. Otherwise there is all at once.
	Growing bool

	src        io.Reader
	buf        []byte
	start, end int

	head   Header  // of the payload under way
	body   *[]byte // what of it has room; nil: none is under way
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
		switch whole := int(r.head.Length); {
		case r.have < len(*r.body):
			return Frame{}, false, nil
		case r.have < whole:
			r.grow(whole)
			return r.Next()
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
	whole := int(h.Length)
	first := whole
	if r.Growing {
		first = min(whole, firstPart)
	}
	if r.Admit != nil {
		if r.reason = r.Admit(first, whole); r.reason != nil {
			r.skip = whole
			return r.Next()
		}
	}
	r.body, r.have = wire.BorrowSize(first), 0
	r.take()
	return r.Next()
}

// firstPart is how many bytes a payload that grows has room for at first, and growth how many
// times more it has when that is full: what is copied is a third of the payload.
const (
	firstPart = 256 << 10
	growth    = 4
)

// take takes what was read of the payload under way.
func (r *Reader) take() {
	n := copy((*r.body)[r.have:], r.buf[r.start:r.end])
	r.have, r.start = r.have+n, r.start+n
}

// grow makes room for more of the payload under way, or has the rest be skipped.
func (r *Reader) grow(whole int) {
	size := min(growth*len(*r.body), whole)
	full := r.body
	if r.Admit != nil {
		r.reason = r.Admit(size-len(*full), whole)
	}
	if r.reason != nil {
		r.body, r.skip = nil, whole-r.have
		r.Release(len(*full))
	} else {
		r.body = wire.BorrowSize(size)
		copy(*r.body, *full)
		r.take()
	}
	wire.Return(full)
}

// Partial reports whether a frame has begun that is not all there. It is asked when Next
// has returned none.
func (r *Reader) Partial() bool { return r.body != nil || r.reason != nil || r.end > r.start }

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
