package tikv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	tikverr "github.com/tikv/client-go/v2/error"
	"github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/stoadb/stoa/engine"
)

// Several processes may have a store open, and one of them leads it: the one whose name is in the row
// ownLead. It says in a row of its own, ownAlive, until when nobody is to take its place, by PD's clock, and
// says so again before then. Where it does not, another writes its own name to ownLead.
//
// A transaction of the leader begins at a timestamp of PD, which is before the time until which it leads, and
// locks ownLead. So nobody had taken its place when it began, and if somebody has when it commits, the
// row has changed, and nothing of it is made: whatever stands still for however long between the two, and
// with no read (Gray, Cheriton, 1989, but for writes, which the store itself refuses).

const (
	defaultTTL = 6 * time.Second
	// leadPoll is how often one who waits looks.
	leadPoll = time.Second
)

// ErrNotLeading is returned, with engine.ErrReadOnly, by writes of an engine that led the store, and
// whose place another has taken: nothing of them was made, and this engine writes nothing any more.
var ErrNotLeading = errors.New("tikv: another process leads the store")

// LeadOptions say how an engine leads. The zero LeadOptions are for tests: nobody can be told
// where the leader is.
type LeadOptions struct {
	// Address is where users find the process, as others are told.
	Address string
	// TTL is how long after the last word of a leader another takes its place; 0: 6 seconds.
	TTL time.Duration
	// Every is how often the leader says that it is there; 0: a third of TTL.
	Every time.Duration
	// Waits is told who leads meanwhile, once for each; nil: nobody is.
	Waits func(Leader)
}

// Leader is who leads a store.
type Leader struct {
	Address string
	// Term counts the changes of leaders: it is greater than that of every leader before.
	Term uint64
	id   []byte
}

// Lease is the time in which an engine leads its store.
type Lease struct {
	Leader
	engine *Engine
	ttl    time.Duration
	value  []byte       // of ownLead
	until  atomic.Int64 // by PD's clock, in milliseconds
	mu     sync.Mutex   // one renews
	lost   chan struct{}
	ended  chan struct{} // closed when nobody renews any more
	stop   context.CancelFunc
	gone   sync.Once
}

// Lead waits until this engine leads the store, or ctx is done. From then on its writes are refused, with
// ErrNotLeading, if another has taken its place; those of an engine that has not asked to lead never
// are. An engine leads once.
//
// Errors of the cluster are tried again, and logged. It returns that of ctx, or engine.ErrClosed.
func (e *Engine) Lead(ctx context.Context, o LeadOptions) (*Lease, error) {
	if o.TTL == 0 {
		o.TTL = defaultTTL
	}
	if o.Every == 0 {
		o.Every = o.TTL / 3
	}
	if err := e.use(); err != nil {
		return nil, err
	}
	defer e.done()
	var told uint64
	for {
		begun := time.Now()
		l, leader, err := e.tryLead(ctx, o)
		switch {
		case l != nil:
			e.lease.Store(l)
			ctx, cancel := context.WithCancel(e.ctx)
			l.stop = cancel
			go l.renewing(ctx, begun, o.Every)
			return l, nil
		case err == nil && leader.Term != told && o.Waits != nil:
			told = leader.Term
			o.Waits(leader)
		case err != nil:
			e.log.Warn("the cluster does not say who leads the store", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-e.ctx.Done():
			return nil, engine.ErrClosed
		case <-time.After(leadPoll):
		}
	}
}

// tryLead makes this engine the leader if there is none, or the one there was is silent. It returns
// nil and the leader if there is one.
func (e *Engine) tryLead(ctx context.Context, o LeadOptions) (*Lease, Leader, error) {
	ctx, cancel := context.WithTimeout(ctx, e.wait)
	defer cancel()
	txn, err := e.store.Begin()
	if err != nil {
		return nil, Leader{}, err
	}
	leader, err := e.leader(ctx, txn)
	if err != nil {
		return nil, leader, err
	}
	alive := e.own(ownAlive + string(leader.id))
	if leader.id != nil && !bytes.Equal(leader.id, e.writer) {
		until, err := untilOf(ctx, txn, alive)
		if err != nil || oracle.ExtractPhysical(txn.StartTS()) <= until {
			return nil, leader, err
		}
		if err := txn.Delete(alive); err != nil { // which fails if a word comes meanwhile
			return nil, leader, err
		}
	}
	l := &Lease{Leader: Leader{o.Address, leader.Term + 1, e.writer}, engine: e, ttl: o.TTL, lost: make(chan struct{}), ended: make(chan struct{})}
	l.value = append(binary.LittleEndian.AppendUint64(bytes.Clone(e.writer), l.Term), o.Address...)
	if err := txn.Set(e.own(ownLead), l.value); err != nil {
		return nil, leader, err
	}
	if err := l.say(ctx, txn); err != nil {
		return nil, leader, err // if it was made all the same, the next try finds this engine in the row
	}
	return l, l.Leader, nil
}

// leader returns who leads as of a transaction; a Leader without an id if nobody ever has.
func (e *Engine) leader(ctx context.Context, txn *transaction.KVTxn) (Leader, error) {
	value, err := txn.Get(ctx, e.own(ownLead))
	if tikverr.IsErrNotFound(err) {
		return Leader{}, nil
	}
	n := len(e.writer)
	if err == nil && len(value) < n+8 {
		err = fmt.Errorf("%w: the row of who leads has %d bytes", engine.ErrCorrupt, len(value))
	}
	if err != nil {
		return Leader{}, err
	}
	return Leader{id: value[:n:n], Term: binary.LittleEndian.Uint64(value[n:]), Address: string(value[n+8:])}, nil
}

// untilOf returns until when a leader is not to be replaced, by PD's clock; 0: it has said nothing.
func untilOf(ctx context.Context, txn *transaction.KVTxn, alive []byte) (int64, error) {
	value, err := txn.Get(ctx, alive)
	if tikverr.IsErrNotFound(err) {
		return 0, nil
	}
	if err == nil && len(value) != 8 {
		err = fmt.Errorf("%w: the row of until when somebody leads has %d bytes", engine.ErrCorrupt, len(value))
	}
	if err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(value)), nil
}

