package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// fine demands that the daemon answers as if nothing had happened.
func fine(t *testing.T, c *rpc.Client) {
	t.Helper()
	put(t, c.Store(t.Context()), "fine", "1")
	v, err := c.Store(t.Context()).Get(nil, column.Generic, row("fine"))
	require.NoError(t, err)
	require.Equal(t, "1", string(v))
}

func TestValuesUpToTheLimitAreTakenAndLargerOnesRefused(t *testing.T) {
	d := start(t, nil, Options{})
	c := d.dial(t)
	large := bytes.Repeat([]byte{7}, engine.MaxValue)
	put(t, c.Store(t.Context()), "large", string(large))
	v, err := c.Store(t.Context()).Get(nil, column.Generic, row("large"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(large, v))

	var b engine.Batch
	b.Put(column.Generic, row("larger"), append(large, 0))
	require.ErrorIs(t, c.Store(t.Context()).Apply(&b), engine.ErrTooLarge, "the client says so")
	_, err = stoav1.NewStoreClient(d.bare(t)).Apply(t.Context(), &stoav1.ApplyRequest{Ops: b.Bytes()})
	require.ErrorIs(t, fault.FromStatus(err), engine.ErrTooLarge, "and so does the daemon")
	fine(t, c)
}

func TestMessagesOverTheLimitAreRefused(t *testing.T) {
	d := start(t, nil, Options{})
	store := stoav1.NewStoreClient(d.bare(t))
	_, err := store.Apply(t.Context(), &stoav1.ApplyRequest{Ops: make([]byte, frame.MaxPayload+1)})
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorIs(t, fault.FromStatus(err), engine.ErrTooLarge)
	_, err = store.Apply(t.Context(), &stoav1.ApplyRequest{Ops: make([]byte, engine.MaxBatch+1)})
	require.ErrorIs(t, fault.FromStatus(err), engine.ErrTooLarge)
	fine(t, d.dial(t))
}

func TestMultiGetHasLimits(t *testing.T) {
	d := start(t, nil, Options{})
	c := d.dial(t)
	many := make([]engine.Lookup, wire.MaxLookups+1)
	for i := range many {
		many[i] = engine.Lookup{Column: column.Generic, Key: row("x")}
	}
	_, err := c.Store(t.Context()).MultiGet(nil, many)
	require.ErrorIs(t, err, engine.ErrTooLarge)
	_, err = stoav1.NewStoreClient(d.bare(t)).MultiGet(t.Context(), &stoav1.MultiGetRequest{Lookups: wire.AppendLookups(nil, many)})
	require.ErrorIs(t, fault.FromStatus(err), engine.ErrTooLarge)
	_, err = c.Store(t.Context()).MultiGet(nil, many[1:])
	require.NoError(t, err)

	put(t, c.Store(t.Context()), "x", string(make([]byte, 1<<20)))
	_, err = c.Store(t.Context()).MultiGet(nil, many[:100])
	require.ErrorIs(t, err, engine.ErrTooLarge, "100 MiB of values")
	var e *rpc.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Fields[fault.FieldLimit])
	fine(t, c)
}

func TestMultiGetTakesNoMoreMemoryThanItMayAnswer(t *testing.T) {
	c := start(t, nil, Options{}).dial(t)
	put(t, c.Store(t.Context()), "large", string(make([]byte, 256<<10)))
	lookups := make([]engine.Lookup, wire.MaxLookups) // 4 GiB, if all were answered
	for i := range lookups {
		lookups[i] = engine.Lookup{Column: column.Generic, Key: row("large")}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := c.Store(t.Context()).MultiGet(nil, lookups)
	require.ErrorIs(t, err, engine.ErrTooLarge)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4*engine.MaxBatch))
	fine(t, c)
}

// refusals is how many calls were answered with RESOURCE_EXHAUSTED.
func refusals(t testing.TB, registry *prometheus.Registry) (n float64) {
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, label := range m.GetLabel() {
				if f.GetName() == "grpc_server_handled_total" && label.GetValue() == codes.ResourceExhausted.String() {
					n += m.GetCounter().GetValue()
				}
			}
		}
	}
	return n
}

func TestRequestsOfSessionsInFlightAreLimited(t *testing.T) {
	stub := newStub()
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	stub.apply = func() error {
		once.Do(func() { close(held) })
		<-release
		return nil
	}
	d := start(t, stub, Options{MaxInFlight: 1 << 20})
	c := d.dial(t)
	var b engine.Batch
	b.Put(column.Generic, row("a"), make([]byte, 900<<10))
	first := make(chan error, 1)
	go func() { first <- c.Store(t.Context()).Apply(&b) }()
	<-held
	session, err := stoav1.NewStoreClient(d.bare(t)).Session(t.Context())
	require.NoError(t, err)
	ask := func(lookups int) *stoav1.SessionResponse {
		packed := wire.AppendLookups(nil, slices.Repeat([]engine.Lookup{{Column: column.Generic, Key: row("k")}}, lookups))
		require.NoError(t, session.Send(&stoav1.SessionRequest{Id: 1, Request: &stoav1.SessionRequest_MultiGet{MultiGet: &stoav1.MultiGetRequest{Lookups: packed}}}))
		m, err := session.Recv()
		require.NoError(t, err)
		return m
	}
	require.Equal(t, stoav1.ErrorKind_ERROR_KIND_BUSY, ask(10_000).GetError().GetKind())
	require.NotNil(t, ask(1).GetMultiGet(), "the session goes on")
	close(release)
	require.NoError(t, <-first)
	require.NotNil(t, ask(10_000).GetMultiGet())
}

