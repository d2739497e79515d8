//go:build !cgo

package bench

// growNames returns nothing: what grows is measured on RocksDB, which needs cgo.
func growNames() []string { return nil }

// measureGrowth measures nothing.
func measureGrowth(Options) ([]Result, error) { return nil, nil }
