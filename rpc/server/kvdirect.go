package server

import (
	"context"

	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// kvService answers in frames, in short, what is called most: other operations are
// served as package rpc describes them.
type kvService struct{ s *Server }

func (t *kvService) storage() *kvstorage.Storage { return t.s.o.KV }

// directGet is Kv.Get.
func (t *kvService) directGet() *direct {
	return &direct{
		parse: func(sc *scratch, payload []byte) error { return parse(payload, &sc.kvGet) },
		do: func(ctx context.Context, sc *scratch) (answer, error) {
			if string(sc.kvGet.GetTenant()) != sc.tenant { // mostly it is the same
				sc.tenant = string(sc.kvGet.GetTenant())
			}
			tenant, err := t.s.tenantOf(ctx, sc.tenant)
			if err != nil {
				return answer{}, err
			}
			value, i, err := t.storage().Find(ctx, tenant, sc.kvGet.GetKey(), sc.value[:0])
			if err != nil || !i.Found {
				return answer{}, err
			}
			if cap(value) <= keepSmall {
				sc.value = value
			}
			m := kvwire.FromShort(&i)
			return sc.single(m.AppendItem(wire.Room(sc.out))), nil
		},
	}
}

// directPut is Kv.Put.
func (t *kvService) directPut() *direct {
	return &direct{
		parse: func(sc *scratch, payload []byte) error { return parse(payload, &sc.kvPut) },
		do: func(ctx context.Context, sc *scratch) (answer, error) {
			i, err := t.put(ctx, &sc.kvPut)
			if err != nil {
				return answer{}, err
			}
			m := kvwire.FromShort(&i)
			m.Value = nil
			return sc.single(m.AppendItem(wire.Room(sc.out))), nil
		},
		lone: func(sc *scratch) bool { return sc.kvPut.GetDurability() == stoav1.Durability_DURABILITY_WAL },
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
