package lock

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/record"
)

// ways are how a write carries a guard.
func (h *host) ways() map[string]func(...Guard) error {
	plain := kv.Type{System: kv.SystemTest, Space: "plain"}
	require.NoError(h.t, h.kv.Declare(plain))
	space, err := h.kv.CreateSpace(ctx, "t", kv.SystemTest, "plain", kv.Quota{})
	require.NoError(h.t, err)
	notes, err := record.Parse([]byte(`{"name":"note","id":{"field":"id","kind":"given"},"schema":{"type":"object"}}`))
	require.NoError(h.t, err)
	records, err := record.New(h.kv, record.Options{}, notes)
	require.NoError(h.t, err)
	return map[string]func(...Guard) error{
		"records": func(guards ...Guard) error {
			g, err := h.Guards("t", guards...)
			if err != nil {
				return err
			}
			return records.Do(ctx, "t", engine.WAL, func(tx *record.Tx) error { return g.Check(tx.Work()) })
		},
		"a unit of work": func(guards ...Guard) error {
			g, err := h.Guards("t", guards...)
			if err != nil {
				return err
			}
			return space.Update(ctx, engine.WAL, func(tx *kv.Tx) error {
				if _, err := tx.Put([]byte("k"), []byte("v"), kv.PutOptions{}); err != nil {
					return err
				}
				return g.Check(tx.Work())
			})
		},
		"a batch of the engine": func(guards ...Guard) error {
			g, err := h.Guards("t", guards...)
			if err != nil {
				return err
			}
			return h.db.Update(func(r engine.Getter, b *engine.Batch) error {
				b.Put(column.State, make([]byte, 64), []byte("v"))
				return g.CheckIn(r.(engine.Reader))
			})
		},
	}
}

func TestA7WritesWithATokenThatIsNotThePresentOneAreFenced(t *testing.T) {
	h := newHost(t)
	for name, write := range h.ways() {
		t.Run(name, func(t *testing.T) {
			lock := Resource("way", name)
			fenced := func(token uint64, now uint64) {
				t.Helper()
				var e *Error
				require.ErrorAs(t, write(Guard{lock, token}), &e)
				require.Equal(t, CodeFenced, e.Code)
				require.Equal(t, now, e.Token)
			}
			fenced(1, 0)
			first := h.acquire("a", lock, Exclusive)
			require.NoError(t, write(Guard{lock, first.Token}))
			fenced(first.Token+1, first.Token)
			h.clock.Pass(30 * time.Second)
			fenced(first.Token, 0)
			second := h.acquire("b", lock, Exclusive)
			fenced(first.Token, second.Token)
			require.NoError(t, write(Guard{lock, second.Token}))
			down, err := h.Downgrade(ctx, "t", Holding{Name: lock, Agent: "b"}, engine.WAL)
			require.NoError(t, err)
			fenced(second.Token, down.Token)
			third := h.acquire("c", lock, Shared)
			require.NoError(t, write(Guard{lock, down.Token}, Guard{lock, third.Token}))
			h.release("b", lock)
			fenced(down.Token, third.Token)
			require.NoError(t, write(Guard{lock, third.Token}))
			h.release("c", lock)
			fenced(third.Token, 0)
			require.NoError(t, write())
		})
	}
	_, err := h.Guards("t", Guard{"nonsense", 1})
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = h.Guards("t", Guard{Task("1"), 0})
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = h.Guards("t", make([]Guard, MaxGuards+1)...)
	require.ErrorIs(t, err, ErrTooMany)
}

// Nothing of a write that is fenced is there.
func TestA7AFencedWriteLeavesNothing(t *testing.T) {
	h := newHost(t)
	write := h.ways()["a unit of work"]
	require.ErrorIs(t, write(Guard{Task("1"), 7}), ErrFenced)
	space, err := h.kv.Space("t", kv.SystemTest, "plain")
	require.NoError(t, err)
	_, err = space.Get([]byte("k"))
	require.True(t, errors.Is(err, kv.ErrNotFound))
}

func TestAGuardOfATenantThatIsGone(t *testing.T) {
	h := newHost(t)
	g := h.acquire("a", Task("1"), Exclusive)
	write := h.ways()["a unit of work"]
	require.NoError(t, write(Guard{Task("1"), g.Token}))
	_, err := h.kv.DropTenant(ctx, "t")
	require.NoError(t, err)
	write = h.ways()["a unit of work"]
	require.ErrorIs(t, write(Guard{Task("1"), g.Token}), ErrFenced)
}
