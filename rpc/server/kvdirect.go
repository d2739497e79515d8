package server

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// kvService answers in frames, in short, what is called most: every Get, and a Put with
// durability WAL while nothing else waits on its connection. Other calls, and those over
// gRPC, are served as package rpc describes them (kvGet, kvPut).
type kvService struct{ s *Server }

func (t *kvService) storage() *kvstorage.Storage { return t.s.o.KV }

// directGet is Kv.Get.
func (t *kvService) directGet() *framed.Direct {
	return &framed.Direct{
		Parse: func(sc *framed.Scratch, payload []byte) error { return framed.Parse(payload, &sc.KvGet) },
		Do: func(ctx context.Context, sc *framed.Scratch) (framed.Answer, error) {
			tenant, err := t.s.tenantOf(ctx, sc.TenantName(sc.KvGet.GetTenant()))
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
			return itemAnswer(sc, i)
		},
	}
}

// itemAnswer returns the answer whose only field is what a key has, without the key: that
// is what was asked for.
func itemAnswer(sc *framed.Scratch, i kvstorage.Item) (framed.Answer, error) {
	i.Key = ""
	out, err := proto.MarshalOptions{}.MarshalAppend(wire.Room(sc.Out), kvwire.FromItem(&i))
	if err != nil {
		return framed.Answer{}, err
	}
	return sc.Single(out), nil
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
			i.Value = nil // it is what was sent
			return itemAnswer(sc, i)
		},
		Lone: func(sc *framed.Scratch) bool { return sc.KvPut.GetDurability() == stoav1.Durability_DURABILITY_WAL },
	}
}

func (t *kvService) put(ctx context.Context, r *stoav1.KvPutRequest) (kvstorage.Item, error) {
	tenant, err := t.s.tenantOf(ctx, string(r.GetTenant()))
	if err != nil {
		return kvstorage.Item{}, err
	}
	d, err := op.ParseDurability("durability", r.GetDurability())
	if err != nil {
		return kvstorage.Item{}, err
	}
	if ctx, err = t.s.guarded(ctx, tenant, guardsOf(r.GetGuards())); err != nil {
		return kvstorage.Item{}, err
	}
	return t.storage().Put(ctx, tenant, string(r.GetKey()), r.GetValue(), kvstorage.WriteOptions{TTLSeconds: r.TtlSeconds, Durability: d})
}
