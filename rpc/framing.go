package rpc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/link"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Framing is how calls go over the socket.
type Framing int

// The framings.
const (
	// FramingAuto uses frames for the calls that go in them, if the daemon knows
	// them, and gRPC for others.
	FramingAuto Framing = iota
	// FramingFrames is FramingAuto, but Dial returns engine.ErrUnsupported if the
	// daemon does not know frames.
	FramingFrames
	// FramingGRPC uses gRPC for all.
	FramingGRPC
)

// carrier is what the stubs of a client call through: frames where they can,
// else gRPC.
type carrier struct {
	path    string
	timeout time.Duration // of connecting
	users   []uint32      // who may serve the socket, beside this user and root
	grpc    *grpc.ClientConn
	numbers map[string]uint16 // of methods that go in frames; never written to

	conn   atomic.Pointer[link.Conn] // nil: there is none yet
	none   atomic.Bool               // the daemon does not know frames, or they are not wanted
	closed atomic.Bool
	mu     sync.Mutex // of who connects
}

func newCarrier(path string, timeout time.Duration, conn *grpc.ClientConn, users []uint32) *carrier {
	t := &carrier{path: path, timeout: timeout, users: users, grpc: conn, numbers: make(map[string]uint16)}
	for _, m := range op.Methods() {
		t.numbers[m.Full()] = m.Number
	}
	return t
}

// framed returns the connection that method goes over in frames, or nil if it
// goes over gRPC. An error is a status.
func (t *carrier) framed(method string) (*link.Conn, uint16, error) {
	number, ok := t.numbers[method]
	if !ok || t.none.Load() {
		return nil, 0, nil
	}
	c := t.conn.Load()
	if c == nil || c.Err() != nil {
		var err error
		if c, err = t.connect(); err != nil || c == nil {
			return nil, 0, err
		}
	}
	if !c.Has(number) {
		return nil, 0, nil
	}
	return c, number, nil
}

// connect connects, unless another has done so meanwhile. The connection is nil
// if the daemon does not know frames.
func (t *carrier) connect() (*link.Conn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed.Load() {
		return nil, status.Error(codes.Canceled, "the client is closed")
	}
	if c := t.conn.Load(); c != nil && c.Err() == nil {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.timeout) // for all who wait for it
	defer cancel()
	c, err := link.Dial(ctx, t.path, t.users)
	switch {
	case errors.Is(err, link.ErrNotFramed):
		t.none.Store(true)
		return nil, nil
	case refused(err):
		return nil, err
	case err != nil:
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	t.conn.Store(c)
	return c, nil
}

// first makes the first connection, for Dial.
func (t *carrier) first(ctx context.Context, f Framing) error {
	c, err := link.Dial(ctx, t.path, t.users)
	switch {
	case err == nil:
		t.conn.Store(c)
		return nil
	case errors.Is(err, link.ErrNotFramed):
		if f == FramingFrames {
			return fmt.Errorf("%w: the daemon at %s does not know frames", engine.ErrUnsupported, t.path)
		}
		t.none.Store(true)
		return nil
	case errors.Is(err, link.ErrHungUp):
		return hungUp(t.path)
	case errors.Is(err, ErrStranger):
		return err
	case refused(err):
		return refusedBy(t.path, err)
	case ctx.Err() != nil:
		return unanswered(ctx, t.path)
	}
	return noDaemon(t.path, err)
}

// refused reports whether a daemon said why it does not serve a connection.
func refused(err error) bool {
	_, ok := status.FromError(err)
	return ok
}

func refusedBy(path string, err error) error {
	return fmt.Errorf("%w (the daemon at %s)", fault.FromStatus(err), path)
}

// hungUp is the error of a daemon that does not say why it does not serve this user.
func hungUp(path string) error {
	return fmt.Errorf("%w by the daemon at %s: it hung up on uid %d, who may not connect (stoa serve --peer), or at a rush of connections; its log says which", ErrRefused, path, os.Getuid())
}

func (t *carrier) close() error {
	t.closed.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.conn.Load(); c != nil {
		c.Close()
	}
	return t.grpc.Close()
}

// call makes a unary call, which ends with ctx and after timeout, unless it is
// negative.
func (t *carrier) call(ctx context.Context, timeout time.Duration, method string, ask, answer any) error {
	for again := true; ; again = false {
		c, number, err := t.framed(method)
		if err != nil {
			return err
		}
		if c == nil {
			break
		}
		err = c.Call(ctx, timeout, number, ask, answer)
		if errors.Is(err, frame.ErrUnsent) { // the daemon was away meanwhile
			if again {
				continue
			}
			err = status.Error(codes.Unavailable, err.Error())
		}
		return err
	}
	if timeout >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	return t.grpc.Invoke(ctx, method, ask, answer)
}

// Invoke makes a unary call for the stubs, as [grpc.ClientConnInterface] has it.
func (t *carrier) Invoke(ctx context.Context, method string, ask, answer any, _ ...grpc.CallOption) error {
	return t.call(ctx, -1, method, ask, answer)
}

// NewStream opens a stream for the stubs, as [grpc.ClientConnInterface] has it.
func (t *carrier) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, o ...grpc.CallOption) (grpc.ClientStream, error) {
	c, number, err := t.framed(method)
	if err == nil && c != nil && !c.Alive() { // the daemon was away meanwhile
		c.Close()
		c, number, err = t.framed(method)
	}
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		return t.grpc.NewStream(ctx, desc, method, o...)
	}
	return c.Open(ctx, number, desc.ClientStreams)
}
