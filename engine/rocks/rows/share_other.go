//go:build !linux

package rows

import (
	"errors"
	"fmt"
	"runtime"
)

// SharedMemory fails: this system has no memory that one process writes and others only read.
func SharedMemory(string, int64) (int, []byte, error) {
	return -1, nil, fmt.Errorf("rows: shared memory on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func sealed(int) bool { return false }
