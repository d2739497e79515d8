package server

import (
	"fmt"
	"os"
)

// byDescriptor returns a path that leads to an open directory, and nowhere else.
func byDescriptor(dir *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", dir.Fd()) }
