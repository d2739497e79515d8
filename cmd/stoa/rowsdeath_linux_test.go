package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/rpc"
)

// rowOp is an operation of a client on a row of State.
type rowOp struct {
	Key          int
	Put          bool
	Value        uint64 // what was put, or read; 0: there is no row
	Unknown      bool   // whether it was put nobody knows
	Shared       bool   // the client had shared rows
	Call, Return int64  // by the monotonic clock of the machine
}

// rowModel is a row.
var rowModel = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, _, output any) (bool, any) {
		op := output.(rowOp)
		if op.Put {
			return true, op.Value
		}
		return state.(uint64) == op.Value, state
	},
}

const rowKeys = 3

func init() { commands["stoa-rows-client"] = rowsClient }

// rowsClient is a process that reads and writes rows, and prints what it did, a line each.
// Its arguments are the socket, its number, how many operations it does, and whether it wants
// shared rows.
func rowsClient() {
	enginetest.EndThisWithParent()
	id, _ := strconv.ParseUint(os.Args[2], 10, 64)
	n, _ := strconv.Atoi(os.Args[3])
	var with []rpc.Option
	if os.Args[4] == "apart" {
		with = append(with, rpc.WithoutSharedRows())
	}
	c, err := rpc.Dial(context.Background(), os.Args[1], with...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s, random, out := c.Store(context.Background()), rand.New(rand.NewPCG(id, 0)), bufio.NewWriter(os.Stdout)
	key := func(i int) []byte { return append(make([]byte, 32), strconv.Itoa(i)...) }
	for range 200 { // so that rows are asked for
		_, _ = s.Get(nil, column.State, key(rowKeys))
	}
	for tried, done := uint64(1), 0; done < n; tried++ {
		op := rowOp{Key: random.IntN(rowKeys), Put: random.IntN(4) == 0 && err == nil, Value: id<<32 | tried, Shared: c.SharesRows()}
		for i := 0; i < 200 && op.Shared; i++ { // so that it is most often here that it is stopped
			_, _ = s.Get(nil, column.State, key(op.Key))
		}
		op.Call = monotonic()
		if op.Put {
			var b engine.Batch
			b.Put(column.State, key(op.Key), binary.LittleEndian.AppendUint64(nil, op.Value))
			err = s.Apply(&b)
		} else {
			var v []byte
			v, err = s.Get(nil, column.State, key(op.Key))
			if op.Value = 0; err == nil {
				op.Value = binary.LittleEndian.Uint64(v)
			}
		}
		op.Return = monotonic()
		if errors.Is(err, engine.ErrNotFound) {
			err = nil
		}
		failed := err != nil // nothing is put until something is read again
		op.Unknown = failed && op.Put
		if !failed || op.Put {
			line, _ := json.Marshal(op)
			out.Write(append(line, '\n'))
		}
		if failed {
			out.Flush()
			time.Sleep(time.Millisecond) // until the daemon is there again
		} else if done++; done%50 == 0 {
			out.Flush()
		}
	}
	out.Flush()
	c.Close()
}

func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

// TestReadsOfSharedRowsAreLinearizableAcrossKills has processes read and write the same rows,
// through shared memory and through the socket, while the daemon is killed and started again.
// One of them stands still from before the kill until the next daemon has written: it goes on
// with what it had.
func TestReadsOfSharedRowsAreLinearizableAcrossKills(t *testing.T) {
	h, dir := newKVHistory(t)
	stop := h.serveKV(dir, "--raw")
	each := max(enginetest.Scale(6000), 600)
	var clients []*rowsProcess
	for id, how := range []string{"shared", "shared", "shared", "apart"} {
		clients = append(clients, startRowsClient(t, h.path, id+1, each, how))
	}
	for kill := range 2 {
		clients[3].await(t, each*(kill+1)/4)
		still := clients[kill].cmd.Process
		require.NoError(t, still.Signal(syscall.SIGSTOP))
		stop(true)
		stop = h.serveKV(dir, "--raw")
		clients[3].await(t, clients[3].count()+50)
		require.NoError(t, still.Signal(syscall.SIGCONT))
	}
	byKey := make([][]porcupine.Operation, rowKeys)
	shared := 0
	for i, c := range clients {
		for _, op := range c.end(t) {
			if op.Shared && !op.Put {
				shared++
			}
			if op.Unknown {
				op.Return = math.MaxInt64
			}
			byKey[op.Key] = append(byKey[op.Key], porcupine.Operation{ClientId: i, Output: op, Call: op.Call, Return: op.Return})
		}
	}
	stop(false)
	require.Greater(t, shared, each/10, "reads with shared rows")
	for key, ops := range byKey {
		require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(rowModel, ops, time.Minute), "row %d, %d operations", key, len(ops))
	}
}

// rowsProcess is a process that is rowsClient.
type rowsProcess struct {
	cmd   *exec.Cmd
	lines chan string // closed at its end
	ops   []rowOp
	errs  strings.Builder
}

func startRowsClient(t *testing.T, socket string, id, n int, how string) *rowsProcess {
	p := &rowsProcess{cmd: enginetest.EndWithParent(exec.Command("stoa-rows-client", socket, strconv.Itoa(id), strconv.Itoa(n), how)), lines: make(chan string, n)}
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.cmd.Stderr = &p.errs
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // where a step has failed
	go func() {
		defer close(p.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			p.lines <- in.Text()
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	return p
}

// next takes a line of the process. It returns false at the end.
func (p *rowsProcess) next(t *testing.T) bool {
	select {
	case line, ok := <-p.lines:
		if ok {
			var op rowOp
			require.NoError(t, json.Unmarshal([]byte(line), &op), line)
			p.ops = append(p.ops, op)
		}
		return ok
	case <-time.After(patience):
		require.FailNow(t, "a client stands still")
		return false
	}
}

// await waits until the process has said so many operations.
func (p *rowsProcess) await(t *testing.T, n int) {
	for len(p.ops) < n {
		require.True(t, p.next(t), "it ended early: %s", p.errs.String())
	}
}

func (p *rowsProcess) count() int { return len(p.ops) }

// end waits until the process has ended, and returns what it did.
func (p *rowsProcess) end(t *testing.T) []rowOp {
	for p.next(t) {
	}
	require.NoError(t, p.cmd.Wait(), "%s", p.errs.String())
	return p.ops
}
