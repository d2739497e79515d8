package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc"
)

// asked is an operation on a register of integers, which is absent at first.
type asked struct {
	op, key  string
	n, other int64 // what is put, added, or expected and put instead
}

// told is what the client heard.
type told struct {
	unknown bool // it heard nothing: the daemon died
	there   bool // there is a value, or the swap was made, or there was one to delete
	n       int64
}

// registers is what a tenant with a few keys is, if every operation takes place
// at one moment between its call and its answer.
var registers = porcupine.Model{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		byKey := map[string][]porcupine.Operation{}
		for _, o := range history {
			byKey[o.Input.(asked).key] = append(byKey[o.Input.(asked).key], o)
		}
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return told{} },
	Step: func(state, input, output any) (bool, any) {
		was, in := state.(told), input.(asked)
		next, answer := was, was
		switch in.op {
		case "put":
			next = told{there: true, n: in.n}
			answer = told{there: true}
		case "delete":
			next, answer = told{}, told{there: was.there}
		case "increment":
			next = told{there: true, n: was.n + in.n}
			answer = next
		case "swap":
			if answer = (told{n: was.n}); was.there && was.n == in.n {
				next = told{there: true, n: in.other}
				answer = next
			}
		case "create":
			if answer = (told{n: was.n}); !was.there {
				next = told{there: true, n: in.n}
				answer = next
			}
		}
		return output.(told).unknown || output.(told) == answer, next
	},
}

// ask makes an operation over the socket.
func ask(k *rpc.KV, in asked) (told, error) {
	o := rpc.WithDurability(rpc.WAL)
	digits := func(n int64) []byte { return strconv.AppendInt(nil, n, 10) }
	item := func(i kvstorage.Item, there bool) told {
		n, _ := strconv.ParseInt(string(i.Value), 10, 64)
		return told{there: there, n: n}
	}
	switch in.op {
	case "get":
		i, err := k.Get(context.Background(), in.key)
		if errors.Is(err, rpc.ErrNotFound) {
			err = nil
		}
		return item(i, i.Found), err
	case "put":
		_, err := k.PutJSON(context.Background(), in.key, json.RawMessage(digits(in.n)), o)
		return told{there: true}, err
	case "delete":
		d, err := k.Delete(context.Background(), in.key, o)
		return told{there: d.Existed}, err
	case "increment":
		i, err := k.Increment(context.Background(), in.key, in.n, o)
		return item(i, true), err
	}
	expect, value := kvstorage.Expect{Value: digits(in.n), Strict: true}, in.other
	if in.op == "create" {
		expect, value = kvstorage.Expect{Absent: true}, in.n
	}
	r, err := k.CompareAndSwapJSON(context.Background(), in.key, expect, json.RawMessage(digits(value)), o)
	return item(r.Item, r.Swapped), err
}

// kvHistory is what clients asked and heard.
type kvHistory struct {
	t     *testing.T
	path  string // of the socket
	start time.Time

	mu  sync.Mutex
	ops []porcupine.Operation
}

// newKVHistory returns a history of a daemon that is killed, and the directory that it serves.
func newKVHistory(t *testing.T) (h *kvHistory, dir string) {
	if !hasRocks {
		t.Skip("an engine in memory keeps nothing across a kill")
	}
	dir, err := os.MkdirTemp("", "st")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return &kvHistory{t: t, path: filepath.Join(dir, cli.SocketName), start: time.Now()}, dir
}

// client asks random things until it has asked n, or the daemon has died.
func (h *kvHistory) client(id, n, keys int, f rpc.Framing) error {
	c, err := rpc.Dial(context.Background(), h.path, rpc.WithFraming(f))
	if err != nil {
		return err
	}
	defer c.Close()
	r, k := rand.New(rand.NewPCG(uint64(id), uint64(n))), c.KV("acme")
	kinds := []string{"get", "get", "put", "delete", "increment", "increment", "swap", "create"}
	for range n {
		in := asked{op: kinds[r.IntN(len(kinds))], key: fmt.Sprint("k", r.IntN(keys)), n: r.Int64N(4), other: r.Int64N(4)}
		called := int64(time.Since(h.start))
		out, err := ask(k, in)
		returned := int64(time.Since(h.start))
		if err != nil {
			if in.op == "get" {
				return err
			}
			out, returned = told{unknown: true}, math.MaxInt64
		}
		h.mu.Lock()
		h.ops = append(h.ops, porcupine.Operation{ClientId: id, Input: in, Call: called, Output: out, Return: returned})
		h.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// serveKV runs the daemon until stop, which kills it or has it shut down.
func (h *kvHistory) serveKV(dir string, more ...string) (stop func(kill bool)) {
	cmd := enginetest.EndWithParent(exec.Command("stoa", append([]string{"serve", "--dir", dir, "--cache-size", "8MiB"}, more...)...))
	require.NoError(h.t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	h.t.Cleanup(func() { _ = cmd.Process.Kill() }) // where a step has failed
	require.Eventually(h.t, func() bool {
		c, err := rpc.Dial(context.Background(), h.path)
		if err == nil {
			err = c.Close()
		}
		return err == nil
	}, patience, 10*time.Millisecond)
	return func(kill bool) {
		if kill {
			require.NoError(h.t, cmd.Process.Kill())
			require.Error(h.t, <-ended)
			return
		}
		require.NoError(h.t, cmd.Process.Signal(os.Interrupt))
		require.NoError(h.t, <-ended)
	}
}

// The real daemon is killed in the middle of what 64 clients do to a few
// registers, counters and leases, and started again: what each heard fits one
// order of all operations, of which those that nobody heard of took place at
// some time, or never.
func TestX07LinearizableOverTheSocketAcrossKills(t *testing.T) {
	h, dir := newKVHistory(t)
	const clients, keys, kills = 64, 12, 2
	for round := range kills + 1 {
		stop := h.serveKV(dir)
		n, last := math.MaxInt, round == kills
		if last {
			n = 10
		}
		errs, before := make(chan error, clients), len(h.ops)
		for id := range clients {
			framing := []rpc.Framing{rpc.FramingFrames, rpc.FramingFrames, rpc.FramingGRPC}[id%3]
			go func() { errs <- h.client(round*clients+id, n, keys, framing) }()
		}
		if !last {
			h.await(before + max(enginetest.Scale(4000), 400))
			stop(true)
		}
		for range clients {
			err := <-errs
			require.Equal(t, last, err == nil, "%v", err)
		}
		if last {
			stop(false)
		}
	}
	heard := 0
	for _, o := range h.ops {
		if !o.Output.(told).unknown {
			heard++
		}
	}
	require.Greater(t, heard, clients*10)
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(registers, h.ops, time.Minute))
	out, err := exec.Command("stoa", "verify", "--full", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// await waits until so many operations have been asked.
func (h *kvHistory) await(n int) {
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		h.mu.Lock()
		done := len(h.ops)
		h.mu.Unlock()
		if done >= n {
			return
		}
		require.True(h.t, time.Now().Before(deadline), "the clients stand still")
	}
}

func TestTheJudgeOfRegistersFindsALostUpdate(t *testing.T) {
	increment := asked{op: "increment", key: "k", n: 1}
	ops := []porcupine.Operation{
		{ClientId: 0, Input: increment, Call: 1, Output: told{there: true, n: 1}, Return: 4},
		{ClientId: 1, Input: increment, Call: 2, Output: told{there: true, n: 1}, Return: 3},
	}
	require.Equal(t, porcupine.Illegal, porcupine.CheckOperationsTimeout(registers, ops, time.Minute))
}
