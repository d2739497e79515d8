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

// directScan is Store.Scan of few entries, which fit one page.
func (t *storeService) directScan() *framed.Direct {
	return &framed.Direct{
		Parse: func(sc *framed.Scratch, payload []byte) error { return framed.Parse(payload, &sc.Scan) },
		Lone: func(sc *framed.Scratch) bool {
			return sc.Scan.GetLimit() > 0 && sc.Scan.GetLimit() <= wire.FirstPageEntries*wire.PageGrowth
		},
		Do: func(ctx context.Context, sc *framed.Scratch) (framed.Answer, error) {
			v, err := t.s.view(ctx, sc.Scan.GetSnapshot())
			if err != nil {
				return framed.Answer{}, err
			}
			defer v.release()
			all, err := v.open(&sc.Scan)
			if err != nil {
				return framed.Answer{}, err
			}
			defer all.close()
			page, err := all.page()
			if err != nil || page.Count == 0 {
				return framed.Answer{}, err
			}
			more, err := all.page()
			if err == nil && more.Count == 0 {
				return framed.Answer{Large: page.Lend()}, nil
			}
			wire.Return(page.Entries)
			if more.Count > 0 {
				wire.Return(more.Entries)
			}
			return framed.Answer{Long: err == nil}, err
		},
	}
}
