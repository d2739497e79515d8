package server

import (
	"context"

	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// kvService answers in frames, in short, what is called most: other operations are
// served as package rpc describes them.
type kvService struct{ s *Server }

func (t *kvService) storage() *kvstorage.Storage { return t.s.o.KV }

// directGet is Kv.Get.
func (t *kvService) directGet() *framed.Direct {
	return &framed.Direct{
		Parse: func(sc *framed.Scratch, payload []byte) error { return framed.Parse(payload, &sc.KvGet) },
		Do: func(ctx context.Context, sc *framed.Scratch) (framed.Answer, error) {
			if string(sc.KvGet.GetTenant()) != sc.Tenant { // mostly it is the same
				sc.Tenant = string(sc.KvGet.GetTenant())
			}
			tenant, err := t.s.tenantOf(ctx, sc.Tenant)
			if err != nil {
				return framed.Answer{}, err
			}
			value, i, err := t.storage().Find(ctx, tenant, sc.KvGet.GetKey(), sc.Value[:0])
			if err != nil || !i.Found {
				return framed.Answer{}, err
			}
			if cap(value) <= framed.KeepSmall {
				sc.Value = value
			}
			m := kvwire.FromShort(&i)
			return sc.Single(m.AppendItem(wire.Room(sc.Out))), nil
		},
	}
}

// directPut is Kv.Put.
func (t *kvService) directPut() *framed.Direct {
	return &framed.Direct{
		Parse: func(sc *framed.Scratch, payload []byte) error { return framed.Parse(payload, &sc.KvPut) },
		Do: func(ctx context.Context, sc *framed.Scratch) (framed.Answer, error) {
			i, err := t.put(ctx, &sc.KvPut)
			if err != nil {
				return framed.Answer{}, err
			}
			m := kvwire.FromShort(&i)
			m.Value = nil
			return sc.Single(m.AppendItem(wire.Room(sc.Out))), nil
		},
		Lone: func(sc *framed.Scratch) bool { return sc.KvPut.GetDurability() == stoav1.Durability_DURABILITY_WAL },
	}
}

func (t *kvService) put(ctx context.Context, r *stoav1.KvPutRequest) (kvstorage.Item, error) {
	tenant, err := t.s.tenantOf(ctx, string(r.GetTenant()))
	if err != nil {
		return kvstorage.Item{}, err
	}
	d, err := durability(r.GetDurability())
	if err != nil {
		return kvstorage.Item{}, err
	}
	return t.storage().Put(ctx, tenant, string(r.GetKey()), r.GetValue(), kvstorage.WriteOptions{TTLSeconds: r.TtlSeconds, Durability: d})
}
