package rpc

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/backend"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// What messages have other names for.
var (
	_ = op.Tags[engine.Stats]("SlowWrite", "-") // for the daemon's own log
	_ = op.Tags[engine.ColumnStats]("PendingCompaction", "pending_compaction_bytes")
	_ = op.Tags[naming.Match]("ID", "id,hash", "In", "group_id,optional")
)

var adminStatus = op.New(op.Method{Number: 502, Name: "Admin.Status", Role: access.Anyone},
	func(ctx context.Context, d backend.Daemon, _ *op.Nothing) (*stoav1.StatusResponse, error) {
		return d.Status(ctx), nil
	})

// Status returns what the daemon is, and how it is.
func (c *Client) Status(ctx context.Context) (*stoav1.StatusResponse, error) {
	return call(ctx, c, adminStatus, op.Nothing{})
}

var adminPeers = op.New(op.Method{Number: 508, Name: "Admin.Peers", Role: access.Operator},
	func(_ context.Context, d backend.Daemon, _ *op.Nothing) (*stoav1.PeersResponse, error) {
		return d.Peers(), nil
	})

// Peers returns what each peer may do, and what those who are connected take of the daemon.
func (c *Client) Peers(ctx context.Context) (*stoav1.PeersResponse, error) {
	return call(ctx, c, adminPeers, op.Nothing{})
}

// MonitorOptions say which calls [Client.Monitor] tells: those of methods whose names begin so,
// of a user, and that took so many microseconds; zero: all.
type MonitorOptions = backend.MonitorOptions

// MonitoredCall is a call that has ended: which, whose, how long it took and how it ended.
type MonitoredCall = backend.Call

var adminMonitor = op.NewStream(op.Method{Number: 509, Name: "Admin.Monitor", Role: access.Operator},
	func(ctx context.Context, d backend.Daemon, o *MonitorOptions) iter.Seq2[MonitoredCall, error] {
		return d.Monitor(ctx, *o)
	}, func(c *MonitoredCall) int { return 64 + len(c.Method) + len(c.Code) + len(c.Kind) }, op.StreamQueue)

// Monitor yields the calls of all clients as they end, streams too, until ctx does. Who is too slow
// for them misses some, and is told how many. What is in a call it does not say.
func (c *Client) Monitor(ctx context.Context, o MonitorOptions) iter.Seq2[MonitoredCall, error] {
	return streamed(ctx, c, adminMonitor, o)
}

var adminStats = op.New(op.Method{Number: 503, Name: "Admin.Stats", Role: access.Reader},
	func(_ context.Context, d backend.Daemon, _ *op.Nothing) (engine.Stats, error) { return d.Stats() })

// Stats returns counts and sizes of the daemon's engine.
func (c *Client) Stats(ctx context.Context) (engine.Stats, error) {
	return call(ctx, c, adminStats, op.Nothing{})
}

var adminCheckpoint = op.New(op.Method{Number: 504, Name: "Admin.Checkpoint", Role: access.Operator, Long: true},
	func(_ context.Context, d backend.Daemon, dir *string) (op.Nothing, error) {
		return op.Nothing{}, d.Checkpoint(*dir)
	})

// Checkpoint makes a copy of the daemon's store in dir, an absolute path on the
// daemon's machine that must not exist. Like Compact, Flush and Reopen it takes
// as long as it takes, unless the context of c ends.
func (c *Client) Checkpoint(ctx context.Context, dir string) error {
	_, err := call(ctx, c, adminCheckpoint, dir)
	return err
}

// compaction are the arguments of Compact: the keys within all bounds.
type compaction struct {
	Column             column.Column
	Start, End, Prefix []byte
}

var adminCompact = op.New(op.Method{Number: 505, Name: "Admin.Compact", Role: access.Operator, Long: true},
	func(ctx context.Context, d backend.Daemon, a *compaction) (op.Nothing, error) {
		return op.Nothing{}, d.Compact(ctx, a.Column, engine.Range{Start: a.Start, End: a.End}, a.Prefix)
	})

// Compact rewrites the tables of the keys of col in r and waits for it. A col of
// 0 is all columns, whole.
func (c *Client) Compact(ctx context.Context, col column.Column, r engine.Range) error {
	_, err := call(ctx, c, adminCompact, compaction{Column: col, Start: r.Start, End: r.End})
	return err
}

var adminFlush = op.New(op.Method{Number: 506, Name: "Admin.Flush", Role: access.Operator, Long: true},
	func(_ context.Context, d backend.Daemon, _ *op.Nothing) (op.Nothing, error) {
		return op.Nothing{}, d.Flush()
	})

// Flush writes what is in the daemon's memory to tables and waits for it.
func (c *Client) Flush(ctx context.Context) error {
	_, err := call(ctx, c, adminFlush, op.Nothing{})
	return err
}

var adminReopen = op.New(op.Method{Number: 507, Name: "Admin.Reopen", Role: access.Operator, Long: true},
	func(_ context.Context, d backend.Daemon, _ *op.Nothing) (engine.Health, error) { return d.Reopen() })

// Reopen closes and opens the daemon's storage after a fault that made it
// read-only, and returns how it is then.
func (c *Client) Reopen(ctx context.Context) (engine.Health, error) {
	return call(ctx, c, adminReopen, op.Nothing{})
}

// finding are the arguments of Find.
type finding struct {
	Kind    naming.Kind
	Text    string
	Group   [32]byte `wire:"group_id,optional"`
	Context [32]byte `wire:"context_id,optional"`
}

var adminFind = op.New(op.Method{Number: 501, Name: "Admin.Find", Role: access.Reader},
	func(ctx context.Context, d backend.Daemon, a *finding) (naming.Answer, error) {
		return d.Find(ctx, naming.Query{Kind: a.Kind, Text: a.Text, Group: a.Group, Context: a.Context})
	})

// Find is [naming.Find] in the daemon's store, in one call. A query that nothing could
// match is [ErrRequest].
func (c *Client) Find(ctx context.Context, q naming.Query) (naming.Answer, error) {
	return call(ctx, c, adminFind, finding{q.Kind, q.Text, q.Group, q.Context})
}
