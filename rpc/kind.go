package rpc

import (
	"errors"
	"strings"

	"github.com/stoadb/stoa/rpc/stoav1"
)

// Errors that only calls over a socket have.
var (
	// ErrUnavailable is returned when the daemon went away or is shutting down.
	// A write under way may or may not have been made.
	ErrUnavailable = errors.New("rpc: unavailable")
	// ErrBusy is returned when the daemon has too much to do at once; the same
	// call may succeed later.
	ErrBusy = errors.New("rpc: busy")
	// ErrSecret is returned when a row is secret and this user may not read
	// secrets.
	ErrSecret = errors.New("rpc: secret")
	// ErrRequest is returned when a field of a request makes no sense.
	ErrRequest = errors.New("rpc: bad request")
	// ErrInternal is returned on a fault of the daemon, which its log shows.
	ErrInternal = errors.New("rpc: internal error")
	// ErrOwned is returned when a batch changes rows that a service keeps.
	ErrOwned = errors.New("rpc: owned")
	// ErrBound is returned when the user of a connection is bound to a tenant of
	// the Kv service, and asks for something else.
	ErrBound = errors.New("rpc: bound to a tenant")
)

const kindPrefix = "ERROR_KIND_"

// reasonOf returns the name of k in a google.rpc.ErrorInfo.
func reasonOf(k stoav1.ErrorKind) string { return strings.TrimPrefix(k.String(), kindPrefix) }

// kindNamed returns the kind with that name in a google.rpc.ErrorInfo.
func kindNamed(reason string) stoav1.ErrorKind {
	return stoav1.ErrorKind(stoav1.ErrorKind_value[kindPrefix+reason])
}
