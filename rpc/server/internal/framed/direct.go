package framed

import (
	"context"

	"google.golang.org/grpc/mem"

	"github.com/stoadb/stoa/rpc/internal/wire"
)

// Direct is how a short call is answered without the generated code, in memory
// that is used again: a unary one, or a stream of one answer at most. The request is valid during the call, the answer until
// the next with the same Scratch.
type Direct struct {
	Parse func(*Scratch, []byte) error
	Do    func(context.Context, *Scratch) (Answer, error)
	// Lone is of a call that is short if it waits for no disk: whether the request
	// that was parsed is such a one. It is answered by the hand if the connection
	// has nothing else to do, which saves handing it over twice. nil: only what
	// op.Method says counts.
	Lone func(*Scratch) bool
}

// Answer is the message of an answer: bytes that stay the Scratch's, or some
// that go to the connection. A stream whose answer has neither ends without one.
type Answer struct {
	Small []byte
	Large mem.BufferSlice
	// Long is of a stream that turned out to have more than one answer: it is begun anew
	// as one, and so are those that come after it on its connection.
	Long bool
}

// KeepSmall is the capacity of the largest memory of an answer that a Scratch
// keeps.
const KeepSmall = 16 << 10

// Single is the answer whose only field is out, which begins with wire.Room.
func (sc *Scratch) Single(out []byte) Answer {
	if cap(out) > KeepSmall {
		return Answer{Large: mem.BufferSlice{mem.SliceBuffer(wire.Single(out))}}
	}
	sc.Out = out
	return Answer{Small: wire.Single(out)}
}
