//go:build !cgo

package fuzz

// onDisk returns none: RocksDB needs cgo.
func onDisk() []subject { return nil }
