package tikv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	tikverr "github.com/tikv/client-go/v2/error"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// TiKV takes 8 MiB in one entry of its log, and a scan takes 256 rows at once, however large. So a
// value of more than maxWhole lies in parts, each in a row of its own, written with the row that names them:
//
//	the row                   tagParts | length u64 LE | id
//	part n, from 0            own "part/" id | n u32 BE        maxWhole bytes at most
//	that there are parts      own "large/" column | id         number of parts u32 LE | key of the row in the cluster
//
// An id is no other value's, so that parts are never overwritten: they stay when their row is
// overwritten or deleted, and Compact takes those of its column away that their row does not name. Until then
// they take space, and nothing else: no write has to ask whether what it replaces is in parts.

const (
	maxWhole = 128 << 10
	idSize   = 12
)

const (
	tagWhole   = 0 // TiKV stores no empty values, so that a byte begins each
	tagParts   = 1
	tagPassage = 2
)

func (e *Engine) partKey(id []byte, n int) []byte {
	return binary.BigEndian.AppendUint32(append(e.own(ownPart), id...), uint32(n))
}

func (e *Engine) largeKey(col column.Column, id []byte) []byte {
	return append(append(e.own(ownLarge), byte(col)), id...)
}

// set puts a row into a transaction, as its nth change.
func (e *Engine) set(txn *transaction.KVTxn, nth uint64, col column.Column, key, v []byte) error {
	row, way := e.way(col, key)
	for _, p := range way {
		if err := txn.Set(p.row, []byte{tagPassage}); err != nil {
			return err
		}
	}
	if len(v) <= maxWhole {
		return txn.Set(row, append(append(make([]byte, 0, 1+len(v)), tagWhole), v...))
	}
	id := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, txn.StartTS()), uint32(nth))
	head := append(binary.LittleEndian.AppendUint64([]byte{tagParts}, uint64(len(v))), id...)
	n := 0
	for ; len(v) > 0; n++ {
		part := v[:min(len(v), maxWhole)]
		v = v[len(part):]
		if err := txn.Set(e.partKey(id, n), part); err != nil {
			return err
		}
	}
	return errors.Join(txn.Set(e.largeKey(col, id), append(binary.LittleEndian.AppendUint32(nil, uint32(n)), row...)), txn.Set(row, head))
}

// unset deletes a row in a transaction, and the rows that lead to it, if they lead to no other.
func (e *Engine) unset(txn *transaction.KVTxn, col column.Column, key []byte) error {
	row, way := e.way(col, key)
	if err := txn.Delete(row); err != nil {
		return err
	}
	for _, p := range slices.Backward(way) {
		at, err := txn.Iter(p.to, p.to.end())
		if err != nil {
			return err
		}
		others := at.Valid()
		at.Close()
		if others {
			break
		}
		if err := txn.Delete(p.row); err != nil {
			return err
		}
	}
	return nil
}

// errParts says that a value lies in parts.
var errParts = errors.New("in parts")

// whole returns a value from its row, or errParts.
func whole(row []byte) ([]byte, error) {
	switch {
	case len(row) > 0 && row[0] == tagWhole:
		return row[1:], nil
	case len(row) == 1+8+idSize && row[0] == tagParts:
		return nil, errParts
	}
	return nil, fmt.Errorf("%w: a row of %d bytes in the cluster is neither a value nor says where its parts are", engine.ErrCorrupt, len(row))
}

// batchGetter is a snapshot.
type batchGetter interface {
	BatchGet(ctx context.Context, keys [][]byte) (map[string][]byte, error)
}

// value appends the value of a row to dst. Its parts are read from the state that the row is of.
func (e *Engine) value(dst []byte, from batchGetter, row []byte) ([]byte, error) {
	v, err := whole(row)
	if !errors.Is(err, errParts) {
		return append(dst, v...), err
	}
	length, id := binary.LittleEndian.Uint64(row[1:]), row[9:]
	if length > engine.MaxValue {
		return dst, fmt.Errorf("%w: a value in parts of %d bytes", engine.ErrCorrupt, length)
	}
	var keys [][]byte
	for n := range int((length + maxWhole - 1) / maxWhole) {
		keys = append(keys, e.partKey(id, n))
	}
	parts, err := from.BatchGet(e.ctx, keys)
	if err != nil {
		return dst, e.fault(err)
	}
	before := len(dst)
	for _, k := range keys {
		dst = append(dst, parts[string(k)]...)
	}
	if got := len(dst) - before; uint64(got) != length {
		return dst[:before], fmt.Errorf("%w: the parts of a value have %d of %d bytes", engine.ErrCorrupt, got, length)
	}
	return dst, nil
}

// sweep deletes parts of the values of a column that no row names any more.
func (e *Engine) sweep(col column.Column) error {
	return e.eachOwn(append(e.own(ownLarge), byte(col)), func(large, tells []byte) error {
		return e.drop(bytes.Clone(large), tells)
	})
}

// drop deletes the parts that a row under ownLarge tells of, unless they are in use. No row comes to
// name them later.
func (e *Engine) drop(large, tells []byte) error {
	if len(large) < idSize || len(tells) < 4 {
		return fmt.Errorf("%w: a row that tells of parts has %d and %d bytes", engine.ErrCorrupt, len(large), len(tells))
	}
	id := large[len(large)-idSize:]
	txn, err := e.store.Begin()
	if err != nil {
		return e.fault(err)
	}
	row, err := txn.GetSnapshot().Get(e.ctx, tells[4:])
	if err != nil && !tikverr.IsErrNotFound(err) {
		return e.fault(err)
	}
	if err == nil && len(row) > idSize && row[0] == tagParts && bytes.HasSuffix(row, id) {
		return nil
	}
	for n := range int(binary.LittleEndian.Uint32(tells)) {
		if err := txn.Delete(e.partKey(id, n)); err != nil {
			return e.fault(err)
		}
	}
	if err := txn.Delete(large); err != nil {
		return e.fault(err)
	}
	err = txn.Commit(e.ctx)
	if tikverr.IsErrWriteConflict(err) || tikverr.IsErrorUndetermined(err) {
		return nil // another sweeps, or the next one finds them
	}
	return e.fault(err)
}
