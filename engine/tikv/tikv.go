// Package tikv is an engine on a cluster of TiKV: what engine/rocks keeps on one disk lies on many
// machines, each row on three of them, and several daemons may serve it.
//
// A row is a key of the cluster: a prefix, the column, the key. A batch is one transaction of
// Percolator (Peng, Dabek, 2010), as TiKV has them: all its rows or none, as of one timestamp
// that PD gives. README.md says what is stored, what may fail and how, and what a cluster must be
// told for it.
package tikv

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tikv/client-go/v2/config"
	tikverr "github.com/tikv/client-go/v2/error"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv"

	"github.com/stoadb/stoa/engine"
)

// Options say how an engine uses a cluster. The zero Options are those of a store of its own.
type Options struct {
	// Prefix starts all keys of the store, so that a cluster may hold other things, TiDB's or another
	// store's; empty: "stoa/". One prefix must not start another.
	Prefix string
	// Wait is how long a write whose outcome the cluster did not tell asks for it, and a new engine
	// for the cluster; 0: 30 seconds.
	Wait time.Duration
	// Keep is how long versions of rows that were overwritten stay for readers; 0: 10 minutes;
	// negative: another program, TiDB, says what may go.
	Keep time.Duration
	// TwoPhase has every transaction commit in two phases. TiKV can do it in one, and answer after the first;
	// unistore, on which tests run, does so too, but lets a reader miss what is under way then.
	TwoPhase bool
	// Logger is told what goes on beside calls; nil: nobody is.
	Logger *slog.Logger
	// Security are the certificates of TLS; zero: none.
	Security config.Security
}

const defaultPrefix = "stoa/"

func (o Options) filled() Options {
	if o.Prefix == "" {
		o.Prefix = defaultPrefix
	}
	if o.Wait == 0 {
		o.Wait = 30 * time.Second
	}
	if o.Keep == 0 {
		o.Keep = 10 * time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Engine is an engine.Engine on a cluster; see Open.
type Engine struct {
	store  *tikv.KVStore
	owned  bool // Close closes the store
	prefix string
	wait   time.Duration
	keep   time.Duration
	log    *slog.Logger
	quick  bool   // transactions ask for commits in one phase, and asynchronous ones
	writer []byte // names the row that says which of this engine's writes was the last

	ctx    context.Context // ends with the engine
	cancel context.CancelFunc
	calls  sync.RWMutex // read by what uses the store, written by Close
	closed bool

	commit *engine.Committer
	lease  atomic.Pointer[Lease] // nil: the engine has not asked to lead

	heldMu    sync.Mutex
	held      map[uint64]int // how many read at a timestamp
	collected chan struct{}  // closed when nobody collects any more

	pd         []string // the addresses of PD's HTTP interface; none: not known
	http       *http.Client
	measuredMu sync.Mutex
	measured   measured

	snapshots atomic.Int64
	changes   atomic.Uint64 // made by this engine
}

var _ engine.Engine = (*Engine)(nil)

// Open connects to the cluster whose PD servers are at addresses (HOST:PORT), and makes a store
// there if there is none. Any number of engines may have the same store open, in any number of processes.
func Open(addresses []string, o Options) (*Engine, error) {
	o = o.filled()
	logTo(o.Logger)
	config.UpdateGlobal(func(c *config.Config) { c.Security = o.Security })
	client, err := txnkv.NewClient(addresses)
	if err != nil {
		return nil, fmt.Errorf("tikv: the cluster of %v: %w", addresses, err)
	}
	e, err := New(client.KVStore, o)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	e.owned = true
	if e.http, e.pd, err = interfaces(addresses, o.Security); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// interfaces returns the addresses of the HTTP interfaces of PD servers, and what asks there.
func interfaces(addresses []string, s config.Security) (*http.Client, []string, error) {
	tls, err := s.ToTLSConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("tikv: certificates: %w", err)
	}
	scheme := "http://"
	if tls != nil {
		scheme = "https://"
	}
	var urls []string
	for _, a := range addresses {
		urls = append(urls, scheme+a)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: tls}}, urls, nil
}

// New returns an engine on an open client of a cluster, which it does not close.
func New(store *tikv.KVStore, o Options) (*Engine, error) {
	o = o.filled()
	logTo(o.Logger)
	e := &Engine{store: store, prefix: o.Prefix, wait: o.Wait, keep: o.Keep, quick: !o.TwoPhase, log: o.Logger, writer: make([]byte, 16),
		held: make(map[uint64]int), collected: make(chan struct{})}
	if _, err := rand.Read(e.writer); err != nil {
		return nil, err
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	if err := e.layout(); err != nil {
		e.cancel()
		return nil, err
	}
	e.commit = engine.NewCommitter(&sink{engine: e})
	if e.keep < 0 {
		close(e.collected)
	} else {
		go e.collecting()
	}
	return e, nil
}

// layoutVersion is the version of what is stored, in the row ownLayout.
const layoutVersion = 1

// layout writes which layout the store has, or checks it.
func (e *Engine) layout() error {
	ctx, cancel := context.WithTimeout(e.ctx, e.wait)
	defer cancel()
	for {
		txn, err := e.store.Begin()
		if err != nil {
			return e.fault(err)
		}
		key := e.own(ownLayout)
		value, err := txn.Get(ctx, key)
		switch {
		case tikverr.IsErrNotFound(err):
		case err != nil:
			return e.fault(inTime(ctx, err))
		case len(value) != 4 || binary.LittleEndian.Uint32(value) != layoutVersion:
			return fmt.Errorf("%w: the cluster holds a store of layout %x under %q, and this program knows %d", engine.ErrSchema, value, e.prefix, layoutVersion)
		default:
			return nil
		}
		if err := txn.Set(key, binary.LittleEndian.AppendUint32(nil, layoutVersion)); err != nil {
			return err
		}
		err = inTime(ctx, txn.Commit(ctx))
		if err == nil || ctx.Err() != nil {
			return e.fault(err)
		}
		if !tikverr.IsErrWriteConflict(err) && !tikverr.IsErrorUndetermined(err) {
			return e.fault(err)
		} // another has made it at the same time: look again
	}
}

// use is what each call that reads or writes the cluster begins with; done is to be called after it.
func (e *Engine) use() error {
	e.calls.RLock()
	if e.closed {
		e.calls.RUnlock()
		return engine.ErrClosed
	}
	return nil
}

func (e *Engine) done() { e.calls.RUnlock() }

// Close ends the engine, iterators and snapshots included; see [engine.Engine]. The store stays
// as it is.
func (e *Engine) Close() error {
	e.commit.Stop(engine.ErrClosed)
	e.cancel()
	e.calls.Lock()
	defer e.calls.Unlock()
	if e.closed {
		return engine.ErrClosed
	}
	e.closed = true
	<-e.collected
	var err error
	if e.keep >= 0 {
		err = e.unheld()
	}
	if e.owned {
		err = errors.Join(err, e.store.Close())
	}
	return err
}

// Apply makes all changes of a batch, or none; see [engine.Writer].
func (e *Engine) Apply(b *engine.Batch) error { return e.commit.Apply(b) }

// Update lets fn read and write with no other write in between; see [engine.Engine]. Writes of
// other engines on the same store come between only where fn reads ranges.
func (e *Engine) Update(fn func(engine.Getter, *engine.Batch) error) error {
	return e.commit.Update(fn)
}
