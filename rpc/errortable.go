package rpc

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

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
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Exit is the exit code of a command that an error ends.
type Exit int

// The exit codes of commands.
const (
	ExitBad      Exit = 1 // usage or bad input
	ExitDamage   Exit = 2 // damage found
	ExitOpen     Exit = 3 // cannot open, or no daemon
	ExitNotFound Exit = 4
	ExitRefused  Exit = 5 // refused, or a conflict
)

// What several hints say.
const (
	// HintMend says what there is to do about damage.
	HintMend = "`stoa restore BACKUP DIR --replace` puts a backup in its place, `stoa salvage` copies what can be read"
	// HintConcepts ends what is said where words of concepts stand.
	HintConcepts = "`stoa help concepts` says what such words mean"

	hintClock    = "`stoa dag clock` says more, and confirms that the system clock is right"
	hintConflict = "read the record again, and retry with what is stored now"
	hintCorrupt  = "`stoa verify` says more; " + HintMend
	hintForce    = "--force deletes it all the same"
)

// known is all that there is to know of an error.
type known struct {
	is   error            // what errors.Is finds, on both ends
	kind stoav1.ErrorKind // as which it crosses the socket; 0: it does not
	code codes.Code       // of gRPC, with the kind
	exit Exit             // 0: ExitBad
	hint string           // what its user may do about it; empty: the error says it all
	data *data            // of an error that has more than its text
}

// errors of the Kv service are of one type, whose code says of what kind they are.
var errKV = &kvstorage.Error{}

