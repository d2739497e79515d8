// Package wire puts messages on the socket and takes them off it. Everything is
// the protobuf of package stoav1; what carries many bytes is copied less often
// than the protobuf library would: pages of scans and answers of reads go out
// as they are, and come in straight to where the caller wants them.
package wire

import (
	"errors"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/rpc/stoav1"
)

// errMessage is returned for what is no message; it is a mistake in the program.
var errMessage = errors.New("wire: not a protobuf message")

// Codec is the encoding.CodecV2 of both ends.
type Codec struct{ buffers mem.BufferPool }

// NewCodec returns a codec with memory of its own. Its tiers are closer than
// those of gRPC's own pool, which gives a megabyte to a message of 33 KiB, and
// have room for what is around a page or a chunk of a blob.
func NewCodec() *Codec {
	return &Codec{buffers: mem.NewTieredBufferPool(
		256, 1<<10, 4<<10, 16<<10, 36<<10, 72<<10, 144<<10, 288<<10, 576<<10, 1<<20+4<<10)}
}

// Name names the encoding, as [encoding.CodecV2] has it.
func (*Codec) Name() string { return "proto" }

// Ready is a message that is encoded already.
type Ready mem.BufferSlice

// Len returns how many bytes the message has.
func (r Ready) Len() int { return mem.BufferSlice(r).Len() }

// Freed returns a message as it was encoded, that calls freed once nobody needs its bytes any
// more. It has a piece of [minPooled] bytes or more; ok is false for one that has none.
func Freed(message mem.BufferSlice, freed func()) (_ mem.BufferSlice, ok bool) {
	for i, piece := range message {
		if data := piece.ReadOnlyData(); len(data) >= minPooled {
			message[i] = mem.NewBuffer(&data, &whenFreed{piece, freed})
			return message, true
		}
	}
	return message, false
}

// minPooled is more than what package mem frees without telling anybody.
const minPooled = 2 << 10

// whenFreed is a pool of one buffer, that it frees in turn.
type whenFreed struct {
	piece mem.Buffer
	freed func()
}

// Get is of no use.
func (*whenFreed) Get(length int) *[]byte { return new(make([]byte, length)) }

// Put frees the buffer, as [mem.BufferPool] has it.
func (w *whenFreed) Put(*[]byte) {
	w.piece.Free()
	w.freed()
}

// minShared is the size from which a value is sent without a copy.
const minShared = 4 << 10

// Marshal is encoding.CodecV2's. Values of a GetResponse and a MultiGetResponse,
// if they are large, are not copied: they must not be changed after.
func (c *Codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case Ready:
		return mem.BufferSlice(m), nil
	case *Page:
		return m.Lend(), nil
	case Outbound:
		return outbound(m), nil
	case *stoav1.MultiGetResponse:
		if len(m.Values) >= minShared {
			return shared(fieldOnly, m.Values), nil
		}
	case *stoav1.GetResponse:
		if len(m.Value) >= minShared {
			return shared(fieldOnly, m.Value), nil
		}
	}
	m, ok := v.(proto.Message)
	if !ok {
		return nil, errMessage
	}
	size := proto.Size(m)
	options := proto.MarshalOptions{UseCachedSize: true}
	if mem.IsBelowBufferPoolingThreshold(size) {
		b, err := options.Marshal(m)
		if err != nil {
			return nil, err
		}
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	b := c.buffers.Get(size)
	if _, err := options.MarshalAppend((*b)[:0], m); err != nil {
		c.buffers.Put(b)
		return nil, err
	}
	return mem.BufferSlice{mem.NewBuffer(b, c.buffers)}, nil
}

// Parser is a message on its way in that takes itself apart.
type Parser interface {
	// Parse decodes a message that came in one piece, of which it keeps nothing.
	Parse(b []byte) error
}

// Unmarshal parses a message, as [encoding.CodecV2] has it.
func (c *Codec) Unmarshal(data mem.BufferSlice, v any) error {
	if in, ok := v.(*Lent); ok {
		return in.unmarshal(data)
	}
	b := data.MaterializeToBuffer(c.buffers)
	defer b.Free()
	if in, ok := v.(Parser); ok {
		return in.Parse(b.ReadOnlyData())
	}
	m, ok := v.(proto.Message)
	if !ok {
		return errMessage
	}
	return proto.Unmarshal(b.ReadOnlyData(), m)
}

// fieldOnly is the field that carries the bytes of a Get, a MultiGet and a page.
const fieldOnly protowire.Number = 1

// shared returns a message of one bytes field, without a copy of b.
func shared(field protowire.Number, b []byte) mem.BufferSlice {
	head := protowire.AppendTag(make([]byte, 0, 16), field, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(b)))
	return mem.BufferSlice{mem.SliceBuffer(head), mem.SliceBuffer(b)}
}
