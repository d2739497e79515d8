package wire

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// Lent is a stoav1.ScanResponse on its way in, whose entries stay in the memory
// that they came in. It is used for page after page.
type Lent struct {
	Entries []byte // valid until the next page, or Free
	Count   uint32
	// Slot is where the entries lie instead, from 1 on, and SlotBytes how many bytes they
	// take; 0: nowhere.
	Slot, SlotBytes uint32

	memory *[]byte // nil: nothing is held
}

// Take decodes the message that is in b, borrowed memory, and keeps b.
func (l *Lent) Take(b *[]byte) error {
	l.Free()
	l.memory = b
	return l.parse(*b)
}

// Free gives back what is held.
func (l *Lent) Free() {
	if l.memory != nil {
		Return(l.memory)
	}
	*l = Lent{}
}

// parse sets the fields from b, of which Entries become a part.
func (l *Lent) parse(b []byte) error {
	f := fields{rest: b}
	for f.next() {
		switch {
		case f.is(fieldOnly, protowire.BytesType):
			l.Entries = f.bytes
		case f.is(2, protowire.VarintType):
			l.Count = uint32(f.value)
		case f.is(4, protowire.VarintType):
			l.Slot = uint32(f.value)
		case f.is(5, protowire.VarintType):
			l.SlotBytes = uint32(f.value)
		}
	}
	return f.err
}

// unmarshal copies a message that came in another's memory.
func (l *Lent) unmarshal(data mem.BufferSlice) error {
	b := BorrowSize(data.Len())
	data.CopyTo(*b)
	return l.Take(b)
}