func TestWhoDoesNotSayWhichFramingIsHungUpOn(t *testing.T) {
	d := start(t, nil, Options{Greeting: 10 * time.Millisecond})
	conn, err := net.Dial("unix", d.path)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte(frame.Magic[:3]))
	if !errors.Is(err, syscall.EPIPE) { // so late that it was hung up on already
		require.NoError(t, err)
	}
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	_, err = conn.Read(make([]byte, 1))
	if !errors.Is(err, syscall.ECONNRESET) { // what it wrote was not read any more
		require.ErrorIs(t, err, io.EOF)
	}
	fine(t, d.dial(t))
}

func TestRequestsInFlightAreLimited(t *testing.T) {
	stub := newStub()
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	stub.apply = func() error {
		once.Do(func() { close(held) })
		<-release
		return nil
	}
	registry := prometheus.NewRegistry()
	d := start(t, stub, Options{MaxInFlight: 1 << 20, Registry: registry})
	c := d.dialAs(t, rpc.FramingGRPC) // frames refuse what is not counted as a call
	var b engine.Batch
	b.Put(column.Generic, row("a"), make([]byte, 600<<10))
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- c.Store(t.Context()).Apply(&b) }()
	<-held
	_, err := stoav1.NewStoreClient(d.bare(t)).Apply(t.Context(), &stoav1.ApplyRequest{Ops: b.Bytes()})
	require.ErrorIs(t, fault.FromStatus(err), rpc.ErrBusy)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	go func() { second <- c.Store(t.Context()).Apply(&b) }() // asks again until there is room
	require.Eventually(t, func() bool { return refusals(t, registry) > 1 }, patience, time.Millisecond)
	close(release)
	require.NoError(t, <-first)
	require.NoError(t, <-second)
	fine(t, c)
	awaitNoRequests(t, d.inFlight)
}

func TestSessionsSnapshotsAndScansAreLimited(t *testing.T) {
	d := start(t, nil, Options{MaxSessions: 2, MaxScans: 2})
	c := d.dial(t)
	a, err := c.Store(t.Context()).Snapshot()
	require.NoError(t, err)
	b, err := c.Store(t.Context()).Snapshot()
	require.NoError(t, err)
	_, err = c.Store(t.Context()).Snapshot()
	require.ErrorIs(t, err, rpc.ErrBusy)
	require.NoError(t, a.Close())
	require.Eventually(t, func() bool {
		s, err := c.Store(t.Context()).Snapshot()
		if err == nil {
			s.Close()
		}
		return err == nil
	}, patience, time.Millisecond)
	require.NoError(t, b.Close())

	for i := range 3000 {
		put(t, c.Store(t.Context()), fmt.Sprintf("%04d", i), string(make([]byte, 8000)))
	}
	var open []*engine.Iterator
	for range 2 {
		it, err := c.Store(t.Context()).Iterate(column.Generic, engine.Range{})
		require.NoError(t, err)
		open = append(open, it)
	}
	_, err = c.Store(t.Context()).Iterate(column.Generic, engine.Range{})
	require.ErrorIs(t, err, rpc.ErrBusy)
	for _, it := range open {
		it.Close()
	}
	require.Eventually(t, func() bool { return d.scans.Used() == 0 }, patience, time.Millisecond)
	fine(t, c)
}

func TestConnectionsAreLimited(t *testing.T) {
	for name, f := range map[string]rpc.Framing{"frames": rpc.FramingAuto, "gRPC": rpc.FramingGRPC} {
		t.Run(name, func(t *testing.T) {
			d := start(t, nil, Options{MaxConnections: 2})
			a, b := d.dial(t), d.dial(t)
			_, err := rpc.Dial(t.Context(), d.path, rpc.WithFraming(f))
			require.ErrorIs(t, err, rpc.ErrBusy)
			require.ErrorContains(t, err, "no more than 2 connections at once")
			require.NotErrorIs(t, err, rpc.ErrRefused, "this user may connect")
			require.NoError(t, a.Close())
			require.Eventually(t, func() bool {
				c, err := rpc.Dial(t.Context(), d.path, rpc.WithFraming(f))
				if err == nil {
					c.Close()
				}
				return err == nil
			}, patience, time.Millisecond)
			fine(t, b)
		})
	}
}

func TestConnectionsThatSayNothingKeepNobodyFromBeingTold(t *testing.T) {
	d := start(t, nil, Options{MaxConnections: 1})
	c := d.dial(t)
	silent := make([]net.Conn, 2*demux.MaxTurnedAway)
	for i := range silent {
		var err error
		silent[i], err = net.Dial("unix", d.path)
		require.NoError(t, err)
		defer silent[i].Close()
	}
	require.Eventually(t, func() bool { // the daemon has looked at all: the others are hung up on
		hungUp := 0
		for _, conn := range silent {
			conn.SetReadDeadline(time.Now().Add(time.Microsecond))
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				hungUp++
			}
		}
		return hungUp == len(silent)-demux.MaxTurnedAway
	}, patience, time.Millisecond)
	_, err := rpc.Dial(t.Context(), d.path)
	require.ErrorIs(t, err, rpc.ErrBusy)
	fine(t, c)
	d.stop() // which waits for none of them
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, o := range []Options{{MaxScans: -1}, {MaxInFlight: -1}, {DrainTimeout: -1}, {SessionIdle: -1}} {
		_, err := New(newStub(), o)
		require.ErrorIs(t, err, ErrOptions)
	}
}
