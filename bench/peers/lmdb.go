//go:build lmdb

package main

// #cgo LDFLAGS: -llmdb
// #include <lmdb.h>
// #include <stdlib.h>
// #include <string.h>
//
// // One environment with one database, and a read transaction for each actor that is renewed.
//
// static int open_db(const char *dir, size_t map, MDB_env **env, MDB_dbi *dbi) {
// 	MDB_txn *txn;
// 	int rc = mdb_env_create(env);
// 	if (rc == 0) rc = mdb_env_set_mapsize(*env, map);
// 	if (rc == 0) rc = mdb_env_open(*env, dir, MDB_NOSYNC | MDB_NOTLS, 0600);
// 	if (rc == 0) rc = mdb_txn_begin(*env, NULL, 0, &txn);
// 	if (rc == 0) rc = mdb_dbi_open(txn, NULL, 0, dbi);
// 	if (rc == 0) rc = mdb_txn_commit(txn);
// 	return rc;
// }
//
// static int read_begin(MDB_env *env, MDB_txn **txn) {
// 	int rc = mdb_txn_begin(env, NULL, MDB_RDONLY, txn);
// 	if (rc == 0) mdb_txn_reset(*txn);
// 	return rc;
// }
//
// // gets copies the values of n keys of one size, in one state.
// static int gets(MDB_txn *txn, MDB_dbi dbi, char *keys, size_t size, int n, char *out, size_t value) {
// 	MDB_val k, v;
// 	int rc = mdb_txn_renew(txn);
// 	for (int i = 0; rc == 0 && i < n; i++) {
// 		k.mv_size = size;
// 		k.mv_data = keys + i * size;
// 		rc = mdb_get(txn, dbi, &k, &v);
// 		if (rc == 0 && v.mv_size != value) rc = MDB_BAD_VALSIZE;
// 		if (rc == 0) memcpy(out + i * value, v.mv_data, value);
// 	}
// 	mdb_txn_reset(txn);
// 	return rc;
// }
//
// // puts writes n rows that lie one after the other.
// static int puts_rows(MDB_env *env, MDB_dbi dbi, char *rows, size_t key, size_t value, int n, int sync) {
// 	MDB_txn *txn;
// 	MDB_val k, v;
// 	int rc = mdb_txn_begin(env, NULL, 0, &txn);
// 	if (rc != 0) return rc;
// 	for (int i = 0; rc == 0 && i < n; i++) {
// 		k.mv_size = key;
// 		k.mv_data = rows + i * (key + value);
// 		v.mv_size = value;
// 		v.mv_data = rows + i * (key + value) + key;
// 		rc = mdb_put(txn, dbi, &k, &v, 0);
// 	}
// 	if (rc != 0) {
// 		mdb_txn_abort(txn);
// 		return rc;
// 	}
// 	rc = mdb_txn_commit(txn);
// 	if (rc == 0 && sync) rc = mdb_env_sync(env, 1);
// 	return rc;
// }
//
// // scan copies at most n entries from a key on that begin as it does, or all entries, and counts them.
// static int scan(MDB_txn *txn, MDB_dbi dbi, char *from, size_t size, size_t prefix, long n, char *out, size_t room, long *count) {
// 	MDB_cursor *c;
// 	MDB_val k = {size, from}, v;
// 	size_t at = 0;
// 	int rc = mdb_txn_renew(txn);
// 	if (rc == 0 && (rc = mdb_cursor_open(txn, dbi, &c)) == 0) {
// 		rc = mdb_cursor_get(c, &k, &v, size ? MDB_SET_RANGE : MDB_FIRST);
// 		for (*count = 0; rc == 0 && *count < n && (prefix == 0 || memcmp(k.mv_data, from, prefix) == 0); ++*count) {
// 			if (at + k.mv_size + v.mv_size > room) at = 0;
// 			memcpy(out + at, k.mv_data, k.mv_size);
// 			memcpy(out + at + k.mv_size, v.mv_data, v.mv_size);
// 			at += k.mv_size + v.mv_size;
// 			rc = mdb_cursor_get(c, &k, &v, MDB_NEXT);
// 		}
// 		mdb_cursor_close(c);
// 	}
// 	mdb_txn_reset(txn);
// 	return rc == MDB_NOTFOUND ? 0 : rc;
// }
import "C"

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/stoadb/stoa/bench"
)

// mapBytes is what the map of LMDB may grow to.
const mapBytes = 16 << 30

