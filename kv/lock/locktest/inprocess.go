package locktest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
)

// InProcess reaches the locks of a host without any socket.
func InProcess(_ testing.TB, h *Host) (Locks, func()) {
	return inProcess{h.Store, h}, func() {}
}

type inProcess struct {
	*lock.Store
	h *Host
}

// Plain is a space of what guarded writes write, which Writes declares.
var Plain = kv.Type{System: kv.SystemTest, Space: "plain"}

// Writes are how a write in process carries guards.
func (p inProcess) Writes() map[string]func(...lock.Guard) error {
	require.NoError(p.h.T, p.h.KV.Declare(Plain))
	space, err := p.h.KV.CreateSpace(ctx, "t", Plain.System, Plain.Space, kv.Quota{})
	require.NoError(p.h.T, err)
	notes, err := record.Parse([]byte(`{"name":"note","id":{"field":"id","kind":"given"},"schema":{"type":"object"}}`))
	require.NoError(p.h.T, err)
	records, err := record.New(p.h.KV, record.Options{}, notes)
	require.NoError(p.h.T, err)
	ways := map[string]func(g *lock.Guarded) error{
		"records": func(g *lock.Guarded) error {
			return records.Do(ctx, "t", engine.WAL, func(tx *record.Tx) error { return g.Check(tx.Work()) })
		},
		"a unit of work": func(g *lock.Guarded) error {
			return space.Update(ctx, engine.WAL, func(tx *kv.Tx) error {
				if _, err := tx.Put([]byte("k"), []byte("v"), kv.PutOptions{}); err != nil {
					return err
				}
				return g.Check(tx.Work())
			})
		},
		"a batch of the engine": func(g *lock.Guarded) error {
			return p.h.DB.Update(func(r engine.Getter, b *engine.Batch) error {
				b.Put(column.State, make([]byte, 64), []byte("v"))
				return g.CheckIn(r.(engine.Reader))
			})
		},
	}
	writes := map[string]func(...lock.Guard) error{}
	for name, way := range ways {
		writes[name] = func(guards ...lock.Guard) error {
			g, err := p.Guards("t", guards...)
			if err != nil {
				return err
			}
			return way(g)
		}
	}
	return writes
}

// Stream reads the stream without any socket.
func (p inProcess) Stream(ctx context.Context, tenant string) ([]event.Entry, error) {
	feed, err := p.h.Events.Find(tenant)
	if err != nil {
		return nil, err
	}
	return feed.Range(ctx, event.Lock, event.RangeOptions{Limit: kv.MaxPage})
}
