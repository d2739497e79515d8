package server

import (
	"context"

	"google.golang.org/grpc/mem"

	"github.com/stoadb/stoa/rpc/internal/wire"
)

// direct is how a short call is answered without the generated code, in memory
// that is used again. The request is valid during the call, the answer until
// the next with the same scratch.
type direct struct {
	parse func(*scratch, []byte) error
	do    func(context.Context, *scratch) (answer, error)
	// lone is of a call that is short if it waits for no disk: whether the request
	// that was parsed is such a one. It is answered by the hand if the connection
	// has nothing else to do, which saves handing it over twice. nil: only what
	// frame.Method says counts.
	lone func(*scratch) bool
}

// answer is the message of an answer: bytes that stay the scratch's, or some
// that go to the connection.
type answer struct {
	small []byte
	large mem.BufferSlice
}

// keepSmall is the capacity of the largest memory of an answer that a scratch
// keeps.
const keepSmall = 16 << 10

// directGet is Store.Get.
func (t *storeService) directGet() *direct {
	return &direct{
		parse: func(sc *scratch, payload []byte) error { return parse(payload, &sc.get) },
		do: func(ctx context.Context, sc *scratch) (answer, error) {
			v, err := t.s.view(ctx, sc.get.GetSnapshot())
			if err != nil {
				return answer{}, err
			}
			defer v.release()
			out, found, err := v.append(wire.Room(sc.out), &sc.get)
			if err != nil || !found {
				return answer{}, err
			}
			return sc.single(out), nil
		},
	}
}

// single is the answer whose only field is out, which begins with wire.Room.
func (sc *scratch) single(out []byte) answer {
	if cap(out) > keepSmall {
		return answer{large: mem.BufferSlice{mem.SliceBuffer(wire.Single(out))}}
	}
	sc.out = out
	return answer{small: wire.Single(out)}
}

// directMultiGet is Store.MultiGet.
func (t *storeService) directMultiGet() *direct {
	return &direct{
		parse: func(sc *scratch, payload []byte) error { return parse(payload, &sc.multiGet) },
		do: func(ctx context.Context, sc *scratch) (answer, error) {
			v, err := t.s.view(ctx, sc.multiGet.GetSnapshot())
			if err != nil {
				return answer{}, err
			}
			defer v.release()
			out := wire.Borrow()
			if *out, err = v.appendAll(ctx, *out, &sc.multiGet); err != nil {
				wire.Return(out)
				return answer{}, err
			}
			return answer{large: wire.LendSingle(out)}, nil
		},
	}
}
