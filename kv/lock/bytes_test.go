package lock

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

// What is parsed makes the same bytes, and what is damaged is not parsed, or is another
// state.
func TestStatesComeBack(t *testing.T) {
	enginetest.Check(t, 2000, func(rt *rapid.T) {
		text := rapid.StringN(0, 20, 40)
		s := state{event: EventKind(rapid.IntRange(1, int(EventDowngraded)).Draw(rt, "event")), agent: text.Draw(rt, "agent")}
		n := rapid.IntRange(0, 5).Draw(rt, "holders")
		token := uint64(0)
		for i := range n {
			token += uint64(rapid.IntRange(1, 9).Draw(rt, "token"))
			at := uint64(rapid.IntRange(1, 1<<40).Draw(rt, "acquired"))
			expires := at + uint64(rapid.IntRange(0, 1000).Draw(rt, "expires"))
			s.holders = append(s.holders, holder{token: token, acquired: at, expires: expires, until: expires + uint64(rapid.IntRange(0, 9).Draw(rt, "until")),
				ttl: rapid.Uint32().Draw(rt, "ttl"), heartbeats: rapid.Uint32().Draw(rt, "beats"), agent: string(rune('a'+i)) + text.Draw(rt, "holder"), purpose: text.Draw(rt, "purpose")})
		}
		switch {
		case n == 1:
			s.mode = rapid.SampledFrom([]Mode{Exclusive, Shared}).Draw(rt, "mode")
		case n > 1:
			s.mode = Shared
		}
		b := s.append(nil)
		back, err := parseState("x", b)
		require.NoError(rt, err)
		require.Equal(rt, s, back)
		agents := 0
		for agent := range holdersOf(b) {
			require.Equal(rt, s.holders[agents].agent, string(agent))
			agents++
		}
		require.Equal(rt, n, agents)
		b[rapid.IntRange(0, len(b)-1).Draw(rt, "at")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "by"))
		if rapid.Bool().Draw(rt, "cut") {
			b = b[:rapid.IntRange(0, len(b)).Draw(rt, "to")]
		}
		if back, err := parseState("x", b); err == nil {
			require.Equal(rt, b, back.append(nil))
			require.NotEqual(rt, s, back)
		} else {
			require.ErrorIs(rt, err, engine.ErrCorrupt)
		}
		for range holdersOf(b) { // it ends
			_ = b
		}
	})
}

// The bytes of README.md, by hand.
func TestTheBytesOfALock(t *testing.T) {
	s := state{event: EventQueued, agent: "b", mode: Exclusive, holders: []holder{{token: 1, acquired: 2, expires: 3, until: 4, ttl: 5, heartbeats: 6, agent: "a", purpose: "pp"}}}
	require.Equal(t, []byte("\x01\x06\x01\x01\x00b\x01\x00"+
		"\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00"+
		"\x05\x00\x00\x00\x06\x00\x00\x00\x01\x00a\x02\x00pp"), s.append(nil))
	a := registered{Draining, 7, 9}
	require.Equal(t, []byte("\x01\x02\x07\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00"), a.bytes())
}

func TestTheCheckFindsWhatIsDamaged(t *testing.T) {
	ctx, db, quiet := context.Background(), mem.New(), slog.New(slog.DiscardHandler)
	store, err := kv.Open(db, kv.Options{Clock: kvtest.New(), Log: quiet})
	require.NoError(t, err)
	locks, err := New(store, Options{Log: quiet})
	require.NoError(t, err)
	t.Cleanup(func() {
		locks.Close()
		require.NoError(t, store.Close())
		require.NoError(t, db.Close())
	})
	at := uint64(1_800_000_000_000)
	good := state{event: EventAcquired, agent: "a", mode: Exclusive, holders: []holder{{token: 1, acquired: at, expires: at + 1, until: at + 2, agent: "a"}}}
	expires := kv.PutOptions{Expires: moment(at + 1)}
	shared, future := good, good
	shared.mode = Shared
	future.holders = []holder{{token: 1 << 40, acquired: at, expires: at + 1, until: at + 2, agent: "a"}}
	for name, put := range map[string]struct {
		key   string
		value []byte
		o     kv.PutOptions
	}{
		"":                     {"task:1", good.append(nil), expires},
		"no name":              {"task", good.append(nil), expires},
		"another expiry":       {"task:1", good.append(nil), kv.PutOptions{Expires: moment(at + 2)}},
		"none":                 {"task:1", good.append(nil), kv.PutOptions{}},
		"a shared task":        {"task:1", shared.append(nil), expires},
		"a token to come":      {"task:1", future.append(nil), expires},
		"nobody":               {"task:1", (&state{event: EventReleased}).append(nil), expires},
		"no bytes of a lock":   {"resource:r:1", []byte("x"), expires},
		"no bytes of an agent": {"agent:a", []byte("x"), kv.PutOptions{}},
	} {
		space, err := store.CreateSpace(ctx, "t", kv.SystemLock, spaceName, kv.Quota{})
		require.NoError(t, err)
		_, err = space.Put(ctx, []byte(put.key), put.value, put.o)
		require.NoError(t, err)
		found := 0
		for r, err := range space.All(ctx, nil) {
			require.NoError(t, err)
			if Fault(&r) != "" {
				found++
			}
		}
		require.Equal(t, name != "", found == 1, name)
		if put.key == "resource:r:1" {
			_, err = locks.Acquire(ctx, "t", Request{Name: put.key, Agent: "a"})
			require.ErrorIs(t, err, engine.ErrCorrupt, "it is refused, not overwritten")
		}
		_, err = space.Delete(ctx, []byte(put.key))
		require.NoError(t, err)
	}
}
