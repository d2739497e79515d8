package server

import (
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// heldSession is a session over frames whose first get is held until release is
// closed.
func heldSession(t *testing.T, flags frame.Flags) (c *rawConn, get *stoav1.SessionRequest, release chan struct{}) {
	stub := newStub()
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	stub.failGet(func() error {
		once.Do(func() { close(held) })
		<-release
		return nil
	})
	c = start(t, stub, Options{}).raw(t)
	get = &stoav1.SessionRequest{Id: 1, Request: &stoav1.SessionRequest_Get{Get: &stoav1.GetRequest{Column: 10, Key: row("a")}}}
	c.send(frame.Header{ID: 1, Method: 106, Flags: flags}, get)
	<-held
	return c, get, release
}

// fits is how many messages a paced stream sends before it is given credit.
func fits(m proto.Message) int {
	cost := proto.Size(m) + frame.PerMessage
	return (frame.Window + cost - 1) / cost
}

func TestAPacedStreamIsGivenCreditForWhatIsTaken(t *testing.T) {
	c, get, release := heldSession(t, frame.Paced)
	for range fits(get) - 1 { // the first is sent already
		c.send(frame.Header{ID: 1}, get)
	}
	close(release)
	given := 0
	for answers := 0; answers < fits(get); {
		f := c.next()
		if f.Flags == frame.Credit {
			given += int(binary.LittleEndian.Uint32(f.Payload))
			continue
		}
		require.Zero(t, f.Flags)
		answers++
	}
	require.GreaterOrEqual(t, given, frame.Window/2)
	cost := proto.Size(get) + frame.PerMessage
	require.LessOrEqual(t, given, fits(get)*cost, "no more than was taken")
	for range given / cost {
		c.send(frame.Header{ID: 1}, get)
	}
	c.write(frame.Header{ID: 1, Flags: frame.End}.Append(nil))
	f := c.next()
	for f.Flags&frame.End == 0 {
		f = c.next()
	}
	require.Equal(t, frame.End, f.Flags)
}

func TestAPacedStreamThatSendsWithoutCreditIsEnded(t *testing.T) {
	c, get, release := heldSession(t, frame.Paced)
	for range fits(get) {
		c.send(frame.Header{ID: 1}, get)
	}
	c.send(frame.Header{ID: 2, Method: 105, Flags: frame.End}, &stoav1.ApproximateSizeRequest{Column: 10})
	require.EqualValues(t, 2, c.next().ID, "all before was read")
	close(release)
	f := c.next()
	for f.Flags&frame.End == 0 {
		f = c.next()
	}
	err := c.failure(f)
	require.ErrorIs(t, err, rpc.ErrBusy)
	require.ErrorContains(t, err, limit.WhatUnpaced)
}

func TestOnlyStreamsOfAClientArePaced(t *testing.T) {
	d := start(t, mem.New(), Options{})
	for _, method := range []uint16{101, 104} {
		c := d.raw(t)
		c.send(frame.Header{ID: 1, Method: method, Flags: frame.Paced | frame.End}, &stoav1.GetRequest{})
		f := c.next()
		require.Zero(t, f.ID, "it says why it hangs up")
		require.ErrorContains(t, c.failure(f), "is not paced")
	}
}

// heldEngine is an engine whose writes wait for a lock.
type heldEngine struct {
	engine.Engine
	lock sync.Mutex
}

func (h *heldEngine) Apply(b *engine.Batch) error {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.Engine.Apply(b)
}

func (h *heldEngine) Update(fn func(engine.Getter, *engine.Batch) error) error {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.Engine.Update(fn)
}

// outOfCredit tells whether a client's stream over frames may send no more.
func (d *testDaemon) outOfCredit() (is bool) {
	for _, use := range d.framed.Uses() {
		is = is || use.Full
	}
	return is
}

// A client offers many small ops to a daemon that stands still: it waits for it,
// and loses none.
func TestManySmallOpsPassADaemonThatIsSlow(t *testing.T) {
	everyFraming(t, func(t *testing.T, f rpc.Framing) {
		other, ns := founded(t, f, Options{})
		eng := &heldEngine{Engine: mem.New()}
		store, err := namespace.Open(eng, namespace.Options{})
		require.NoError(t, err)
		d := start(t, eng, Options{Namespaces: store})
		t.Cleanup(func() { // before the engine is closed
			d.stop()
			require.NoError(t, store.Close())
		})
		client := d.dialAs(t, f)
		joined(t, other, &govDaemon{testDaemon: d, Namespaces: client.Namespaces(), groups: client.Groups()}, ns)

		eng.lock.Lock()
		release := sync.OnceFunc(eng.lock.Unlock)
		defer release()
		want := enginetest.Scale(100_000)
		if f == rpc.FramingFrames { // more than the daemon takes while it stands still
			queued := 2 * op.QueueBytes / 64 // an op there counts 64 bytes beside its own
			want = max(want, queued+2*fits(&stoav1.NamespaceApplyManyRequest{}))
		}
		op := other.propose(t, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room}).Wire[0]
		ops := func(yield func([]byte) bool) {
			if !yield(op) {
				return
			}
			for range want - 1 {
				if !yield([]byte("no op")) {
					return
				}
			}
		}
		answers := 0
		waited := make(chan bool, 1)
		go func() {
			defer release()
			for deadline := time.Now().Add(patience); f == rpc.FramingFrames && !d.outOfCredit(); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					waited <- false
					return
				}
			}
			waited <- true
		}()
		for a, err := range client.Namespaces().ApplyMany(t.Context(), ops) {
			require.NoError(t, err)
			require.Equal(t, map[bool]namespace.AnswerKind{true: namespace.Stored, false: namespace.Refused}[answers == 0], a.Kind)
			answers++
		}
		require.Equal(t, want, answers)
		require.True(t, <-waited, "the client was out of credit")
	})
}
