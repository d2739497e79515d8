//go:build !linux

package rows

import (
	"errors"
	"fmt"
	"runtime"
)

// NewShared fails: this system has no memory that one process writes and others only read.
func NewShared(int64) (*Table, error) {
	return nil, fmt.Errorf("rows: shared memory on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func sealed(int) bool { return false }
