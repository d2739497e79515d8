//go:build !cgo

package bench

// openRocks opens nothing: RocksDB needs cgo.
func openRocks(o Options, _ *Dataset) ([]*Subject, error) {
	o.Logger.Warn("this binary was built without cgo: no RocksDB, no daemon on it, nothing to compare them with")
	return nil, nil
}

// openServedMemory opens nothing, and openRocks says so.
func openServedMemory(Options, *Dataset) ([]*Subject, error) { return nil, nil }
