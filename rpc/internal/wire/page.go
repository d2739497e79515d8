package wire

import (
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// Page is a stoav1.ScanResponse on its way out. Its memory is lent to gRPC when
// it is sent, and comes back to Pages by itself.
type Page struct {
	Entries *[]byte // from Pages
	Count   uint32
}

// Pages lends the memory of pages.
type Pages struct{ pool sync.Pool }

// keepPage is the capacity of the largest buffer that is kept.
const keepPage = 1 << 20

// memory lends pages to all servers of the process.
var memory Pages

// Borrow returns an empty buffer for the entries of a page.
func Borrow() *[]byte { return memory.Get(0) }

// BorrowUpTo is Borrow for a page of about most bytes: it holds no more than twice as
// much.
func BorrowUpTo(most int) *[]byte {
	b := memory.Get(0)
	if cap(*b) > 2*most {
		*b = nil
	}
	return b
}

// BorrowSize returns a buffer of size bytes, whatever they are.
func BorrowSize(size int) *[]byte { return memory.Get(size) }

// Return gives back a buffer that was not sent.
func Return(b *[]byte) { memory.Put(b) }

// Get returns a buffer of a length, as [mem.BufferPool] has it.
func (p *Pages) Get(size int) *[]byte {
	b, _ := p.pool.Get().(*[]byte)
	if b == nil {
		b = new([]byte)
	}
	if cap(*b) < size {
		*b = make([]byte, size)
	}
	*b = (*b)[:size]
	return b
}

// Put takes a buffer back, as [mem.BufferPool] has it.
func (p *Pages) Put(b *[]byte) {
	if cap(*b) <= keepPage {
		p.pool.Put(b)
	}
}

// Lend lends the entries to the message that it returns.
func (m *Page) Lend() mem.BufferSlice {
	head := make([]byte, 0, 24)
	head = protowire.AppendTag(head, 2, protowire.VarintType)
	head = protowire.AppendVarint(head, uint64(m.Count))
	head = protowire.AppendTag(head, fieldOnly, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(*m.Entries)))
	return mem.BufferSlice{mem.SliceBuffer(head), mem.NewBuffer(m.Entries, &memory)}
}

// room is what the tag and the length of a message of one bytes field take.
const room = 6

// Room returns b emptied, with room before its content for Single.
func Room(b []byte) []byte { return append(b[:0], make([]byte, room)...) }

// Single returns the message whose only field is the content of b, which begins
// with Room. It is a part of b.
func Single(b []byte) []byte {
	var head [room]byte
	h := singleHead(head[:0], len(b)-room)
	start := room - len(h)
	copy(b[start:], h)
	return b[start:]
}

// LendSingle returns the message whose only field is the content of b, which was
// borrowed and comes back by itself.
func LendSingle(b *[]byte) mem.BufferSlice {
	return mem.BufferSlice{mem.SliceBuffer(singleHead(make([]byte, 0, room), len(*b))), mem.NewBuffer(b, &memory)}
}

func singleHead(dst []byte, size int) []byte {
	dst = protowire.AppendTag(dst, fieldOnly, protowire.BytesType)
	return protowire.AppendVarint(dst, uint64(size))
}
