//go:build !cgo

package bench

import (
	"errors"
	"io"
)

// ScanMemory says how the memory of a daemon grew; it needs cgo.
type ScanMemory struct{}

// MeasureScanMemory returns an error: a store on disk needs cgo.
func MeasureScanMemory(Options, uint64) (ScanMemory, error) {
	return ScanMemory{}, errors.New("bench: this binary was built without cgo, so that there is no store on disk to scan")
}

// WriteText writes nothing.
func (ScanMemory) WriteText(io.Writer) error { return nil }