// lmdb is an environment of LMDB, whose calls are made in C, one for a unit of work.
type lmdb struct {
	env *C.MDB_env
	dbi C.MDB_dbi
}

func lmdbError(rc C.int) error {
	if rc == 0 {
		return nil
	}
	return errors.New("lmdb: " + C.GoString(C.mdb_strerror(rc)))
}

// openLMDB fills a store.
func openLMDB(o bench.Options, data *bench.Dataset) ([]*bench.Subject, error) {
	dir := filepath.Join(o.Dir, "lmdb")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	db := &lmdb{}
	if err := lmdbError(C.open_db(path, mapBytes, &db.env, &db.dbi)); err != nil {
		return nil, fmt.Errorf("opening lmdb: %w", err)
	}
	s := &bench.Subject{
		Name: "lmdb", Dir: dir, Close: func() error { C.mdb_env_close(db.env); return nil },
		Settle: func() error { return lmdbError(C.mdb_env_sync(db.env, 1)) },
		Actor:  func() (bench.Actor, error) { return newLMDB(db, data) },
	}
	o.Logger.Info("filling lmdb", "rows", data.Rows)
	a, err := newLMDB(db, data)
	if err != nil {
		return []*bench.Subject{s}, err
	}
	defer a.Release()
	for first := 0; first < data.Rows; first += loadRows {
		if err := a.Batch(first, min(loadRows, data.Rows-first)); err != nil {
			return []*bench.Subject{s}, fmt.Errorf("filling lmdb: %w", err)
		}
	}
	return []*bench.Subject{s}, nil
}

// lmdbActor works on LMDB, each read in a transaction of its own that is renewed. Put and Batch
// are MDB_NOSYNC: the pages are the system's when they return.
type lmdbActor struct {
	rows
	db   *lmdb
	txn  *C.MDB_txn
	keys []byte
	buf  []byte
}

func newLMDB(db *lmdb, data *bench.Dataset) (*lmdbActor, error) {
	a := &lmdbActor{rows: rows{data: data}, db: db, buf: make([]byte, 1<<20)}
	return a, lmdbError(C.read_begin(db.env, &a.txn))
}

func (a *lmdbActor) get(rows ...int) C.int {
	a.keys = a.keys[:0]
	for _, row := range rows {
		a.keys = append(a.keys, a.at(row)...)
	}
	return C.gets(a.txn, a.db.dbi, (*C.char)(unsafe.Pointer(&a.keys[0])), bench.KeyBytes, C.int(len(rows)), (*C.char)(unsafe.Pointer(&a.buf[0])), bench.ValueBytes)
}

func (a *lmdbActor) Get(row int) error         { return lmdbError(a.get(row)) }
func (a *lmdbActor) MultiGet(rows []int) error { return lmdbError(a.get(rows...)) }

func (a *lmdbActor) Miss(row int) error {
	switch rc := a.get(row); rc {
	case 0:
		return errStored
	case C.MDB_NOTFOUND:
		return nil
	default:
		return lmdbError(rc)
	}
}

func (a *lmdbActor) Put(row int) error       { return a.write(row, 1, 0) }
func (a *lmdbActor) PutSynced(row int) error { return a.write(row, 1, 1) }

func (a *lmdbActor) Batch(first, n int) error { return a.write(first, n, 0) }

func (a *lmdbActor) write(first, n int, sync C.int) error {
	a.keys = a.keys[:0]
	for row := first; row < first+n; row++ {
		key, value := a.of(row)
		a.keys = append(append(a.keys, key...), value...)
	}
	return lmdbError(C.puts_rows(a.db.env, a.db.dbi, (*C.char)(unsafe.Pointer(&a.keys[0])), bench.KeyBytes, bench.ValueBytes, C.int(n), sync))
}

func (a *lmdbActor) Scan(row, n int) (int, error) {
	return a.scan(a.at(row), bench.ContextBytes, n)
}

func (a *lmdbActor) Walk() (int, error) { return a.scan(make([]byte, 1), 0, math.MaxInt) }

func (a *lmdbActor) scan(from []byte, prefix, n int) (int, error) {
	var count C.long
	rc := C.scan(a.txn, a.db.dbi, (*C.char)(unsafe.Pointer(&from[0])), C.size_t(len(from)), C.size_t(prefix), C.long(n), (*C.char)(unsafe.Pointer(&a.buf[0])), C.size_t(len(a.buf)), &count)
	return int(count), lmdbError(rc)
}

func (a *lmdbActor) Release() error {
	C.mdb_txn_abort(a.txn)
	return nil
}
