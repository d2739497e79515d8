package rpc

import (
	"errors"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
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

// kind is what the code knows of an ErrorKind.
type kind struct {
	code  codes.Code
	cause error // what errors.Is finds, where the fields don't make a typed error
}

func kindOf(k stoav1.ErrorKind) (kind, bool) {
	switch k {
	case stoav1.ErrorKind_ERROR_KIND_NOT_FOUND:
		return kind{codes.NotFound, engine.ErrNotFound}, true
	case stoav1.ErrorKind_ERROR_KIND_CONFLICT:
		return kind{codes.Aborted, engine.ErrConflict}, true
	case stoav1.ErrorKind_ERROR_KIND_BATCH:
		return kind{codes.InvalidArgument, engine.ErrBatch}, true
	case stoav1.ErrorKind_ERROR_KIND_KEY:
		return kind{codes.InvalidArgument, keys.ErrLayout}, true
	case stoav1.ErrorKind_ERROR_KIND_VALUE:
		return kind{codes.InvalidArgument, codec.ErrMalformed}, true
	case stoav1.ErrorKind_ERROR_KIND_TOO_LARGE:
		return kind{codes.InvalidArgument, engine.ErrTooLarge}, true
	case stoav1.ErrorKind_ERROR_KIND_READ_ONLY:
		return kind{codes.FailedPrecondition, engine.ErrReadOnly}, true
	case stoav1.ErrorKind_ERROR_KIND_NO_SPACE:
		return kind{codes.ResourceExhausted, engine.ErrNoSpace}, true
	case stoav1.ErrorKind_ERROR_KIND_CORRUPT:
		return kind{codes.DataLoss, engine.ErrCorrupt}, true
	case stoav1.ErrorKind_ERROR_KIND_CLOSED:
		return kind{codes.Unavailable, engine.ErrClosed}, true
	case stoav1.ErrorKind_ERROR_KIND_UNSUPPORTED:
		return kind{codes.Unimplemented, engine.ErrUnsupported}, true
	case stoav1.ErrorKind_ERROR_KIND_SECRET:
		return kind{codes.PermissionDenied, ErrSecret}, true
	case stoav1.ErrorKind_ERROR_KIND_BUSY:
		return kind{codes.ResourceExhausted, ErrBusy}, true
	case stoav1.ErrorKind_ERROR_KIND_SNAPSHOT:
		return kind{codes.FailedPrecondition, engine.ErrClosed}, true
	case stoav1.ErrorKind_ERROR_KIND_REQUEST:
		return kind{codes.InvalidArgument, ErrRequest}, true
	case stoav1.ErrorKind_ERROR_KIND_STOPPING:
		return kind{codes.Unavailable, ErrUnavailable}, true
	case stoav1.ErrorKind_ERROR_KIND_INTERNAL:
		return kind{codes.Internal, ErrInternal}, true
	case stoav1.ErrorKind_ERROR_KIND_BLOB_MISMATCH:
		return kind{codes.InvalidArgument, blob.ErrMismatch}, true
	case stoav1.ErrorKind_ERROR_KIND_BLOB_IN_USE:
		return kind{codes.FailedPrecondition, blob.ErrInUse}, true
	case stoav1.ErrorKind_ERROR_KIND_OWNED:
		return kind{codes.FailedPrecondition, ErrOwned}, true
	default:
		return dagKindOf(k)
	}
}

// dagKindOf is kindOf for the kinds of the Dag service.
func dagKindOf(k stoav1.ErrorKind) (kind, bool) {
	switch k {
	case stoav1.ErrorKind_ERROR_KIND_NO_CONTEXT:
		return kind{codes.NotFound, dag.ErrNoContext}, true
	case stoav1.ErrorKind_ERROR_KIND_CONTEXT_EXISTS:
		return kind{codes.AlreadyExists, dag.ErrExists}, true
	case stoav1.ErrorKind_ERROR_KIND_ROOT_MOVED:
		return kind{codes.Aborted, engine.ErrConflict}, true
	case stoav1.ErrorKind_ERROR_KIND_CLOCK_AHEAD:
		return kind{codes.FailedPrecondition, hlc.ErrAhead}, true
	case stoav1.ErrorKind_ERROR_KIND_CLOCK_JUMPED:
		return kind{codes.FailedPrecondition, hlc.ErrJumped}, true
	case stoav1.ErrorKind_ERROR_KIND_NO_DELTA:
		return kind{codes.NotFound, dag.ErrNoDelta}, true
	case stoav1.ErrorKind_ERROR_KIND_ROOT_GONE:
		return kind{codes.FailedPrecondition, merkle.ErrRootGone}, true
	case stoav1.ErrorKind_ERROR_KIND_PEER:
		return kind{codes.InvalidArgument, merkle.ErrPeer}, true
	case stoav1.ErrorKind_ERROR_KIND_POSITION:
		return kind{codes.FailedPrecondition, dag.ErrPosition}, true
	case stoav1.ErrorKind_ERROR_KIND_SEED:
		return kind{codes.InvalidArgument, dag.ErrSnapshot}, true
	case stoav1.ErrorKind_ERROR_KIND_NOT_EMPTY:
		return kind{codes.FailedPrecondition, dag.ErrNotEmpty}, true
	case stoav1.ErrorKind_ERROR_KIND_SEEDING:
		return kind{codes.Aborted, dag.ErrSeeding}, true
	case stoav1.ErrorKind_ERROR_KIND_SNAPSHOT_GONE:
		return kind{codes.FailedPrecondition, dag.ErrSnapshotGone}, true
	case stoav1.ErrorKind_ERROR_KIND_EARLY:
		return kind{codes.FailedPrecondition, hlc.ErrEarly}, true
	case stoav1.ErrorKind_ERROR_KIND_ADOPTING:
		return kind{codes.Unavailable, dag.ErrAdopting}, true
	case stoav1.ErrorKind_ERROR_KIND_REFUSED:
		return kind{codes.InvalidArgument, dag.ErrRefused}, true
	default:
		return kvKindOf(k)
	}
}

// kvKindOf is kindOf for the kinds of the Kv service.
func kvKindOf(k stoav1.ErrorKind) (kind, bool) {
	switch k {
	case stoav1.ErrorKind_ERROR_KIND_KV_ARGUMENT:
		return kind{codes.InvalidArgument, &kvstorage.Error{}}, true
	case stoav1.ErrorKind_ERROR_KIND_KV_VALUE:
		return kind{codes.FailedPrecondition, &kvstorage.Error{}}, true
	case stoav1.ErrorKind_ERROR_KIND_KV_QUOTA:
		return kind{codes.ResourceExhausted, &kvstorage.Error{}}, true
	case stoav1.ErrorKind_ERROR_KIND_KV_CONFLICT:
		return kind{codes.Aborted, &kvstorage.Error{}}, true
	case stoav1.ErrorKind_ERROR_KIND_KV_CAPABILITY:
		return kind{codes.Unimplemented, &kvstorage.Error{}}, true
	case stoav1.ErrorKind_ERROR_KIND_KV_NO_TENANT:
		return kind{codes.NotFound, kv.ErrNoSpace}, true
	case stoav1.ErrorKind_ERROR_KIND_KV_BOUND:
		return kind{codes.PermissionDenied, ErrBound}, true
	default:
		return govKindOf(k)
	}
}

const kindPrefix = "ERROR_KIND_"

// reasonOf returns the name of k in a google.rpc.ErrorInfo.
func reasonOf(k stoav1.ErrorKind) string { return strings.TrimPrefix(k.String(), kindPrefix) }

// kindNamed returns the kind with that name in a google.rpc.ErrorInfo.
func kindNamed(reason string) stoav1.ErrorKind {
	return stoav1.ErrorKind(stoav1.ErrorKind_value[kindPrefix+reason])
}
