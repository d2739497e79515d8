package tikv

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	tikverr "github.com/tikv/client-go/v2/error"
	"github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// sink is the side of the engine that its committer writes to. What one group of writes reads, and
// what it changes, is one transaction, in which keys that were read are locked with those that
// change: if another engine has changed one meanwhile, nothing is written, and the group is made anew.
type sink struct {
	engine *Engine

	mu   sync.Mutex // an update may read from many goroutines
	txn  *transaction.KVTxn
	read map[string]struct{} // keys that the group has read
}

// Begin is called before each group; see [engine.Transactor].
func (s *sink) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.txn, s.read = nil, nil
}

// begun returns the transaction of the group. Keys that it reads are kept in mind.
func (s *sink) begun(read ...[]byte) (*transaction.KVTxn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.txn == nil {
		txn, err := s.engine.store.Begin()
		if err != nil {
			return nil, s.engine.fault(err)
		}
		s.txn, s.read = txn, make(map[string]struct{})
	}
	for _, k := range read {
		s.read[string(k)] = struct{}{}
	}
	return s.txn, nil
}

func (s *sink) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	txn, err := s.begun(s.engine.key(col, key))
	if err != nil {
		return dst, err
	}
	return s.engine.get(dst, txn.GetSnapshot(), col, key)
}

func (s *sink) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	read := make([][]byte, len(lookups))
	for i, l := range lookups {
		read[i] = s.engine.key(l.Column, l.Key)
	}
	txn, err := s.begun(read...)
	if err != nil {
		return buf, err
	}
	return s.engine.multiGet(buf, txn.GetSnapshot(), lookups)
}

func (s *sink) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	txn, err := s.begun()
	if err != nil {
		return nil, err
	}
	return s.engine.iterate(txn.StartTS(), nil, col, r)
}

// Write commits the transaction of the group with the changes of ops. All writes are on the disks of
// most replicas when it returns nil, whatever sync is.
func (s *sink) Write(ops []byte, _ bool) error {
	e := s.engine
	txn, err := s.begun()
	if err != nil {
		return err
	}
	changes, err := s.put(txn, ops)
	if err != nil {
		return err
	}
	total := e.changes.Load() + changes
	number := binary.LittleEndian.AppendUint64(nil, total)
	if err := txn.Set(e.written(), append(number, attempt(txn)...)); err != nil {
		return e.fault(err)
	}
	if err := s.fence(txn); err != nil {
		return err
	}
	if err := s.lockRead(txn); err != nil {
		return err
	}
	txn.SetEnable1PC(e.quick)
	txn.SetEnableAsyncCommit(e.quick)
	if err := s.outcome(txn, s.commit(txn)); err != nil {
		return err
	}
	e.changes.Store(total)
	return nil
}

// commit commits a transaction within the time that the engine waits.
func (s *sink) commit(txn *transaction.KVTxn) error {
	ctx, cancel := context.WithTimeout(s.engine.ctx, s.engine.wait)
	defer cancel()
	return inTime(ctx, txn.Commit(ctx))
}

// attempt names a transaction: its timestamp is no other's.
func attempt(txn *transaction.KVTxn) []byte {
	return binary.LittleEndian.AppendUint64(nil, txn.StartTS())
}

// put puts changes into a transaction, and returns how many.
func (s *sink) put(txn *transaction.KVTxn, ops []byte) (changes uint64, err error) {
	e := s.engine
	for op, err := range engine.Changes(ops) {
		if err != nil {
			return 0, err
		}
		changes++
		switch op.Kind {
		case engine.KindPut:
			err = e.set(txn, changes, op.Column, op.Key, op.Value)
		case engine.KindDelete:
			err = e.unset(txn, op.Column, op.Key)
		case engine.KindDeleteRange:
			err = e.unsetRange(txn, op.Column, op.Key, op.Value)
		}
		if err != nil {
			return 0, e.fault(err)
		}
	}
	return changes, nil
}

// unsetRange deletes every row of a range, those that the transaction has put included.
func (e *Engine) unsetRange(txn *transaction.KVTxn, col column.Column, start, end []byte) error {
	w := walk{engine: e, from: opener{up: func(start, end []byte) (cursor, error) { return txn.Iter(start, end) }}}
	defer w.close()
	if err := w.enter(e.column(col), nil, start, end); err != nil {
		return err
	}
	var keys [][]byte
	for {
		key, _, ok, err := w.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		keys = append(keys, key)
	}
	for _, k := range keys {
		if err := e.unset(txn, col, k); err != nil {
			return err
		}
	}
	return nil
}

// lockRead locks the keys that the group has read and does not change.
func (s *sink) lockRead(txn *transaction.KVTxn) error {
	var keys [][]byte
	for k := range s.read {
		if _, err := txn.GetMemBuffer().Get([]byte(k)); tikverr.IsErrNotFound(err) {
			keys = append(keys, []byte(k))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	slices.SortFunc(keys, bytes.Compare)
	return s.engine.fault(txn.LockKeys(s.engine.ctx, kv.NewLockCtx(txn.StartTS(), kv.LockNoWait, time.Now()), keys...))
}

// outcome returns what has become of a commit that has returned err. Unless it says for sure that nothing
// was made, the cluster is asked: a store that has lost its place may have taken what it answered an error to, and the
// client goes by the last error that it has seen.
func (s *sink) outcome(txn *transaction.KVTxn, err error) error {
	e := s.engine
	switch {
	case err == nil:
		return nil
	case tikverr.IsErrWriteConflict(err):
		return fmt.Errorf("%w: %w", engine.ErrMoved, err)
	case isTooLarge(err):
		return e.fault(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), e.wait)
	defer cancel()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		made, asked := e.settle(ctx, attempt(txn))
		switch {
		case asked == nil && made:
			return nil
		case asked == nil && tikverr.IsErrorUndetermined(err):
			return engine.ErrMoved // nothing of it is there, nor will be
		case asked == nil:
			return e.fault(err)
		}
		select {
		case <-ctx.Done():
			if l := e.lease.Load(); l != nil {
				e.log.Error("nobody knows whether a write was made: what this process has in memory counts no more, and it gives the lead back", "error", asked)
				l.lose()
			}
			return fmt.Errorf("%w: %w, and asked for it for %v: %w", engine.ErrUndetermined, err, e.wait, asked)
		case <-time.After(pause):
		}
	}
}

// settle reports whether the last write of this engine that was made is the attempt. It writes the row that says
// so anew: what has not been made then conflicts with that, however late it arrives.
func (e *Engine) settle(ctx context.Context, attempt []byte) (bool, error) {
	txn, err := e.store.Begin()
	if err != nil {
		return false, err
	}
	row, err := txn.Get(ctx, e.written())
	if tikverr.IsErrNotFound(err) {
		row, err = make([]byte, 16), nil
	}
	if err != nil {
		return false, err
	}
	if err := txn.Set(e.written(), row); err != nil {
		return false, err
	}
	return bytes.HasSuffix(row, attempt), txn.Commit(ctx)
}
