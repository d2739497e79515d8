package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/link"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/peercred"
	"github.com/stoadb/stoa/rpc/internal/shm"
	"github.com/stoadb/stoa/rpc/internal/socketpath"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Client is a connection to a daemon. What the daemon has is reached by the views that
// its methods return: [Client.KV], [Client.Records], [Client.Policy], [Client.Locks], [Client.Dag], [Client.Namespaces], [Client.Groups],
// and [Client.Store] for the rows of all of them. Any number of goroutines may use a
// client and its views at once, over the one connection. It connects again by itself
// when the daemon has been away; calls fail with [ErrUnavailable] meanwhile. A call
// ends with its context, and after the time that [WithCallTimeout] gives it.
type Client struct {
	path    string
	timeout time.Duration
	conn    *grpc.ClientConn
	carrier *carrier
	rows    *shm.Rows     // nil: they are not wanted
	slotted *link.Slotted // as rows
	guarded atomic.Bool   // the daemon is known to look at guards of changes

	store stoav1.StoreClient
	dag   stoav1.DagClient
	sync  stoav1.SyncClient

	namespace stoav1.NamespaceClient
}

// Option says how a client talks to its daemon.
type Option func(*options)

type options struct {
	dialTimeout, callTimeout time.Duration
	framing                  Framing
	noRows                   bool
	users                    []uint32 // who may serve the socket
}

// WithDialTimeout has Dial wait so long for the daemon, which otherwise is 5 s, unless its
// context ends before.
func WithDialTimeout(d time.Duration) Option { return func(o *options) { o.dialTimeout = d } }

// WithCallTimeout gives a call so much time, which otherwise is 30 s, unless its context
// ends before; 0: as much as it takes. Scans, snapshots, the content of blobs and streams
// of deltas and ops have as much as they take in any case.
func WithCallTimeout(d time.Duration) Option { return func(o *options) { o.callTimeout = d } }

// WithDaemonUser names users, by number, who may serve the socket beside this user and root:
// who runs the daemon where that is another user.
func WithDaemonUser(uids ...uint32) Option {
	return func(o *options) { o.users = append(o.users, uids...) }
}

// WithFraming says how calls go over the socket, which otherwise is [FramingAuto].
func WithFraming(f Framing) Option { return func(o *options) { o.framing = f } }

// WithoutSharedRows has every read go over the socket. Otherwise a client that reads many
// single rows with [Store.Get] and [Store.MultiGet] is handed memory of the daemon to read
// them from, where the daemon shares it (stoa serve --shared-rows), on Linux, if this user may
// read everything, and unless all goes over gRPC; and one that scans much, if its user may do
// everything, memory that pages of long scans come by. What is read is the same.
func WithoutSharedRows() Option { return func(o *options) { o.noRows = true } }

// Dial connects to the daemon that listens at path. It returns ErrNoDaemon if there is
// none, ErrRefused if this user may not connect, ErrStranger if another user serves the
// socket, and ErrSocketPath. The client goes on
// when ctx has ended; Close ends it.
func Dial(ctx context.Context, path string, with ...Option) (*Client, error) {
	o := options{dialTimeout: 5 * time.Second, callTimeout: 30 * time.Second}
	for _, set := range with {
		set(&o)
	}
	if err := socketpath.Check(path); err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient("passthrough:///"+path,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return peercred.Dial(ctx, path, o.users)
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"), // a path is no authority: HTTP/2 servers in Rust refuse it
		grpc.WithDisableServiceConfig(),
		grpc.WithInitialWindowSize(wire.StreamWindow),
		grpc.WithInitialConnWindowSize(wire.ConnWindow),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(frame.MaxPayload), grpc.MaxCallSendMsgSize(frame.MaxPayload), grpc.ForceCodecV2(wire.NewCodec())),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			MinConnectTimeout: o.dialTimeout,
		}))
	if err != nil {
		return nil, fmt.Errorf("rpc: dial %s: %w", path, err)
	}
	t := newCarrier(path, o.dialTimeout, conn, o.users)
	timeout := o.callTimeout
	if timeout <= 0 {
		timeout = -1
	}
	c := &Client{
		path: path, timeout: timeout, conn: conn, carrier: t,
		store:     stoav1.NewStoreClient(t),
		dag:       stoav1.NewDagClient(t),
		sync:      stoav1.NewSyncClient(t),
		namespace: stoav1.NewNamespaceClient(t),
	}
	if !o.noRows && o.framing != FramingGRPC {
		c.rows = shm.NewRows(func(ctx context.Context) (*net.UnixConn, error) { return peercred.Dial(ctx, path, o.users) })
		c.slotted = link.NewSlotted(func(ctx context.Context) (*link.Conn, error) { return link.DialSlots(ctx, path, o.users) })
	}
	ctx, cancel := context.WithTimeout(ctx, o.dialTimeout)
	defer cancel()
	if err := c.first(ctx, o.framing); err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

