package rpc

import "github.com/stoadb/stoa/rpc/internal/fault"

// Error is an error of a daemon. Its Kind says what went wrong, and its Fields, by name,
// what about; README.md has a table. errors.Is and errors.As find the error of package
// engine, keys, codec, blob, dag, namespace, kv or kvstorage that it stands for, with its
// data, so that few callers look at the Error itself.
type Error = fault.Error

// Errors that only calls over a socket have.
var (
	// ErrUnavailable is returned when the daemon went away or is shutting down.
	// A write under way may or may not have been made.
	ErrUnavailable = fault.ErrUnavailable
	// ErrBusy is returned when the daemon has too much to do at once; the same
	// call may succeed later.
	ErrBusy = fault.ErrBusy
	// ErrSecret is returned when a row is secret and this user may not read
	// secrets.
	ErrSecret = fault.ErrSecret
	// ErrRequest is returned when a field of a request makes no sense.
	ErrRequest = fault.ErrRequest
	// ErrInternal is returned on a fault of the daemon, which its log shows.
	ErrInternal = fault.ErrInternal
	// ErrOwned is returned when a batch changes rows that a service keeps.
	ErrOwned = fault.ErrOwned
	// ErrBound is returned when the user of a connection is bound to a tenant, and
	// asks for something else than that tenant's key-values, records and decisions, or
	// for what is for those who run the host.
	ErrBound = fault.ErrBound
	// ErrRole is returned when the user of a connection has not the role that an operation
	// takes; package access has the roles.
	ErrRole = fault.ErrRole
)

// Errors of reaching a daemon.
var (
	// ErrSocketPath is returned for a path that can't be that of a socket.
	ErrSocketPath = fault.ErrSocketPath
	// ErrNoDaemon is returned by Dial when nothing listens at the path.
	ErrNoDaemon = fault.ErrNoDaemon
	// ErrRefused is returned by Dial when the permissions of the socket keep this
	// user out, or when the daemon hangs up, as it does on users that it doesn't
	// know.
	ErrRefused = fault.ErrRefused
	// ErrStranger is returned by Dial when neither this user nor root serves the socket, nor
	// one of those that [WithDaemonUser] names. Nothing was sent.
	ErrStranger = fault.ErrStranger
)

// Explain returns what a command that err ends is to say: its exit code, which is 1 for bad
// input and what is not known, 2 for damage, 3 for what cannot be opened or reached, 4 for what
// is not there, and 5 for a refusal or a conflict; and what its user may do about it, "" if
// the error says it all.
func Explain(err error) (exit int, hint string) { return fault.Explain(err) }
