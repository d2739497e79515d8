package frame

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Greeting is what the daemon says of itself in its first frame, whose id is 0:
//
//	calls u32 | message u32 | window u32 | methods u16 each | 0 u16 | client window u32
//
// Earlier versions end with the methods, and later ones may append more.
type Greeting struct {
	Calls   uint32   // calls that a connection may have under way
	Message uint32   // the size of the largest message, in bytes
	Window  uint32   // what a stream may send before it is given credit, in bytes
	Methods []uint16 // those that the daemon answers in frames, in order
	// ClientWindow is what a paced stream of a client sends before it is given
	// credit, in bytes; 0: the daemon knows none.
	ClientWindow uint32
}

const (
	greetingFixed = 12
	greetingEnd   = 2 + 4
)

// Append appends the frame of g to dst.
func (g Greeting) Append(dst []byte) []byte {
	dst = Header{Length: uint32(greetingFixed + 2*len(g.Methods) + greetingEnd), Flags: End}.Append(dst)
	dst = binary.LittleEndian.AppendUint32(dst, g.Calls)
	dst = binary.LittleEndian.AppendUint32(dst, g.Message)
	dst = binary.LittleEndian.AppendUint32(dst, g.Window)
	for _, m := range g.Methods {
		dst = binary.LittleEndian.AppendUint16(dst, m)
	}
	dst = binary.LittleEndian.AppendUint16(dst, 0)
	return binary.LittleEndian.AppendUint32(dst, g.ClientWindow)
}

// ParseGreeting reads a greeting from the payload of its frame. It returns
// ErrMalformed.
func ParseGreeting(b []byte) (Greeting, error) {
	if len(b) < greetingFixed {
		return Greeting{}, fmt.Errorf("%w: a greeting of %d bytes", ErrMalformed, len(b))
	}
	g := Greeting{
		Calls:   binary.LittleEndian.Uint32(b),
		Message: binary.LittleEndian.Uint32(b[4:]),
		Window:  binary.LittleEndian.Uint32(b[8:]),
	}
	for b = b[greetingFixed:]; len(b) >= 2; b = b[2:] {
		m := binary.LittleEndian.Uint16(b)
		if m == 0 {
			if len(b) >= greetingEnd {
				g.ClientWindow = binary.LittleEndian.Uint32(b[2:])
			}
			break
		}
		g.Methods = append(g.Methods, m)
	}
	slices.Sort(g.Methods)
	if g.Calls == 0 {
		return g, fmt.Errorf("%w: a greeting that allows no calls", ErrMalformed)
	}
	return g, nil
}

// Has reports whether the daemon answers method m in frames.
func (g *Greeting) Has(m uint16) bool {
	_, ok := slices.BinarySearch(g.Methods, m)
	return ok
}