// first makes the first connection, so that a daemon that hangs up is told by
// Dial rather than by the first call.
func (c *Client) first(ctx context.Context, f Framing) error {
	c.carrier.none.Store(f == FramingGRPC)
	if f != FramingGRPC {
		if err := c.carrier.first(ctx, f); err != nil || !c.carrier.none.Load() {
			return err
		}
	}
	if err := probe(ctx, c.path, c.carrier.users); err != nil {
		return err
	}
	return c.connect(ctx)
}

// connect waits until the connection of gRPC stands.
func (c *Client) connect(ctx context.Context) error {
	c.conn.Connect()
	for {
		switch s := c.conn.GetState(); s {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure:
			if err := probe(ctx, c.path, c.carrier.users); err != nil {
				return err
			}
			return c.refusal(ctx)
		default:
			if !c.conn.WaitForStateChange(ctx, s) {
				return unanswered(ctx, c.path)
			}
		}
	}
}

// unanswered is the error of a daemon that let ctx end before it answered.
func unanswered(ctx context.Context, path string) error {
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return fmt.Errorf("rpc: dial %s: %w", path, err)
	}
	return fmt.Errorf("%w at %s: something listens, but does not answer in time", ErrNoDaemon, path)
}

// refusal returns why the daemon does not serve a connection of gRPC, which does not
// tell: it does so in frames.
func (c *Client) refusal(ctx context.Context) error {
	l, err := link.Dial(ctx, c.path, c.carrier.users)
	switch {
	case err == nil:
		l.Close()
	case refused(err):
		return refusedBy(c.path, err)
	}
	return hungUp(c.path)
}

// Path returns the path of the socket.
func (c *Client) Path() string { return c.path }

// Close ends the connection, and every call, scan and snapshot over it. Later
// calls return engine.ErrClosed.
func (c *Client) Close() error {
	if c.slotted != nil {
		c.slotted.Close()
	}
	if c.rows != nil {
		c.rows.Close()
	}
	if err := c.carrier.close(); err != nil {
		return engine.ErrClosed
	}
	return nil
}

// SharesRows reports whether single rows are read from memory of the daemon now; see
// [WithoutSharedRows].
func (c *Client) SharesRows() bool { return c.rows != nil && c.rows.Shared() }

// closed reports whether Close has been called: what a call ends with from then on
// is that.
func (c *Client) closed() bool { return c.carrier.closed.Load() }

// call returns the context of one call.
func (c *Client) call(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.timeout < 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, c.timeout)
}

// unary makes one call, which ends with ctx, and after the time that calls have.
func (c *Client) unary(ctx context.Context, m *op.Method, ask, answer any) error {
	if m.Long {
		return c.failed(m.Name, c.carrier.call(ctx, -1, m.Full(), ask, answer))
	}
	return c.ask(ctx, m.Name, m.Full(), ask, answer)
}

func (c *Client) ask(ctx context.Context, op, method string, ask, answer any) error {
	err := c.failed(op, c.carrier.call(ctx, c.timeout, method, ask, answer))
	if err == nil || !overloaded(err) {
		return err
	}
	return c.invoke(ctx, op, func(ctx context.Context) error { return c.carrier.call(ctx, -1, method, ask, answer) })
}

// invoke makes one call. While the daemon has too much under way, and so did not
// look at this one, it asks again, until the call's time is over.
func (c *Client) invoke(ctx context.Context, op string, call func(context.Context) error) error {
	ctx, cancel := c.call(ctx)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		err := c.failed(op, call(ctx))
		if err == nil || !overloaded(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

func overloaded(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == stoav1.ErrorKind_ERROR_KIND_BUSY &&
		(e.Fields[fault.FieldWhat] == fault.WhatRequests || e.Fields[fault.FieldWhat] == fault.WhatCalls)
}

// failed returns what a stub of c returned as an error of this package.
func (c *Client) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if c.closed() {
		return fmt.Errorf("rpc: %s: %w", op, engine.ErrClosed)
	}
	return fault.FromStatus(err)
}
