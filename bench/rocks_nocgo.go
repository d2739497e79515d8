//go:build !cgo

package bench

import "errors"

// openRocks opens nothing: RocksDB needs cgo.
func openRocks(o Options, _ *Dataset) ([]*Subject, error) {
	o.Logger.Warn("this binary was built without cgo: no RocksDB, no daemon on it, nothing to compare them with")
	return nil, nil
}

// openServedMemory opens nothing, and openRocks says so.
func openServedMemory(Options, *Dataset) ([]*Subject, error) { return nil, nil }

// OpenStore fails: RocksDB needs cgo.
func OpenStore(Options, *Dataset, bool, uint64) (*Subject, error) {
	return nil, errors.New("bench: this binary was built without cgo: no RocksDB")
}
