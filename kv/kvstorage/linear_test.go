package kvstorage

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strconv"
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
)

// asked is an operation on a register of integers, which is absent at first.
type asked struct {
	op       string // get, put, delete, increment, swap, create
	key      string
	n, other int64 // what is put, added, or expected and put instead
}

// told is what the client heard.
type told struct {
	unknown bool // it heard nothing: the process died
	there   bool // there is a value, or the swap was made, or there was one to delete
	n       int64
}

type register struct {
	there bool
	n     int64
}

func (r register) step(in asked) (register, told) {
	switch in.op {
	case "put":
		return register{true, in.n}, told{there: true, n: in.n}
	case "delete":
		return register{}, told{there: r.there}
	case "increment":
		return register{true, r.n + in.n}, told{there: true, n: r.n + in.n}
	case "swap":
		if r.there && r.n == in.n {
			return register{true, in.other}, told{there: true, n: in.other}
		}
		return r, told{n: r.n}
	case "create":
		if !r.there {
			return register{true, in.n}, told{there: true, n: in.n}
		}
		return r, told{n: r.n}
	}
	return r, told{there: r.there, n: r.n}
}

var registers = porcupine.Model{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		byKey := map[string]int{}
		for _, o := range history {
			key := o.Input.(asked).key
			if _, ok := byKey[key]; !ok {
				byKey[key] = len(parts)
				parts = append(parts, nil)
			}
			parts[byKey[key]] = append(parts[byKey[key]], o)
		}
		return parts
	},
	Init: func() any { return register{} },
	Step: func(state, input, output any) (bool, any) {
		next, heard := state.(register).step(input.(asked))
		return output.(told).unknown || output.(told) == heard, next
	},
}

// ask makes an operation of tenant t.
func ask(s *Storage, in asked) (out told, err error) {
	o := WriteOptions{Durability: engine.WAL}
	digits := func(n int64) []byte { return strconv.AppendInt(nil, n, 10) }
	item := func(i Item, there bool) told {
		n, _ := strconv.ParseInt(string(i.Value), 10, 64)
		return told{there: there, n: n}
	}
	switch in.op {
	case "get":
		i, err := s.Get(ctx, "t", in.key)
		return item(i, i.Found), err
	case "put":
		i, err := s.Put(ctx, "t", in.key, digits(in.n), o)
		return item(i, true), err
	case "delete":
		d, err := s.Delete(ctx, "t", in.key, o)
		return told{there: d.Existed}, err
	case "increment":
		i, err := s.Increment(ctx, "t", in.key, in.n, o)
		return item(i, true), err
	}
	expect, value := Expect{Value: digits(in.n)}, in.other
	if in.op == "create" {
		expect, value = Expect{Absent: true}, in.n
	}
	r, err := s.CompareAndSwap(ctx, "t", in.key, expect, digits(value), o)
	return item(r.Item, r.Swapped), err
}

// history is what clients asked and heard.
type history struct {
	mu    sync.Mutex
	start time.Time
	ops   []porcupine.Operation
}

func (h *history) now() int64 { return int64(time.Since(h.start)) }

// client asks random things of a few keys until it has asked n, or the process
// has died.
func (h *history) client(s *Storage, id, n, keys int) {
	r := rand.New(rand.NewPCG(uint64(id), uint64(n)))
	for range n {
		in := asked{op: []string{"get", "get", "put", "delete", "increment", "increment", "swap", "create"}[r.IntN(8)],
			key: fmt.Sprint("k", r.IntN(keys)), n: r.Int64N(4), other: r.Int64N(4)}
		called := h.now()
		out, err := ask(s, in)
		returned := h.now()
		if err != nil {
			if in.op == "get" {
				return
			}
			out, returned = told{unknown: true}, math.MaxInt64
		}
		h.mu.Lock()
		h.ops = append(h.ops, porcupine.Operation{ClientId: id, Input: in, Call: called, Output: out, Return: returned})
		h.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (h *history) clients(s *Storage, from, clients, n, keys int) {
	var wg sync.WaitGroup
	for id := from; id < from+clients; id++ {
		wg.Go(func() { h.client(s, id, n, keys) })
	}
	wg.Wait()
}

func (h *history) judge(t *testing.T) {
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(registers, h.ops, time.Minute))
}

func TestX07LinearizableUnderConcurrency(t *testing.T) {
	h := newHost(t, Options{})
	what := &history{start: time.Now()}
	what.clients(h.Storage, 0, 16, enginetest.Scale(500), 8)
	require.Len(t, what.ops, 16*enginetest.Scale(500))
	what.judge(t)
}

// The process dies in the middle, and another goes on: an operation that nobody
// heard of took place at some time, or never.
func TestX07LinearizableAcrossADeath(t *testing.T) {
	seed := rand.New(rand.NewPCG(21, 22))
	for round := range enginetest.Scale(20) {
		db := mem.New()
		what := &history{start: time.Now()}
		f := faulty.New(db, faulty.Options{At: 20 + seed.IntN(60), Fault: faulty.CrashBefore + faulty.Fault(round%2)})
		one := open(t, f)
		what.clients(one.Storage, 0, 8, 40, 2)
		require.NoError(t, one.store.Close())
		two := open(t, f.Restart())
		what.clients(two.Storage, 8, 8, 20, 2)
		what.judge(t)
		require.NoError(t, two.store.Close())
		require.NoError(t, db.Close())
	}
}

func open(t *testing.T, db engine.Engine) *host {
	store, err := kv.Open(db, kv.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s, err := New(store, Options{})
	require.NoError(t, err)
	return &host{t, db, nil, store, s}
}

// A model that is asked whether a history with a lost update is linearizable
// says no: else the tests above would hold nothing.
func TestTheJudgeFindsALostUpdate(t *testing.T) {
	ops := []porcupine.Operation{
		{ClientId: 0, Input: asked{op: "increment", key: "k", n: 1}, Call: 1, Output: told{there: true, n: 1}, Return: 4},
		{ClientId: 1, Input: asked{op: "increment", key: "k", n: 1}, Call: 2, Output: told{there: true, n: 1}, Return: 3},
	}
	require.Equal(t, porcupine.Illegal, porcupine.CheckOperationsTimeout(registers, ops, time.Minute))
}
