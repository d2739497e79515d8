package rows

import (
	"encoding/binary"
	"unsafe"
)

// Stores become visible in the order of the program here, so that a row may be written as
// any memory is: its entry is stored after it.

func (t *Table) store(at uintptr, w uint64) {
	binary.NativeEndian.PutUint64(unsafe.Slice((*byte)(unsafe.Add(t.base, at)), 8), w)
}

func (t *Table) storeBytes(at uintptr, b []byte) {
	to := unsafe.Slice((*byte)(unsafe.Add(t.base, at)), padded(len(b)))
	clear(to[copy(to, b):])
}
