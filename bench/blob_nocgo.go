//go:build !cgo

package bench

// blobNames returns nothing: blobs are measured on RocksDB, which needs cgo.
func blobNames() []string { return nil }

// measureBlobs measures nothing.
func measureBlobs(Options) ([]Result, error) { return nil, nil }
