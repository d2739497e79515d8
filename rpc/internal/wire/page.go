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

// Return gives back a buffer that was not sent.
func Return(b *[]byte) { memory.Put(b) }

// Get is mem.BufferPool's.
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

// Put is mem.BufferPool's.
func (p *Pages) Put(b *[]byte) {
	if cap(*b) <= keepPage {
		p.pool.Put(b)
	}
}

// marshal lends the entries to the message that it returns.
func (m *Page) marshal() mem.BufferSlice {
	head := make([]byte, 0, 24)
	head = protowire.AppendTag(head, 2, protowire.VarintType)
	head = protowire.AppendVarint(head, uint64(m.Count))
	head = protowire.AppendTag(head, fieldOnly, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(*m.Entries)))
	return mem.BufferSlice{mem.SliceBuffer(head), mem.NewBuffer(m.Entries, &memory)}
}
