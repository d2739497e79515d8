package server

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine/rocks/rows"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
	kvsession "github.com/stoadb/stoa/kv/session"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// ErrOptions is returned by New for options that make no sense.
var ErrOptions = errors.New("server: bad options")

// Options say whom a server talks to, and how much it takes on at once. The zero
// Options are the defaults.
type Options struct {
	// Info is what Admin.Status tells besides what the server knows itself.
	Info Info

	// Peers has who may connect, and what each may do; nil: the server's own user and root,
	// everything.
	Peers *access.Table

	// CheckpointDir is a directory below which alone copies of the store are made; "": they are
	// made in directories that belong to the server's own user, to which nobody else can write.
	CheckpointDir string

	// MaxInFlight is how many bytes of requests may be under way at once, those
	// of all connections together; what exceeds it is refused as busy. 0: 256
	// MiB.
	MaxInFlight int64
	// MaxConnectionBytes is how many bytes one connection may hold, of requests that come or
	// are under way and of answers that wait, unless its peer may do everything; what exceeds it is refused. 0: 8 MiB.
	MaxConnectionBytes int64
	// Parts is into how many parts everything is divided that there is a limit of, of which
	// a user gets one while others want some, unless it may do everything. 0: 4.
	Parts int

	// Shared is called once, when for the first time users are connected of whom one might take
	// from another; nil: nobody wants to know. It must not block.
	Shared func()
	// Stall is how long a request that has begun to come may stand still before its connection
	// is ended. 0: 10 s.
	Stall time.Duration
	// MaxCalls is how many calls may be under way at once, of users who may not do everything. 0: 32,768.
	MaxCalls int
	// MaxGRPCStreams is how many calls over gRPC may be under way at once, or wait for their request, of users
	// who may not do everything. 0: 1,024.
	MaxGRPCStreams int
	// MaxConnections is how many connections there may be; 0: 4,096.
	MaxConnections int
	// MaxStreams is how many calls one connection may have under way; more wait.
	// 0: 256.
	MaxStreams uint32
	// MaxScans is how many scans may be open, sessions' included; 0: 1,024.
	MaxScans int
	// MaxSessions is how many sessions may be open, and so snapshots; 0: 1,024.
	MaxSessions int
	// MaxSessionScans is how many scans one session may have open; 0: 64.
	MaxSessionScans int
	// SessionIdle is how long a session may go without a request and its
	// snapshot without a read, and how long a scan, or a stream of the services
	// Dag, Kv, Record, Policy, Namespace and Group, may wait for a client that does not take or send what is next;
	// they are ended then. 0: 10 minutes.
	SessionIdle time.Duration
	// Greeting is how long a connection may take to say which framing it speaks; 0:
	// 10 s.
	Greeting time.Duration
	// CallTimeout is the deadline of single reads and writes, and of those of the
	// Blob service that are not streams, whose client sets none; 0: 60 s.
	CallTimeout time.Duration
	// SlowCall is from when on a call is slow, and said in the log, with what it has spent
	// its time with as far as that is known; not of streams, nor of what takes as long as it
	// takes, such as a compaction. 0: none is.
	SlowCall time.Duration
	// DrainTimeout is how long calls under way may take to finish when the
	// server stops; 0: 30 s.
	DrainTimeout time.Duration

	// Refuse, unless it is nil, says why no call is answered: of a server that stands in the place of one
	// that is elsewhere, or is not there yet. It is asked for each, and returns no nil. Health checks are answered.
	Refuse func() error

	// SharedRows has what clients who may read everything read single rows with, as a
	// rocks.Engine has it; nil: there is nothing.
	SharedRows SharedRows

	// MaxSharedPages is how many connections may have slots of shared memory, of shm.Slots
	// times shm.SlotSize bytes, that long scans go through. 0: none.
	MaxSharedPages int

	// Blobs keeps the blobs of the engine, for the Blob service; it stays the
	// caller's to close, after Serve has returned. Nil: one without a spool, so that
	// content of more than 1 MiB has to come with its id.
	Blobs *blob.Store
	// MaxTransfers is how many uploads, downloads and verifications of blobs may be
	// under way at once, of up to 8 MiB of memory each; what exceeds it is refused as
	// busy. 0: 64.
	MaxTransfers int
	// TransferIdle is how long a client may keep an upload or a download waiting, which
	// is ended then; 0: 1 minute.
	TransferIdle time.Duration

	// Dag keeps the contexts of the engine, for the Dag service; it stays the
	// caller's to close, after Serve has returned. Nil: there is no such service.
	Dag *dag.Store
	// Namespaces is the governance of the engine, for the services Namespace and
	// Group; it stays the caller's to close, after Serve has returned. Nil: there are
	// no such services.
	Namespaces *namespace.Store
	// MaxGovStreams is how many streams of these services may be open at once; what
	// exceeds it is refused as busy. 0: 1,024.
	MaxGovStreams int
	// Raw lets operators write rows by the Store service that another service keeps: for
	// repair and tests.
	Raw bool
	// MaxDagStreams is how many streams of the Dag service may be open at once;
	// what exceeds it is refused as busy. 0: 1,024.
	MaxDagStreams int

	// KV keeps the key-values of the engine, for the Kv service. Its store stays
	// the caller's to close, after Serve has returned. Nil: there is no such
	// service.
	KV *kvstorage.Storage
	// Records keeps the records of the engine, for the Record service. Its store stays
	// the caller's to close, after Serve has returned. Nil: there is no such service.
	Records *record.Store
	// Policies decides by the records of the engine, for the Policy service. Its store
	// stays the caller's to close, after Serve has returned. Nil: there is no such service.
	Policies *policy.Store
	// Locks are the locks of the engine, for the Lock service. They stay the caller's to
	// close, after Serve has returned. Nil: there is no such service.
	Locks *lock.Store
	// Limits are the rate limits of the engine, for the Limit service, and Settings those of
	// its tenants, for Setting. Their store stays the caller's to close, after Serve has
	// returned. Nil: there is no such service.
	Limits   *limit.Store
	Settings *setting.Store
	// Sessions are those of users of the engine's tenants, for the Session service. Their
	// store stays the caller's to close, after Serve has returned. Nil: there is no such
	// service.
	Sessions *kvsession.Store
	// Events are the streams of the engine, for the Event service, and Jobs its queues, for Job.
	// They stay the caller's to close, after Serve has returned. Nil: there is no such service.
	Events *event.Store
	Jobs   *job.Store
	// Buckets are those of the engine, for the Bucket service. Their store stays the caller's to
	// close, after Serve has returned. Nil: there is no such service.
	Buckets *bucket.Store
	// Streams are those of the engine, for the Stream service. Nil: there is no such service.
	Streams *stream.Store
	// Approvals are the tasks and approvals of the engine, for the services Task and Approval.
	// Their store stays the caller's to close, after Serve has returned. Nil: there are no
	// such services.
	Approvals *approval.Store
	// MaxKVStreams is how many streams of the services Kv, Record, Policy, Lock, Event, Job,
	// Bucket and Stream may be open at once; what exceeds it is refused as busy. 0: 4,096.
	MaxKVStreams int
	// MaxLockWaits is how many requests for locks may wait at once, of all tenants; what
	// exceeds it is refused as busy. 0: 10,000.
	MaxLockWaits int

	// Logger is where the server logs; nil: nowhere. Calls are logged at debug,
	// refused peers as warnings, faults as errors.
	Logger *slog.Logger
	// Registry is where metrics are registered; nil: there are none.
	Registry prometheus.Registerer
	// Rand is where numbers of snapshots come from; nil: crypto/rand. It must be
	// safe for concurrent use.
	Rand io.Reader
	// Now is the clock; nil: time.Now.
	Now func() time.Time

	// peerOf returns who is at the other end of a connection; tests set it.
	peerOf func(net.Conn) (demux.Peer, error)
}

