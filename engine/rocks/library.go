//go:build cgo

package rocks

// #ifndef STOA_ROCKSDB_STATIC
// #define STOA_ROCKSDB_STATIC
// #endif
// #define STOA_TEXT(x) #x
// #define STOA_TEXT_OF(x) STOA_TEXT(x)
// static const char *stoa_static(void) { return STOA_TEXT_OF(STOA_ROCKSDB_STATIC); }
import "C"

import (
	"os"
	"regexp"
)

// Library returns the version of RocksDB in this process: of a shared library that which is
// loaded, which need not be the one that was built against. RocksDB's C API does not
// tell, but the name of the file does; where that can't be seen it is "unknown". compat/env.sh
// says what was linked statically.
func Library() string {
	if linked := C.GoString(C.stoa_static()); linked != "" {
		return linked
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return "unknown"
	}
	if found := regexp.MustCompile(`/librocksdb\.so\.([0-9.]+)`).FindSubmatch(maps); found != nil {
		return string(found[1])
	}
	return "unknown"
}