// say commits a transaction, which says besides until when this engine leads.
func (l *Lease) say(ctx context.Context, txn *transaction.KVTxn) error {
	until := oracle.ExtractPhysical(txn.StartTS()) + l.ttl.Milliseconds()
	alive := l.engine.own(ownAlive + string(l.engine.writer))
	if err := txn.Set(alive, binary.LittleEndian.AppendUint64(nil, uint64(until))); err != nil {
		return err
	}
	if err := txn.Commit(ctx); err != nil {
		return err
	}
	l.until.Store(until)
	select {
	case <-l.lost: // too late: its user has been told
		l.until.Store(0)
	default:
	}
	return nil
}

// renew says again that this engine leads. It returns ErrNotLeading if it does not any more.
func (l *Lease) renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.engine
	ctx, cancel := context.WithTimeout(ctx, e.wait)
	defer cancel()
	txn, err := e.store.Begin()
	if err != nil {
		return err
	}
	value, err := txn.Get(ctx, e.own(ownLead))
	if err == nil && !bytes.Equal(value, l.value) {
		l.lose()
		return ErrNotLeading
	}
	if err != nil {
		return err
	}
	return l.say(ctx, txn) // who takes the lead writes the same row
}

// renewing renews until ctx is done, or another leads, or may.
func (l *Lease) renewing(ctx context.Context, begun time.Time, every time.Duration) {
	defer close(l.ended)
	tick := time.NewTicker(every)
	defer tick.Stop()
	// Its time is over even while it waits for the cluster: by then another may lead, and it could not know.
	silence := time.AfterFunc(l.ttl-time.Since(begun), l.lose)
	defer silence.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.lost:
			l.engine.log.Error("the time in which this process leads the store is over, and the cluster has not taken that it is there")
			return
		case <-tick.C:
		}
		begun = time.Now()
		err := l.renew(ctx)
		switch {
		case err == nil:
			silence.Reset(l.ttl - time.Since(begun))
		case errors.Is(err, ErrNotLeading):
			l.engine.log.Error("another process has taken the lead of the store")
			return
		case ctx.Err() == nil:
			l.engine.log.Warn("the cluster does not take that this process leads the store", "error", err)
		}
	}
}

// lose has the engine not lead any more.
func (l *Lease) lose() {
	l.until.Store(0)
	l.gone.Do(func() { close(l.lost) })
}

// Lost is closed when another leads the store, or may: the process is not to answer any more from what
// it has in memory. Writes are refused by the store itself.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Close gives the lead back, so that another may have it at once. Writes of the engine are
// refused afterwards.
func (l *Lease) Close() error {
	l.stop()
	<-l.ended
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose()
	e := l.engine
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), e.wait)
	defer cancel()
	txn, err := e.store.Begin()
	if err == nil {
		err = txn.Delete(e.own(ownAlive + string(e.writer)))
	}
	if err == nil {
		err = txn.Commit(ctx)
	}
	return e.fault(err)
}

// fence keeps a transaction from being made unless this engine leads then, if it has asked to lead.
func (s *sink) fence(txn *transaction.KVTxn) error {
	l := s.engine.lease.Load()
	if l == nil {
		return nil
	}
	if oracle.ExtractPhysical(txn.StartTS()) > l.until.Load() {
		err := ErrNotLeading
		select {
		case <-l.lost:
		default:
			err = l.renew(s.engine.ctx)
		}
		switch {
		case err == nil, tikverr.IsErrWriteConflict(err):
			return engine.ErrMoved // it leads, as of later than this transaction, or is to look again
		case errors.Is(err, ErrNotLeading):
			return fmt.Errorf("%w: %w", engine.ErrReadOnly, err)
		}
		return s.engine.fault(err)
	}
	// It is written as it is, and not only locked: it is the first key of the transaction, whose record says what has
	// become of all of it, and records of locks are what a read of it had to pass.
	return s.engine.fault(txn.Set(s.engine.own(ownLead), l.value))
}
