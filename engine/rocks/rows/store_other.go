//go:build !amd64

package rows

import "encoding/binary"

// Each word is stored after those before it, as nothing else says so here.

func (t *Table) store(at uintptr, w uint64) { t.word(at).Store(w) }

func (t *Table) storeBytes(at uintptr, b []byte) {
	for ; len(b) >= 8; b, at = b[8:], at+8 {
		t.store(at, binary.NativeEndian.Uint64(b))
	}
	if len(b) > 0 {
		t.store(at, lastWord(b))
	}
}
