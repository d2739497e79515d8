package lock_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
	. "github.com/stoadb/stoa/kv/lock"
)

// owned is a lock as its clients see it: who holds it, by which token (0: a client did not
// hear of it), and the greatest token that there was.
type owned struct {
	agent       string
	token, last uint64
}

// does is what a client does: acquire, release (by its token; 0: whatever it has), or
// write with a token.
type does struct {
	op, agent string
	token     uint64
}

// heard is what comes of it: a token, or whether it was so.
type heard struct {
	unknown bool // nothing: the process died
	ok      bool
	token   uint64
}

var oneLock = porcupine.Model{
	Init: func() any { return owned{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(owned), input.(does), output.(heard)
		mine := s.agent == in.agent && (in.token == 0 || s.token == 0 || s.token == in.token)
		switch in.op {
		case "acquire":
			switch {
			case s.agent == "" || s.agent == in.agent && s.token == 0:
				if out.unknown {
					return true, owned{in.agent, 0, s.last}
				}
				return out.ok && out.token > s.last, owned{in.agent, out.token, max(out.token, s.last)}
			case s.agent == in.agent:
				return out.unknown || out.ok && out.token == s.token, s
			}
			return out.unknown || !out.ok, s
		case "release":
			if mine {
				return out.unknown || out.ok, owned{last: s.last}
			}
			return out.unknown || !out.ok, s
		}
		holds := s.agent != "" && (s.token == in.token || s.token == 0 && in.token > s.last)
		return out.unknown || out.ok == holds, s
	},
}

// linearClient is one of those whose operations are to be linearizable.
type linearClient struct {
	s     *Store
	write func(...Guard) error
	agent string
	token uint64 // of its last grant
}

func (c *linearClient) do(in does) (heard, error) {
	holding := Holding{Name: Task("1"), Agent: in.agent, Token: in.token}
	switch in.op {
	case "acquire":
		g, err := c.s.Acquire(ctx, "t", Request{Name: holding.Name, Agent: in.agent, Durability: engine.WAL})
		if errors.Is(err, ErrHeld) {
			return heard{}, nil
		}
		if err == nil {
			c.token = g.Token
		}
		return heard{ok: err == nil, token: g.Token}, err
	case "release":
		held, err := c.s.Release(ctx, "t", holding, engine.WAL)
		return heard{ok: held}, err
	}
	err := c.write(Guard{holding.Name, in.token})
	if errors.Is(err, ErrFenced) {
		return heard{}, nil
	}
	return heard{ok: err == nil}, err
}

// Grants, releases and guarded writes of one lock are linearizable, also where the process
// dies at a random call of the engine, and another goes on.
func TestA6A7LinearizableWhereverTheProcessDies(t *testing.T) {
	random := rand.New(rand.NewPCG(61, 62))
	for range enginetest.Scale(60) {
		db := mem.New()
		f := faulty.New(db, faulty.Options{At: 1 + random.IntN(60), Fault: faulty.CrashBefore + faulty.Fault(random.IntN(2))})
		clock := kvtest.New()
		var mu sync.Mutex
		var history []porcupine.Operation
		begun := time.Now()
		live := func(db engine.Engine, first int) {
			store, err := kv.Open(db, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				return
			}
			s, err := New(store, Options{Log: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			var wg sync.WaitGroup
			for n := range 5 {
				r := rand.New(rand.NewPCG(random.Uint64(), uint64(n)))
				wg.Go(func() {
					c := &linearClient{s: s, agent: fmt.Sprint("a", n)}
					c.write = func(guards ...Guard) error {
						g, err := s.Guards("t", guards...)
						if err != nil {
							return err
						}
						return db.Update(func(in engine.Getter, b *engine.Batch) error { return g.CheckIn(in.(engine.Reader)) })
					}
					for range 12 {
						in := does{op: []string{"acquire", "acquire", "release", "write"}[r.IntN(4)], agent: c.agent}
						if in.op == "write" || in.op == "release" && r.IntN(2) == 0 {
							in.token = c.token
						}
						if in.op == "write" && in.token == 0 {
							continue
						}
						called := time.Since(begun)
						out, err := c.do(in)
						returned := int64(time.Since(begun))
						if err != nil {
							out, returned = heard{unknown: true}, math.MaxInt64
						}
						mu.Lock()
						history = append(history, porcupine.Operation{ClientId: first + n, Input: in, Call: int64(called), Output: out, Return: returned})
						mu.Unlock()
						if err != nil {
							return // the process has died
						}
					}
				})
			}
			wg.Wait()
			s.Close()
			require.NoError(t, store.Close())
		}
		live(f, 0)
		live(f.Restart(), 5)
		result := porcupine.CheckOperationsTimeout(oneLock, history, time.Minute)
		require.Equal(t, porcupine.Ok, result, "%+v", history)
		require.NoError(t, db.Close())
	}
}

// The judge says no to two that hold the lock at once, and to an old token: else the test
// above would prove nothing.
func TestTheJudgeOfLocksFindsMistakes(t *testing.T) {
	got := func(agent string, token uint64) [2]any {
		return [2]any{does{"acquire", agent, 0}, heard{ok: true, token: token}}
	}
	for name, ops := range map[string][][2]any{
		"two hold it":                {got("a", 1), got("b", 2)},
		"an old token":               {got("a", 5), {does{"release", "a", 0}, heard{ok: true}}, got("b", 4)},
		"a write that is not fenced": {got("a", 5), {does{"release", "a", 0}, heard{ok: true}}, got("b", 6), {does{"write", "a", 5}, heard{ok: true}}},
		"a stranger's release":       {got("a", 5), {does{"release", "b", 0}, heard{ok: true}}},
	} {
		var history []porcupine.Operation
		for i, op := range ops {
			history = append(history, porcupine.Operation{Input: op[0], Output: op[1], Call: int64(2 * i), Return: int64(2*i + 1)})
		}
		require.False(t, porcupine.CheckOperations(oneLock, history), name)
	}
}