// SharedRows is what hands out rows.
type SharedRows interface {
	// SharedRows returns what one client reads them with.
	SharedRows() (rows.Share, error)
	// SharedRowStats says how they do; false: there are none.
	SharedRowStats() (_ rows.Stats, ok bool)
}

// Info is what Admin.Status tells of the daemon. The zero Info is of a daemon
// that knows nothing of itself.
type Info struct {
	Version       string    // of the program
	Commit        string    // that it was built of; empty: not known
	Date          time.Time // of that commit; zero: not known
	Engine        string    // rocks, mem
	NodeID        string    // 32 hex digits
	SchemaVersion uint32
	Started       time.Time        // zero: when New was called
	Recovery      *stoav1.Recovery // nil: nothing to recover
	// Disk returns the free bytes of the store's file system, and how many are
	// kept free; nil: there is none.
	Disk func() (free, reserve uint64, err error)
}

func (o Options) withDefaults() (Options, error) {
	if o.MaxInFlight < 0 || o.MaxConnectionBytes < 0 || o.Parts < 0 || o.MaxCalls < 0 || o.MaxGRPCStreams < 0 || o.MaxConnections < 0 || o.MaxScans < 0 || o.MaxSessions < 0 || o.MaxSessionScans < 0 || o.MaxDagStreams < 0 || o.MaxKVStreams < 0 || o.MaxLockWaits < 0 || o.MaxGovStreams < 0 || o.MaxTransfers < 0 {
		return o, fmt.Errorf("%w: a limit is negative", ErrOptions)
	}
	if o.SessionIdle < 0 || o.Stall < 0 || o.Greeting < 0 || o.CallTimeout < 0 || o.SlowCall < 0 || o.DrainTimeout < 0 || o.TransferIdle < 0 {
		return o, fmt.Errorf("%w: a time is negative", ErrOptions)
	}
	if o.Peers == nil {
		o.Peers = ownPeers()
	}
	for _, row := range o.Peers.Rows() {
		if tenant := row.Rights.Tenant; len(tenant) > kv.MaxTenant {
			return o, fmt.Errorf("%w: the tenant of peer %d has a name of %d bytes; it has 1 to %d", ErrOptions, row.ID, len(tenant), kv.MaxTenant)
		}
	}
	setDefault(&o.MaxInFlight, 256<<20)
	setDefault(&o.MaxConnectionBytes, 8<<20)
	setDefault(&o.Parts, 4)
	setDefault(&o.Stall, 10*time.Second)
	setDefault(&o.MaxCalls, 32<<10)
	setDefault(&o.MaxGRPCStreams, 1024)
	setDefault(&o.MaxConnections, 4096)
	setDefault(&o.MaxStreams, 256)
	setDefault(&o.MaxScans, 1024)
	setDefault(&o.MaxSessions, 1024)
	setDefault(&o.MaxSessionScans, 64)
	setDefault(&o.MaxDagStreams, 1024)
	setDefault(&o.MaxKVStreams, 4096)
	setDefault(&o.MaxLockWaits, 10_000)
	setDefault(&o.MaxGovStreams, 1024)
	setDefault(&o.MaxTransfers, 64)
	setDefault(&o.TransferIdle, time.Minute)
	setDefault(&o.SessionIdle, 10*time.Minute)
	setDefault(&o.Greeting, 10*time.Second)
	setDefault(&o.CallTimeout, time.Minute)
	setDefault(&o.DrainTimeout, 30*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Info.Started.IsZero() {
		o.Info.Started = o.Now()
	}
	if o.peerOf == nil {
		o.peerOf = demux.ReadPeer
	}
	return o, nil
}

// ownPeers lets the server's own user and root do everything.
func ownPeers() *access.Table {
	var t access.Table
	for _, uid := range []uint32{uint32(os.Geteuid()), 0} {
		_ = t.User(uid, access.Rights{Roles: access.All}) // it is bound to no tenant
	}
	return &t
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
