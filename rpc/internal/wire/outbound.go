package wire

import (
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoadb/stoa/column"
)

// Outbound is a message that is put straight to where it goes out from.
type Outbound interface {
	// AppendTo appends the message to dst.
	AppendTo(dst []byte) []byte
}

// Sized is a message that may be long, and says so.
type Sized interface {
	// Size is about how many bytes the message takes, and not less.
	Size() int
}

// Get is a stoav1.GetRequest on its way out, and the answer to it.
type Get struct {
	Column   column.Column
	Key      []byte // not kept
	Snapshot uint64
	Answer   Inbound
}

var gets = sync.Pool{New: func() any { return new(Get) }}

// NewGet returns a Get, to be given back by Free.
func NewGet() *Get { return gets.Get().(*Get) }

// Free gives g back.
func (g *Get) Free() {
	*g = Get{}
	gets.Put(g)
}

// AppendTo appends the message to dst.
func (g *Get) AppendTo(dst []byte) []byte {
	if g.Column != 0 {
		dst = protowire.AppendTag(dst, 1, protowire.VarintType)
		dst = protowire.AppendVarint(dst, uint64(g.Column))
	}
	if len(g.Key) > 0 {
		dst = protowire.AppendTag(dst, 2, protowire.BytesType)
		dst = protowire.AppendBytes(dst, g.Key)
	}
	if g.Snapshot != 0 {
		dst = protowire.AppendTag(dst, 3, protowire.Fixed64Type)
		dst = protowire.AppendFixed64(dst, g.Snapshot)
	}
	return dst
}

// outbound returns m as what is sent, in memory that comes back by itself.
func outbound(m Outbound) mem.BufferSlice {
	b := Borrow()
	*b = m.AppendTo(*b)
	return mem.BufferSlice{mem.NewBuffer(b, &memory)}
}
