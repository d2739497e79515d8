package wire

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// errInbound is returned for bytes that are no message.
var errInbound = errors.New("wire: malformed message")

// Inbound is a stoav1.GetResponse, MultiGetResponse or ScanResponse on its way
// in. Its bytes are appended to Data.
type Inbound struct {
	Data  []byte // set before; grown
	Found bool   // the message has bytes, maybe none
	Count uint32 // of a page
	End   bool   // of a page
}

// unmarshal takes the fields that an Inbound has, and skips others. A bytes
// field that comes twice counts the last time, as in all protobuf.
func (in *Inbound) unmarshal(data mem.BufferSlice) error {
	in.Found, in.Count, in.End = false, 0, false
	start := len(in.Data)
	r := data.Reader()
	defer r.Close()
	for r.Remaining() > 0 {
		tag, err := uvarint(r)
		if err != nil {
			return err
		}
		field, typ := protowire.DecodeTag(tag)
		if !field.IsValid() {
			return fmt.Errorf("%w: field %d", errInbound, field)
		}
		switch {
		case field == fieldOnly && typ == protowire.BytesType:
			in.Data, err = appendBytes(in.Data[:start], r)
			in.Found = true
		case typ == protowire.VarintType:
			err = in.number(field, r)
		default:
			err = skip(typ, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (in *Inbound) number(field protowire.Number, r *mem.Reader) error {
	n, err := uvarint(r)
	switch field {
	case 2:
		in.Count = uint32(n)
	case 3:
		in.End = n != 0
	}
	return err
}

func appendBytes(dst []byte, r *mem.Reader) ([]byte, error) {
	n, err := length(r)
	if err != nil {
		return dst, err
	}
	at := len(dst)
	dst = slices.Grow(dst, n)[:at+n]
	_, err = io.ReadFull(r, dst[at:])
	return dst, err
}

// length reads the length of a field that is there in full.
func length(r *mem.Reader) (int, error) {
	n, err := uvarint(r)
	if err != nil {
		return 0, err
	}
	if n > math.MaxInt32 || int(n) > r.Remaining() {
		return 0, fmt.Errorf("%w: %d bytes announced, %d left", errInbound, n, r.Remaining())
	}
	return int(n), nil
}

// skip skips a field that this version does not know.
func skip(typ protowire.Type, r *mem.Reader) error {
	n := 0
	switch typ {
	case protowire.Fixed32Type:
		n = 4
	case protowire.Fixed64Type:
		n = 8
	case protowire.BytesType:
		var err error
		if n, err = length(r); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%w: wire type %d", errInbound, typ)
	}
	if n > r.Remaining() {
		return fmt.Errorf("%w: cut short", errInbound)
	}
	_, err := r.Discard(n)
	return err
}

func uvarint(r *mem.Reader) (n uint64, err error) {
	for shift := uint(0); shift < 64; shift += 7 {
		b, err := r.ReadByte()
		if err != nil {
			return 0, fmt.Errorf("%w: cut short", errInbound)
		}
		if shift == 63 && b > 1 {
			break
		}
		n |= uint64(b&0x7F) << shift
		if b < 0x80 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: a number of more than 64 bits", errInbound)
}