// errorTable is all errors that have a kind, an exit code or a hint. The first that fits
// an error counts: those with data stand before those that they are too. Of several with a
// kind the other end finds the first, but for those whose data can't be rebuilt.
var errorTable = []known{
	{is: engine.ErrConflict, kind: stoav1.ErrorKind_ERROR_KIND_CONFLICT, code: codes.Aborted, exit: ExitRefused, hint: hintConflict, data: conflictData},
	{is: dag.ErrSnapshot, kind: stoav1.ErrorKind_ERROR_KIND_SEED, code: codes.InvalidArgument, exit: ExitRefused, hint: "ask another node"},
	{is: engine.ErrConflict, kind: stoav1.ErrorKind_ERROR_KIND_ROOT_MOVED, code: codes.Aborted, exit: ExitRefused, hint: hintConflict, data: rootMovedData},
	{is: hlc.ErrAhead, kind: stoav1.ErrorKind_ERROR_KIND_CLOCK_AHEAD, code: codes.FailedPrecondition, exit: ExitRefused, hint: hintClock, data: aheadData},
	{is: hlc.ErrJumped, kind: stoav1.ErrorKind_ERROR_KIND_CLOCK_JUMPED, code: codes.FailedPrecondition, exit: ExitRefused, hint: hintClock, data: jumpedData},
	{is: hlc.ErrEarly, kind: stoav1.ErrorKind_ERROR_KIND_EARLY, code: codes.FailedPrecondition, exit: ExitRefused, data: earlyData},
	{is: dag.ErrRefused, kind: stoav1.ErrorKind_ERROR_KIND_REFUSED, code: codes.InvalidArgument, data: refusalData},
	{is: namespace.ErrRefused, kind: stoav1.ErrorKind_ERROR_KIND_OP_REFUSED, code: codes.InvalidArgument, data: opRefusalData},
	{is: engine.ErrNotFound, kind: stoav1.ErrorKind_ERROR_KIND_NOT_FOUND, code: codes.NotFound, exit: ExitNotFound, data: noBlobData},
	{is: engine.ErrTooLarge, kind: stoav1.ErrorKind_ERROR_KIND_TOO_LARGE, code: codes.InvalidArgument, data: largeBlobData},
	{is: blob.ErrMismatch, kind: stoav1.ErrorKind_ERROR_KIND_BLOB_MISMATCH, code: codes.InvalidArgument, data: blobIDData},
	{is: blob.ErrMismatch, kind: stoav1.ErrorKind_ERROR_KIND_BLOB_MISMATCH, code: codes.InvalidArgument, data: blobSizeData},
	{is: blob.ErrInUse, kind: stoav1.ErrorKind_ERROR_KIND_BLOB_IN_USE, code: codes.FailedPrecondition, exit: ExitRefused, hint: hintForce, data: blobInUseData},
	{is: engine.ErrCorrupt, kind: stoav1.ErrorKind_ERROR_KIND_CORRUPT, code: codes.DataLoss, exit: ExitDamage, hint: hintCorrupt, data: blobCorruptData},

	{is: ErrNoDaemon, exit: ExitOpen, hint: "start one with `stoa serve`, or name its socket with --socket"},
	{is: ErrRefused, exit: ExitOpen},
	{is: ErrSocketPath},
	{is: ErrUnavailable, kind: stoav1.ErrorKind_ERROR_KIND_STOPPING, code: codes.Unavailable, exit: ExitOpen, hint: "the daemon went away: a write under way may or may not have been made"},
	{is: ErrBusy, kind: stoav1.ErrorKind_ERROR_KIND_BUSY, code: codes.ResourceExhausted, exit: ExitRefused, hint: "the daemon has too much to do at once: try again"},
	{is: ErrSecret, kind: stoav1.ErrorKind_ERROR_KIND_SECRET, code: codes.PermissionDenied, exit: ExitRefused, hint: "`stoa serve --secret-peers` says who may read secrets"},
	{is: ErrBound, kind: stoav1.ErrorKind_ERROR_KIND_KV_BOUND, code: codes.PermissionDenied, exit: ExitRefused},
	{is: ErrOwned, kind: stoav1.ErrorKind_ERROR_KIND_OWNED, code: codes.FailedPrecondition, exit: ExitRefused, hint: "`stoa blob`, `context`, `dag`, `kv`, `namespace` and `group` write them; `stoa serve --raw` lets others, for repair"},
	{is: ErrRequest, kind: stoav1.ErrorKind_ERROR_KIND_REQUEST, code: codes.InvalidArgument},

	{is: engine.ErrClosed, kind: stoav1.ErrorKind_ERROR_KIND_CLOSED, code: codes.Unavailable, exit: ExitOpen},
	{is: namespace.ErrNoNamespace, kind: stoav1.ErrorKind_ERROR_KIND_NO_NAMESPACE, code: codes.NotFound, exit: ExitNotFound, hint: "`stoa namespace list` lists those that are here"},
	{is: namespace.ErrNoGroup, kind: stoav1.ErrorKind_ERROR_KIND_NO_GROUP, code: codes.NotFound, exit: ExitNotFound, hint: "`stoa namespace tree` lists the groups of a namespace"},
	{is: namespace.ErrNoContext, kind: stoav1.ErrorKind_ERROR_KIND_NO_GROUP_CONTEXT, code: codes.NotFound, exit: ExitNotFound},
	{is: namespace.ErrNoOp, kind: stoav1.ErrorKind_ERROR_KIND_NO_OP, code: codes.NotFound, exit: ExitNotFound},
	{is: namespace.ErrForgotten, kind: stoav1.ErrorKind_ERROR_KIND_FORGOTTEN, code: codes.FailedPrecondition},
	{is: namespace.ErrNoIdentity, kind: stoav1.ErrorKind_ERROR_KIND_NO_IDENTITY, code: codes.FailedPrecondition, exit: ExitNotFound, hint: "`stoa namespace identity --new` makes one"},
	{is: namespace.ErrIdentityExists, kind: stoav1.ErrorKind_ERROR_KIND_IDENTITY_EXISTS, code: codes.AlreadyExists, exit: ExitRefused},
	{is: namespace.ErrExport, kind: stoav1.ErrorKind_ERROR_KIND_IDENTITY, code: codes.InvalidArgument},
	{is: namespace.ErrIdentity, kind: stoav1.ErrorKind_ERROR_KIND_IDENTITY, code: codes.InvalidArgument},
	{is: namespace.ErrNoKey, kind: stoav1.ErrorKind_ERROR_KIND_NO_GROUP_KEY, code: codes.FailedPrecondition, exit: ExitRefused, hint: "synchronize with a member who has it"},
	{is: namespace.ErrContextTaken, kind: stoav1.ErrorKind_ERROR_KIND_CONTEXT_TAKEN, code: codes.FailedPrecondition, exit: ExitRefused, hint: "on the node that created the context run `stoa context place CONTEXT GROUP`, and give `stoa group register` what it prints with --placement"},
	{is: namespace.ErrNotPlaced, kind: stoav1.ErrorKind_ERROR_KIND_NOT_PLACED, code: codes.InvalidArgument, hint: "on the node that created the context `stoa context place CONTEXT GROUP` prints one"},
	{is: namespace.ErrNoContextKey, kind: stoav1.ErrorKind_ERROR_KIND_NO_CONTEXT_KEY, code: codes.NotFound, exit: ExitNotFound, hint: "the node that created the context has it"},
	{is: namespace.ErrNotEffective, kind: stoav1.ErrorKind_ERROR_KIND_NOT_EFFECTIVE, code: codes.FailedPrecondition, exit: ExitRefused, hint: HintConcepts},
	{is: namespace.ErrNotInvited, kind: stoav1.ErrorKind_ERROR_KIND_INVITATION, code: codes.InvalidArgument, hint: "`stoa namespace invite` prints an invitation, `stoa namespace join` makes a request of it, `stoa namespace admit` takes that"},
	{is: namespace.ErrExpired, kind: stoav1.ErrorKind_ERROR_KIND_EXPIRED, code: codes.FailedPrecondition, exit: ExitRefused, hint: "ask for another invitation"},
	{is: namespace.ErrNotDue, kind: stoav1.ErrorKind_ERROR_KIND_NOT_DUE, code: codes.FailedPrecondition, exit: ExitRefused, hint: "only members hold the key that is current; a member whose machine was stolen is removed, which makes a new one: `stoa group remove`; " + HintConcepts},
	{is: namespace.ErrBehind, kind: stoav1.ErrorKind_ERROR_KIND_BEHIND, code: codes.FailedPrecondition, exit: ExitRefused, hint: "begin anew"},
	{is: namespace.ErrNoSigningKey, kind: stoav1.ErrorKind_ERROR_KIND_NO_SIGNING_KEY, code: codes.NotFound, exit: ExitNotFound},
	{is: namespace.ErrUneven, exit: ExitRefused},
	{is: namespace.ErrClosed, kind: stoav1.ErrorKind_ERROR_KIND_CLOSED, code: codes.Unavailable, exit: ExitOpen},

	{is: errKV, kind: stoav1.ErrorKind_ERROR_KIND_KV_ARGUMENT, code: codes.InvalidArgument, data: refusedKV(stoav1.ErrorKind_ERROR_KIND_KV_ARGUMENT)},
	{is: errKV, kind: stoav1.ErrorKind_ERROR_KIND_KV_VALUE, code: codes.FailedPrecondition, exit: ExitRefused, data: refusedKV(stoav1.ErrorKind_ERROR_KIND_KV_VALUE)},
	{is: errKV, kind: stoav1.ErrorKind_ERROR_KIND_KV_QUOTA, code: codes.ResourceExhausted, exit: ExitRefused, data: refusedKV(stoav1.ErrorKind_ERROR_KIND_KV_QUOTA)},
	{is: errKV, kind: stoav1.ErrorKind_ERROR_KIND_KV_CONFLICT, code: codes.Aborted, exit: ExitRefused, data: refusedKV(stoav1.ErrorKind_ERROR_KIND_KV_CONFLICT)},
	{is: errKV, kind: stoav1.ErrorKind_ERROR_KIND_KV_CAPABILITY, code: codes.Unimplemented, exit: ExitRefused, data: refusedKV(stoav1.ErrorKind_ERROR_KIND_KV_CAPABILITY)},
	{is: kv.ErrNoSpace, kind: stoav1.ErrorKind_ERROR_KIND_KV_NO_TENANT, code: codes.NotFound, exit: ExitNotFound, hint: "`stoa kv tenants list` lists those that are here", data: noTenantData},
	{is: kv.ErrClosed, kind: stoav1.ErrorKind_ERROR_KIND_CLOSED, code: codes.Unavailable, exit: ExitOpen},
	{is: kv.ErrBusy, kind: stoav1.ErrorKind_ERROR_KIND_BUSY, code: codes.ResourceExhausted, exit: ExitRefused, hint: "the daemon has too much to do at once: try again", data: kvBusyData},

	{is: engine.ErrCorrupt, kind: stoav1.ErrorKind_ERROR_KIND_CORRUPT, code: codes.DataLoss, exit: ExitDamage, hint: hintCorrupt},
	{is: engine.ErrNotFound, kind: stoav1.ErrorKind_ERROR_KIND_NOT_FOUND, code: codes.NotFound, exit: ExitNotFound},
	{is: engine.ErrBatch, kind: stoav1.ErrorKind_ERROR_KIND_BATCH, code: codes.InvalidArgument},
	{is: engine.ErrTooLarge, kind: stoav1.ErrorKind_ERROR_KIND_TOO_LARGE, code: codes.InvalidArgument},
	{is: engine.ErrReadOnly, kind: stoav1.ErrorKind_ERROR_KIND_READ_ONLY, code: codes.FailedPrecondition, exit: ExitRefused, hint: "`stoa status` says why; once that is mended, `stoa reopen`"},
	{is: engine.ErrNoSpace, kind: stoav1.ErrorKind_ERROR_KIND_NO_SPACE, code: codes.ResourceExhausted, exit: ExitRefused, hint: "free some disk space: writes resume by themselves"},
	{is: engine.ErrClosed, kind: stoav1.ErrorKind_ERROR_KIND_SNAPSHOT, code: codes.FailedPrecondition, exit: ExitOpen},
	{is: engine.ErrUnsupported, kind: stoav1.ErrorKind_ERROR_KIND_UNSUPPORTED, code: codes.Unimplemented, exit: ExitRefused},
	{is: engine.ErrConflict, kind: stoav1.ErrorKind_ERROR_KIND_CONFLICT, code: codes.Aborted, exit: ExitRefused, hint: hintConflict},
	{is: engine.ErrLocked, exit: ExitOpen, hint: "stop that process, or serve another directory with --dir"},
	{is: engine.ErrSchema, exit: ExitOpen, hint: "`stoa inspect`, `stoa export` and what takes --offline read it without a daemon"},
	{is: engine.ErrNotDatabase, exit: ExitOpen, hint: "name a directory of the store, or one that is new, with --dir"},
	{is: engine.ErrPlace},

	{is: dag.ErrClosed, kind: stoav1.ErrorKind_ERROR_KIND_CLOSED, code: codes.Unavailable, exit: ExitOpen},
	{is: dag.ErrNoContext, kind: stoav1.ErrorKind_ERROR_KIND_NO_CONTEXT, code: codes.NotFound, exit: ExitNotFound, hint: "`stoa context list` lists those that are here"},
	{is: dag.ErrExists, kind: stoav1.ErrorKind_ERROR_KIND_CONTEXT_EXISTS, code: codes.AlreadyExists, exit: ExitRefused},
	{is: merkle.ErrRootGone, kind: stoav1.ErrorKind_ERROR_KIND_ROOT_GONE, code: codes.FailedPrecondition, exit: ExitRefused, hint: "the context has changed meanwhile: try again"},
	{is: merkle.ErrPeer, kind: stoav1.ErrorKind_ERROR_KIND_PEER, code: codes.InvalidArgument, exit: ExitRefused},
	{is: dag.ErrNoDelta, kind: stoav1.ErrorKind_ERROR_KIND_NO_DELTA, code: codes.NotFound, exit: ExitNotFound},
	{is: dag.ErrPosition, kind: stoav1.ErrorKind_ERROR_KIND_POSITION, code: codes.FailedPrecondition, exit: ExitRefused, hint: "the context was seeded again: begin anew"},
	{is: dag.ErrNotEmpty, kind: stoav1.ErrorKind_ERROR_KIND_NOT_EMPTY, code: codes.FailedPrecondition, exit: ExitRefused, hint: "--replace seeds it all the same"},
	{is: dag.ErrSeeding, kind: stoav1.ErrorKind_ERROR_KIND_SEEDING, code: codes.Aborted, exit: ExitRefused},
	{is: dag.ErrSnapshotGone, kind: stoav1.ErrorKind_ERROR_KIND_SNAPSHOT_GONE, code: codes.FailedPrecondition},
	{is: dag.ErrAdopting, kind: stoav1.ErrorKind_ERROR_KIND_ADOPTING, code: codes.Unavailable, exit: ExitRefused},

	{is: blob.ErrMismatch, kind: stoav1.ErrorKind_ERROR_KIND_BLOB_MISMATCH, code: codes.InvalidArgument},
	{is: blob.ErrInUse, kind: stoav1.ErrorKind_ERROR_KIND_BLOB_IN_USE, code: codes.FailedPrecondition, exit: ExitRefused, hint: hintForce},
	{is: keys.ErrLayout, kind: stoav1.ErrorKind_ERROR_KIND_KEY, code: codes.InvalidArgument, data: keyData},
	{is: codec.ErrMalformed, kind: stoav1.ErrorKind_ERROR_KIND_VALUE, code: codes.InvalidArgument, data: valueData},
	{is: ErrInternal, kind: stoav1.ErrorKind_ERROR_KIND_INTERNAL, code: codes.Internal, exit: ExitRefused, hint: "the daemon's log says more", data: internalData},
	{is: context.DeadlineExceeded, exit: ExitOpen, hint: "the daemon did not answer in time: --timeout gives it longer"},
	{is: syscall.ENOSPC, exit: ExitOpen, hint: "free some disk space"},
	{is: fs.ErrPermission, exit: ExitOpen},
}

// Explain returns the exit code of a command that err ends, and what its user may do about
// it. It returns ExitBad for an error that it does not know.
func Explain(err error) (code Exit, hint string) {
	for i := range errorTable {
		if k := &errorTable[i]; k.fits(err) {
			return max(k.exit, ExitBad), k.hint
		}
	}
	return ExitBad, ""
}

func (k *known) fits(err error) bool {
	if k.data != nil {
		return k.data.fits(err)
	}
	return errors.Is(err, k.is)
}

// kindOf returns what is known of a kind.
func kindOf(kind stoav1.ErrorKind) (*known, bool) {
	for i := range errorTable {
		if k := &errorTable[i]; k.kind == kind && kind != stoav1.ErrorKind_ERROR_KIND_UNSPECIFIED && (k.data == nil || k.data.rebuild != nil) {
			return k, true
		}
	}
	return &known{is: ErrInternal, code: codes.Unknown}, false
}
