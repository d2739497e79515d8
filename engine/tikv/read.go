package tikv

import (
	"bytes"
	"errors"
	"math"
	"sync/atomic"

	"github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/txnkv/txnsnapshot"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// latest is the timestamp at which a single key is read as it was last committed. It takes no
// timestamp of PD.
const latest = math.MaxUint64

// Get appends the value of a key to dst; see [engine.Getter].
func (e *Engine) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if err := e.use(); err != nil {
		return dst, err
	}
	defer e.done()
	if err := engine.CheckColumn(col); err != nil {
		return dst, err
	}
	row, err := e.store.GetSnapshot(latest).Get(e.ctx, e.key(col, key))
	if err != nil {
		return dst, e.fault(err)
	}
	v, err := whole(row)
	if !errors.Is(err, errParts) {
		return append(dst, v...), err
	}
	ts, err := e.now()
	if err != nil {
		return dst, err
	}
	return e.get(dst, e.store.GetSnapshot(ts), col, key)
}

func (e *Engine) get(dst []byte, from *txnsnapshot.KVSnapshot, col column.Column, key []byte) ([]byte, error) {
	if err := engine.CheckColumn(col); err != nil {
		return dst, err
	}
	row, err := from.Get(e.ctx, e.key(col, key))
	if err != nil {
		return dst, e.fault(err)
	}
	return e.value(dst, from, row)
}

// MultiGet looks up keys in one state; see [engine.Reader].
func (e *Engine) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	ts, err := e.useNow()
	if err != nil {
		return buf, err
	}
	defer e.done()
	return e.multiGet(buf, e.store.GetSnapshot(ts), lookups)
}

func (e *Engine) multiGet(buf []byte, from batchGetter, lookups []engine.Lookup) ([]byte, error) {
	keys := make([][]byte, len(lookups))
	for i, l := range lookups {
		if err := engine.CheckColumn(l.Column); err != nil {
			return buf, err
		}
		keys[i] = e.key(l.Column, l.Key)
	}
	found, err := from.BatchGet(e.ctx, keys)
	if err != nil {
		return buf, e.fault(err)
	}
	at := len(buf)
	for i := range lookups {
		l := &lookups[i]
		var stored []byte
		if stored, l.Found = found[string(keys[i])]; !l.Found {
			l.Value = nil
			continue
		}
		before := len(buf)
		if buf, err = e.value(buf, from, stored); err != nil {
			return buf, err
		}
		l.Value = buf[before:]
	}
	engine.PlaceValues(buf, at, lookups)
	return buf, nil
}

// Iterate returns an iterator over a range of a column; see [engine.Reader].
func (e *Engine) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	ts, err := e.useNow()
	if err != nil {
		return nil, err
	}
	defer e.done()
	return e.iterate(ts, nil, col, r)
}

// Snapshot returns the store as it is now; see [engine.Engine].
func (e *Engine) Snapshot() (engine.Snapshot, error) {
	ts, err := e.useNow()
	if err != nil {
		return nil, err
	}
	defer e.done()
	e.snapshots.Add(1)
	e.hold(ts)
	return &snapshot{engine: e, ts: ts}, nil
}

// useNow is use and now.
func (e *Engine) useNow() (ts uint64, err error) {
	if err := e.use(); err != nil {
		return 0, err
	}
	if ts, err = e.now(); err != nil {
		e.done()
	}
	return ts, err
}

// now returns a timestamp after everything that is committed.
func (e *Engine) now() (uint64, error) {
	ts, err := e.store.CurrentTimestamp(oracle.GlobalTxnScope)
	if err != nil {
		return 0, e.fault(err)
	}
	return ts, nil
}

// snapshot is the store as of a timestamp.
type snapshot struct {
	engine *Engine
	ts     uint64
	closed atomic.Bool
}

// from returns a snapshot of client-go, which keeps all that it has read: each call has its own.
func (s *snapshot) from() *txnsnapshot.KVSnapshot { return s.engine.store.GetSnapshot(s.ts) }

// use is what each call begins with; see Engine.use.
func (s *snapshot) use() error {
	if err := s.engine.use(); err != nil {
		return err
	}
	if s.closed.Load() {
		s.engine.done()
		return engine.ErrClosed
	}
	return nil
}

func (s *snapshot) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if err := s.use(); err != nil {
		return dst, err
	}
	defer s.engine.done()
	return s.engine.get(dst, s.from(), col, key)
}

func (s *snapshot) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	if err := s.use(); err != nil {
		return buf, err
	}
	defer s.engine.done()
	return s.engine.multiGet(buf, s.from(), lookups)
}

func (s *snapshot) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	if err := s.use(); err != nil {
		return nil, err
	}
	defer s.engine.done()
	return s.engine.iterate(s.ts, &s.closed, col, r)
}

// Close gives the snapshot up. Iterators over it end with ErrClosed.
func (s *snapshot) Close() error {
	if s.closed.Swap(true) {
		return engine.ErrClosed
	}
	s.engine.snapshots.Add(-1)
	s.engine.release(s.ts)
	if err := s.engine.use(); err != nil {
		return err
	}
	s.engine.done()
	return nil
}

// pager hands out the entries of a range.
type pager struct {
	engine *Engine
	ts     uint64
	from   *txnsnapshot.KVSnapshot
	over   *atomic.Bool // whether what it reads is closed; nil: only with the engine
	walk   walk
	value  []byte // of an entry
	closed bool
}

// scanned is how many rows client-go asks a store for at once.
const scanned = 256

func (e *Engine) iterate(ts uint64, over *atomic.Bool, col column.Column, r engine.Range) (*engine.Iterator, error) {
	if err := engine.CheckColumn(col); err != nil {
		return nil, err
	}
	from := e.store.GetSnapshot(ts)
	if r.Limit > 0 && r.Limit < scanned {
		from.SetScanBatchSize(max(r.Limit, 2)) // of one row client-go takes the usual number
	}
	p := &pager{engine: e, ts: ts, from: from, over: over, walk: walk{engine: e, back: r.Reverse, from: opener{
		up:   func(start, end []byte) (cursor, error) { return from.Iter(start, end) },
		down: func(end []byte) (cursor, error) { return from.IterReverse(end) },
	}}}
	if err := p.walk.enter(e.column(col), nil, bytes.Clone(r.Start), bytes.Clone(r.End)); err != nil {
		return nil, e.fault(err)
	}
	e.hold(ts)
	return engine.NewIterator(p, r.Limit), nil
}

func (p *pager) Page(dst []byte, maxEntries, maxBytes int) ([]byte, int, error) {
	if p.closed {
		return dst, 0, engine.ErrClosed
	}
	if err := p.engine.use(); err != nil {
		return dst, 0, err
	}
	defer p.engine.done()
	if p.over != nil && p.over.Load() {
		return dst, 0, engine.ErrClosed
	}
	n, full := 0, len(dst)+maxBytes
	for n == 0 || n < maxEntries && len(dst) < full {
		key, row, ok, err := p.walk.next()
		if err != nil {
			return dst, n, p.engine.fault(err)
		}
		if !ok {
			break
		}
		if p.value, err = p.engine.value(p.value[:0], p.from, row); err != nil {
			return dst, n, err
		}
		dst = engine.AppendEntry(dst, key, p.value)
		n++
	}
	return dst, n, nil
}

func (p *pager) Close() error {
	if !p.closed {
		p.closed = true
		p.walk.close()
		p.engine.release(p.ts)
	}
	return nil
}
