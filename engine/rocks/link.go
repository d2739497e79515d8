//go:build cgo && !grocksdb_no_link

package rocks

// grocksdb names the libraries that RocksDB itself needs; with its tag
// grocksdb_no_link, CGO_LDFLAGS names them all.

// #cgo LDFLAGS: -lrocksdb
import "C"
