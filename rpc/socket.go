package rpc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// MaxSocketPath is the most bytes of the path of a socket: what the operating
// system has room for, of those that it may be Linux or macOS.
const MaxSocketPath = maxSocketPath

// CheckSocketPath returns ErrSocketPath if path is empty, too long for a socket
// (it says the length), or would not name a file.
func CheckSocketPath(path string) error {
	switch {
	case path == "":
		return fmt.Errorf("%w: it is empty", ErrSocketPath)
	case path[0] == '@' || strings.ContainsRune(path, 0):
		return fmt.Errorf("%w: %q names no file", ErrSocketPath, path)
	case len(path) > MaxSocketPath:
		return fmt.Errorf("%w: %s has %d bytes, at most %d fit; choose a shorter one", ErrSocketPath, path, len(path), MaxSocketPath)
	}
	return nil
}

// probe returns nil if something listens at path.
func probe(path string, timeout time.Duration) error {
	if err := CheckSocketPath(path); err != nil {
		return err
	}
	conn, err := net.DialTimeout("unix", path, timeout)
	if err == nil {
		return conn.Close()
	}
	return noDaemon(path, err)
}

func noDaemon(path string, err error) error {
	why := err.Error()
	switch {
	case errors.Is(err, os.ErrNotExist):
		why = "no such file"
	case errors.Is(err, syscall.ECONNREFUSED):
		why = "the file is there, but nothing listens"
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: no permission to connect to %s: its directory and its mode say who has (stoa serve --group)", ErrRefused, path)
	case errors.Is(err, syscall.ENOTSOCK), errors.Is(err, syscall.EPROTOTYPE):
		why = "it is not a socket"
	}
	return fmt.Errorf("%w at %s: %s", ErrNoDaemon, path, why)
}
