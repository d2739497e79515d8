package server

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/stoav1"
)

func TestCallsUnderWayFinishAndNewOnesAreRefusedWhenTheServerStops(t *testing.T) {
	stub := newStub()
	held, release := make(chan struct{}), make(chan struct{})
	var finished atomic.Bool
	stub.apply = func() error {
		close(held)
		<-release
		finished.Store(true)
		return nil
	}
	d := start(t, stub, Options{})
	c, resting := d.dial(t), d.dial(t)
	require.NoError(t, resting.Flush(t.Context()))
	applied := make(chan error, 1)
	go func() {
		var b engine.Batch
		b.Put(column.Generic, row("a"), []byte("1"))
		applied <- c.Store(t.Context()).Apply(&b)
	}()
	<-held
	stopped := make(chan bool) // whether the call had finished
	go func() {
		d.stop()
		stopped <- finished.Load()
	}()
	require.Eventually(t, func() bool {
		c, err := rpc.Dial(t.Context(), d.path)
		if err == nil { // it was quicker than the server
			c.Close()
		}
		return errors.Is(err, rpc.ErrNoDaemon)
	}, patience, time.Millisecond)
	require.Eventually(t, func() bool { return d.connections.Used() == 1 }, patience, time.Millisecond, "who has nothing under way is gone")
	select {
	case err := <-applied:
		t.Fatalf("answered early: %v", err)
	default:
	}
	close(release)
	require.NoError(t, <-applied)
	require.True(t, <-stopped, "it stops when the call under way has finished")
	_, err := stub.Engine.Get(nil, column.Generic, row("a"))
	require.NoError(t, err, "written, and the engine still open")
	_, err = c.Store(t.Context()).Get(nil, column.Generic, row("a"))
	require.ErrorIs(t, err, rpc.ErrUnavailable)
}

// scanWaits tells whether a stream of answers over frames waits for its client:
// for credit, or for room in the connection.
func (d *testDaemon) scanWaits() (waits bool) {
	for _, use := range d.framed.Uses() {
		waits = waits || use.Waits
	}
	return waits
}

func TestSessionsAndScansAreToldWhenTheServerStops(t *testing.T) {
	stub := newStub()
	d := start(t, stub, Options{DrainTimeout: time.Hour})
	c := d.dial(t)
	for i := range 3000 {
		put(t, c.Store(t.Context()), fmt.Sprintf("%04d", i), string(make([]byte, 8000)))
	}
	it, err := c.Store(t.Context()).Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	require.True(t, it.Next())
	require.Eventually(t, func() bool { return d.scanWaits() }, patience, time.Millisecond, "nobody reads: the daemon waits")
	session, err := stoav1.NewStoreClient(d.bare(t)).Session(t.Context())
	require.NoError(t, err)
	require.NoError(t, session.Send(&stoav1.SessionRequest{Id: 1, Request: &stoav1.SessionRequest_Snapshot{}}))
	_, err = session.Recv()
	require.NoError(t, err)

	d.stop() // far before the drain timeout
	_, err = session.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorIs(t, fault.FromStatus(err), rpc.ErrUnavailable)
	for it.Next() {
	}
	require.ErrorIs(t, it.Err(), rpc.ErrUnavailable)
	require.Zero(t, stub.iterators.Load())
	require.Zero(t, stub.snapshots.Load())
}

func TestWatchersOfHealthAndReflectionDoNotHoldUpAStop(t *testing.T) {
	d := start(t, nil, Options{DrainTimeout: time.Hour})
	conn := d.bare(t)
	watch, err := grpc_health_v1.NewHealthClient(conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	res, err := watch.Recv()
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, res.GetStatus())
	reflection, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	require.NoError(t, err)
	require.NoError(t, reflection.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}))
	_, err = reflection.Recv()
	require.NoError(t, err)

	d.stop()                     // far before the drain timeout
	for err = nil; err == nil; { // it may be told NOT_SERVING before
		_, err = watch.Recv()
	}
	require.Equal(t, codes.Unavailable, status.Code(err))
	_, err = reflection.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err))
}

func TestCallsThatDoNotFinishAreCutOffAfterTheDrainTimeout(t *testing.T) {
	stub := newStub()
	held, release := make(chan struct{}), make(chan struct{})
	var finished atomic.Bool
	stub.flush = func() error {
		close(held)
		<-release
		finished.Store(true)
		return nil
	}
	d := start(t, stub, Options{DrainTimeout: 20 * time.Millisecond})
	c := d.dial(t)
	flushed := make(chan error, 1)
	go func() { flushed <- c.Flush(t.Context()) }()
	<-held
	stopped := make(chan bool) // whether the call had finished
	go func() {
		d.stop()
		stopped <- finished.Load()
	}()
	require.ErrorIs(t, <-flushed, rpc.ErrUnavailable)
	require.Eventually(t, func() bool { return d.connections.Used() == 0 }, patience, time.Millisecond)
	close(release)
	require.True(t, <-stopped, "it returns when the engine is not in use any more")
}

func TestServeReturnsWhenItsListenerFails(t *testing.T) {
	s, err := New(newStub(), Options{})
	require.NoError(t, err)
	ln, err := net.Listen("unix", socketDir(t)+"/s")
	require.NoError(t, err)
	ln.Close()
	require.ErrorContains(t, s.Serve(t.Context(), ln), "server: serve")
}
