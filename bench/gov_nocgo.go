//go:build !cgo

package bench

// govNames returns nothing: governance is measured on RocksDB, which needs cgo.
func govNames() []string { return nil }

// measureGovernance measures nothing.
func measureGovernance(Options) ([]Result, error) { return nil, nil }
