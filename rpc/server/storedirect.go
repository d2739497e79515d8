package server

import (
	"context"

	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
)

// directGet is Store.Get.
func (t *storeService) directGet() *framed.Direct {
	return &framed.Direct{
		Parse: func(sc *framed.Scratch, payload []byte) error { return framed.Parse(payload, &sc.Get) },
		Do: func(ctx context.Context, sc *framed.Scratch) (framed.Answer, error) {
			v, err := t.s.view(ctx, sc.Get.GetSnapshot())
			if err != nil {
				return framed.Answer{}, err
			}
			defer v.release()
			out, found, err := v.append(wire.Room(sc.Out), &sc.Get)
			if err != nil || !found {
				return framed.Answer{}, err
			}
			return sc.Single(out), nil
		},
	}
}

// directMultiGet is Store.MultiGet.
func (t *storeService) directMultiGet() *framed.Direct {
	return &framed.Direct{
		Parse: func(sc *framed.Scratch, payload []byte) error { return framed.Parse(payload, &sc.MultiGet) },
		Do: func(ctx context.Context, sc *framed.Scratch) (framed.Answer, error) {
			v, err := t.s.view(ctx, sc.MultiGet.GetSnapshot())
			if err != nil {
				return framed.Answer{}, err
			}
			defer v.release()
			out := wire.Borrow()
			if *out, err = v.appendAll(ctx, *out, &sc.MultiGet); err != nil {
				wire.Return(out)
				return framed.Answer{}, err
			}
			return framed.Answer{Large: wire.LendSingle(out)}, nil
		},
	}
}
