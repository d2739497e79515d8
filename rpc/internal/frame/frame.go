// Package frame is the small framing of the protocol, STO1: the messages of
// gRPC behind a header of 19 bytes, on the same socket. Header is the format,
// Reader takes frames off a connection, Writer puts them on it. README.md of package rpc describes it for clients in other
// languages.
//
// Start at Header.
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Magic is what a framed connection begins with, in both directions. HTTP/2
// begins with "PRI ".
const Magic = "STO1"

// Sizes, in bytes.
const (
	// HeaderSize is the size of a header.
	HeaderSize = 19
	// MaxPayload is the largest payload, and the largest message over gRPC: a batch, and
	// room for what is around it.
	MaxPayload = 33 << 20
	// Window is how many bytes of messages a stream sends before it waits for
	// credit. The message that exceeds it is still sent.
	Window = 1 << 20
	// PerMessage is what a message of a paced stream counts beside its payload, so
	// that empty ones are not without number.
	PerMessage = 256
)

// Errors of frames.
var (
	// ErrMalformed is returned for bytes that are no frame. The connection is of
	// no use any more.
	ErrMalformed = errors.New("frame: malformed")
	// ErrTooLarge is returned for a frame that announces more than MaxPayload.
	ErrTooLarge = errors.New("frame: too large")
)

// Flags say what a frame is. Without any it is a message, and more follow.
type Flags uint8

// The flags. Cancel and Credit stand alone; Error goes with End.
const (
	// End: nothing follows in this direction. The frame carries the message of a
	// call that has one only; that of a stream of messages is empty.
	End Flags = 1 << iota
	// Error: the call has failed; the payload is a google.rpc.Status.
	Error
	// Cancel: nobody waits for the call any more. There is no payload.
	Cancel
	// Credit: the stream may send as many bytes more as the payload, a u32, says.
	Credit
	// Paced: in the first frame of a client's stream. Its messages wait for credit,
	// each of which counts PerMessage bytes beside its payload.
	Paced

	known = End | Error | Cancel | Credit | Paced
)

// Header stands before each payload. All numbers are little-endian:
//
//	length u32 | id u64 | method u16 | flags u8 | deadline u32
type Header struct {
	Length   uint32 // of the payload, in bytes
	ID       uint64 // of the call, chosen by the client; 0: the connection's own
	Method   uint16 // of the call; 0 in all frames but its first
	Flags    Flags
	Deadline uint32 // milliseconds that the call may take; 0: it does not say
}

// Append appends h to dst.
func (h Header) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, h.Length)
	dst = binary.LittleEndian.AppendUint64(dst, h.ID)
	dst = binary.LittleEndian.AppendUint16(dst, h.Method)
	dst = append(dst, byte(h.Flags))
	return binary.LittleEndian.AppendUint32(dst, h.Deadline)
}

// Parse reads a header from the first HeaderSize bytes of b. It returns
// ErrMalformed and ErrTooLarge.
func Parse(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, fmt.Errorf("%w: a header of %d bytes", ErrMalformed, len(b))
	}
	h := Header{
		Length:   binary.LittleEndian.Uint32(b),
		ID:       binary.LittleEndian.Uint64(b[4:]),
		Method:   binary.LittleEndian.Uint16(b[12:]),
		Flags:    Flags(b[14]),
		Deadline: binary.LittleEndian.Uint32(b[15:]),
	}
	return h, h.check()
}

func (h Header) check() error {
	switch {
	case h.Flags&^known != 0:
		return fmt.Errorf("%w: flags %#02x", ErrMalformed, uint8(h.Flags))
	case h.Flags&Cancel != 0 && (h.Flags != Cancel || h.Length != 0):
		return fmt.Errorf("%w: a cancellation with other flags or a payload", ErrMalformed)
	case h.Flags&Credit != 0 && (h.Flags != Credit || h.Length != 4):
		return fmt.Errorf("%w: credit with other flags or without its number", ErrMalformed)
	case h.Flags&Error != 0 && h.Flags != Error|End:
		return fmt.Errorf("%w: an error that does not end", ErrMalformed)
	case h.Flags&Paced != 0 && h.Method == 0:
		return fmt.Errorf("%w: a stream that is paced from its middle on", ErrMalformed)
	case h.Length > MaxPayload:
		return fmt.Errorf("%w: %d bytes announced, at most %d", ErrTooLarge, h.Length, MaxPayload)
	}
	return nil
}
