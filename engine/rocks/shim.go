//go:build cgo

package rocks

// #include <stdlib.h>
// #include "shim.h"
//
// #cgo noescape stoa_get
// #cgo nocallback stoa_get
// #cgo noescape stoa_unpin
// #cgo nocallback stoa_unpin
// #cgo noescape stoa_multi_get
// #cgo nocallback stoa_multi_get
// #cgo noescape stoa_view_open
// #cgo nocallback stoa_view_open
// #cgo noescape stoa_view_close
// #cgo nocallback stoa_view_close
// #cgo noescape stoa_iter_open
// #cgo nocallback stoa_iter_open
// #cgo noescape stoa_iter_page
// #cgo nocallback stoa_iter_page
// #cgo noescape stoa_write
// #cgo nocallback stoa_write
import "C"

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// handles are the C side of an open database.
type handles struct {
	c     *C.stoa_db
	files renamed
}

// newHandles takes the C pointers out of grocksdb's structs, which have no
// accessors for them. A family that is nil is left out.
func newHandles(db *grocksdb.DB, families [column.Count + 1]*grocksdb.ColumnFamilyHandle, files renamed) handles {
	h := handles{(*C.stoa_db)(C.calloc(1, C.sizeof_stoa_db)), files}
	h.c.db = *(**C.rocksdb_t)(unsafe.Pointer(db))
	for i, f := range families {
		if f != nil {
			h.c.cf[i] = *(**C.rocksdb_column_family_handle_t)(unsafe.Pointer(f))
		}
	}
	C.stoa_db_init(h.c)
	return h
}

// checkLayout returns an error unless newHandles can do what it does with this
// version of grocksdb.
func checkLayout() error {
	for _, t := range []reflect.Type{reflect.TypeFor[grocksdb.DB](), reflect.TypeFor[grocksdb.ColumnFamilyHandle]()} {
		f := t.Field(0)
		if f.Name != "c" || f.Offset != 0 || f.Type.Kind() != reflect.Pointer {
			return fmt.Errorf("rocks: %s of this grocksdb does not start with the field c, a pointer; build with the version in go.mod", t)
		}
	}
	return nil
}

// fix says that the database does not change: its views are itself.
func (h handles) fix() { h.c.fixed = 1 }

func (h handles) release() {
	C.stoa_db_release(h.c)
	C.free(unsafe.Pointer(h.c))
}

func (h handles) has(col column.Column) bool { return h.c.cf[col] != nil }

// view is a snapshot. The zero view is the store as it is.
type view struct{ c C.stoa_view }

func (h handles) openView() (v view) {
	C.stoa_view_open(h.c, &v.c)
	return v
}

func (h handles) closeView(v *view) { C.stoa_view_close(h.c, &v.c) }

// get appends the value of key to dst.
func (h handles) get(v *view, dst []byte, col column.Column, key []byte) ([]byte, error) {
	var out C.stoa_got
	var read *C.rocksdb_readoptions_t
	if v != nil {
		read = v.c.read
	}
	room := dst[len(dst):cap(dst)]
	C.stoa_get(h.c, read, C.int(col), chars(key), C.size_t(len(key)), chars(room), C.size_t(len(room)), &out)
	if out.err != nil {
		return dst, h.files.takeError("get", out.err)
	}
	if out.found == 0 {
		return dst, engine.ErrNotFound
	}
	n := len(dst) + int(out.len)
	if out.pin != nil {
		dst = slices.Grow(dst, int(out.len))
		C.stoa_unpin(out.pin, chars(dst[len(dst):n]))
	}
	return dst[:n], nil
}

// multiGet looks up keys, packed by packKey, from the first on. It appends their
// values to buf and sets lens.
func (h handles) multiGet(v *view, buf, keys []byte, lens []int64) ([]byte, error) {
	for len(lens) > 0 {
		var out C.stoa_multi
		room := buf[len(buf):cap(buf)]
		C.stoa_multi_get(h.c, v.c.read, chars(keys), C.size_t(len(lens)), (*C.int64_t)(&lens[0]), chars(room), C.size_t(len(room)), &out)
		if out.err != nil {
			return buf, h.files.takeError("multi-get", out.err)
		}
		buf = buf[:len(buf)+int(out.used)]
		keys, lens = keys[out.read:], lens[out.done:]
		if out.needed > 0 {
			buf = slices.Grow(buf, int(out.needed))
		}
	}
	return buf, nil
}

// packKey appends a key in the form that multiGet takes.
func packKey(dst []byte, col column.Column, key []byte) []byte {
	dst = append(dst, byte(col))
	dst = binary.NativeEndian.AppendUint32(dst, uint32(len(key)))
	return append(dst, key...)
}

// cursor is an iterator of RocksDB with what it points to.
type cursor struct {
	c     *C.stoa_iter
	files renamed
}

// openCursor opens an iterator. Unless ranged is set, it does not look for deletions
// of ranges.
func (h handles) openCursor(v *view, col column.Column, r engine.Range, ranged bool) cursor {
	var snapshot *C.rocksdb_snapshot_t
	if v != nil {
		snapshot = v.c.snapshot
	}
	c := C.stoa_iter_open(h.c, snapshot, C.int(col), chars(r.Start), C.size_t(len(r.Start)),
		chars(r.End), C.size_t(len(r.End)), truth(r.Reverse), truth(inOnePrefix(col, r)), truth(!ranged))
	return cursor{c, h.files}
}

// pageOf is what page did.
type pageOf struct {
	entries int
	needed  int // bytes of the entry for which dst had no room; 0: none
	end     bool
}

// page packs entries into the room of dst: until there are entries of them, or
// they take bytes.
func (c cursor) page(dst []byte, entries, bytes int) ([]byte, pageOf, error) {
	var out C.stoa_page
	room := dst[len(dst):cap(dst)]
	C.stoa_iter_page(c.c, chars(room), C.size_t(len(room)), C.size_t(bytes), C.uint64_t(entries), &out)
	var err error
	if out.err != nil {
		err = c.files.takeError("iterate", out.err)
	}
	return dst[:len(dst)+int(out.used)], pageOf{int(out.entries), int(out.needed), out.end != 0}, err
}

func (c cursor) close() { C.stoa_iter_close(c.c) }

// write makes the changes of a batch and returns the sequence of the last one.
func (h handles) write(ops []byte, sync bool) (uint64, error) {
	var out C.stoa_written
	C.stoa_write(h.c, chars(ops), C.size_t(len(ops)), truth(sync), &out)
	if out.err != nil {
		return 0, h.files.takeError("write", out.err)
	}
	return uint64(out.sequence), nil
}

// takeError returns the error that a text of RocksDB is, and frees it.
func (r renamed) takeError(op string, text *C.char) error {
	err := r.classify(op, C.GoString(text))
	C.rocksdb_free(unsafe.Pointer(text))
	return err
}

// chars returns the address of the bytes of b; nil if there is none.
func chars(b []byte) *C.char { return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))) }

func truth(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
