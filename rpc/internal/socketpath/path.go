// Package socketpath says which paths a Unix socket may have.
package socketpath

import (
	"fmt"
	"strings"

	"github.com/stoadb/stoa/rpc/internal/fault"
)

// Max is the most bytes of the path of a socket: what the operating system has room for,
// of those that it may be Linux or macOS.
const Max = maxBytes

// Check returns [fault.ErrSocketPath] if path is empty, too long for a socket (it says the
// length), or would not name a file.
func Check(path string) error {
	switch {
	case path == "":
		return fmt.Errorf("%w: it is empty", fault.ErrSocketPath)
	case path[0] == '@' || strings.ContainsRune(path, 0):
		return fmt.Errorf("%w: %q names no file", fault.ErrSocketPath, path)
	case len(path) > Max:
		return fmt.Errorf("%w: %s has %d bytes, at most %d fit; choose a shorter one", fault.ErrSocketPath, path, len(path), Max)
	}
	return nil
}
