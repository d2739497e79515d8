//go:build !cgo

package bench

// kvNames returns nothing: the Kv service is measured on RocksDB, which needs cgo.
func kvNames() []string { return nil }

// measureKV measures nothing.
func measureKV(Options) ([]Result, error) { return nil, nil }
