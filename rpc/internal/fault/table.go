package fault

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
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/contract"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/content"
	"github.com/stoadb/stoa/namespace/exchange"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// The exit codes of commands.
const (
	exitBad      = 1 // usage or bad input
	exitDamage   = 2 // damage found
	exitOpen     = 3 // cannot open, or no daemon
	exitNotFound = 4
	exitRefused  = 5 // refused, or a conflict
)

// What several hints say.
const (
	hintClock    = "`stoa dag clock` says more, and confirms that the system clock is right"
	hintConcepts = "`stoa help concepts` says what such words mean"
	hintConflict = "read the record again, and retry with what is stored now"
	hintCorrupt  = "`stoa verify` says more; `stoa restore BACKUP DIR --replace` puts a backup in its place, `stoa salvage` copies what can be read"
	hintTenant   = "--tenant names one, and so does $STOA_TENANT"
	hintForce    = "--force deletes it all the same"
)

// known is all that there is to know of an error.
type known struct {
	is   error            // what errors.Is finds, on both ends
	kind stoav1.ErrorKind // as which it crosses the socket; 0: it does not
	code codes.Code       // of gRPC, with the kind
	exit int              // 0: exitBad
	hint string           // what its user may do about it; empty: the error says it all
	data *data            // of an error that has more than its text
}

// errors of the Kv service are of one type, whose code says of what kind they are.
var errKV = &kvstorage.Error{}

// errRecord stands for the errors of the Record service, which are so too.
var errRecord = &record.Error{}

// errLock stands for the errors of the Lock service.
var errLock = &lock.Error{}

// errSetting stands for the errors of the Setting service, and errLimit for those of Limit.
var (
	errSetting = &setting.Error{}
	errLimit   = &limit.Error{}
)

// errEvent stands for the errors of the Event service, and errJob for those of Job.
var (
	errEvent = &event.Error{}
	errJob   = &job.Error{}
)

// errBucket stands for the errors of the Bucket service, and errContract for those of contracts.
var (
	errBucket   = &bucket.Error{}
	errContract = &contract.Error{}
)

// errStream stands for the errors of the Stream service.
var errStream = &stream.Error{}

// errorTable is all errors that have a kind, an exit code or a hint. The first that fits
// an error counts: those with data stand before those that they are too. Of several with a
// kind the other end finds the first, but for those whose data can't be rebuilt.
var errorTable = []known{
	{is: engine.ErrConflict, kind: stoav1.ErrorKind_ERROR_KIND_CONFLICT, code: codes.Aborted, exit: exitRefused, hint: hintConflict, data: conflictData},
	{is: dag.ErrSnapshot, kind: stoav1.ErrorKind_ERROR_KIND_SEED, code: codes.InvalidArgument, exit: exitRefused, hint: "ask another node"},
	{is: engine.ErrConflict, kind: stoav1.ErrorKind_ERROR_KIND_ROOT_MOVED, code: codes.Aborted, exit: exitRefused, hint: hintConflict, data: rootMovedData},
	{is: hlc.ErrAhead, kind: stoav1.ErrorKind_ERROR_KIND_CLOCK_AHEAD, code: codes.FailedPrecondition, exit: exitRefused, hint: hintClock, data: aheadData},
	{is: hlc.ErrJumped, kind: stoav1.ErrorKind_ERROR_KIND_CLOCK_JUMPED, code: codes.FailedPrecondition, exit: exitRefused, hint: hintClock, data: jumpedData},
	{is: hlc.ErrEarly, kind: stoav1.ErrorKind_ERROR_KIND_EARLY, code: codes.FailedPrecondition, exit: exitRefused, data: earlyData},
	{is: dag.ErrRefused, kind: stoav1.ErrorKind_ERROR_KIND_REFUSED, code: codes.InvalidArgument, data: refusalData},
	{is: namespace.ErrRefused, kind: stoav1.ErrorKind_ERROR_KIND_OP_REFUSED, code: codes.InvalidArgument, data: opRefusalData},
	{is: engine.ErrNotFound, kind: stoav1.ErrorKind_ERROR_KIND_NOT_FOUND, code: codes.NotFound, exit: exitNotFound, data: noBlobData},
	{is: engine.ErrTooLarge, kind: stoav1.ErrorKind_ERROR_KIND_TOO_LARGE, code: codes.InvalidArgument, data: largeBlobData},
	{is: blob.ErrMismatch, kind: stoav1.ErrorKind_ERROR_KIND_BLOB_MISMATCH, code: codes.InvalidArgument, data: blobIDData},
	{is: blob.ErrMismatch, kind: stoav1.ErrorKind_ERROR_KIND_BLOB_MISMATCH, code: codes.InvalidArgument, data: blobSizeData},
	{is: blob.ErrInUse, kind: stoav1.ErrorKind_ERROR_KIND_BLOB_IN_USE, code: codes.FailedPrecondition, exit: exitRefused, hint: hintForce, data: blobInUseData},
	{is: engine.ErrCorrupt, kind: stoav1.ErrorKind_ERROR_KIND_CORRUPT, code: codes.DataLoss, exit: exitDamage, hint: hintCorrupt, data: blobCorruptData},

	{is: ErrNoDaemon, exit: exitOpen, hint: "start one with `stoa serve`, or name its socket with --socket"},
	{is: ErrRefused, exit: exitOpen},
	{is: ErrStranger, exit: exitOpen, hint: "if that user runs the daemon: --daemon-user USER, or STOA_DAEMON_USER; if not, somebody has put a socket there"},
	{is: ErrSocketPath},
	{is: ErrUnavailable, kind: stoav1.ErrorKind_ERROR_KIND_STOPPING, code: codes.Unavailable, exit: exitOpen, hint: "the daemon went away: a write under way may or may not have been made"},
	{is: engine.ErrUndetermined, kind: stoav1.ErrorKind_ERROR_KIND_STOPPING, code: codes.Unavailable, exit: exitOpen, hint: "the cluster did not tell: the write may or may not have been made"},
	{is: ErrBusy, kind: stoav1.ErrorKind_ERROR_KIND_BUSY, code: codes.ResourceExhausted, exit: exitRefused, hint: "the daemon has too much to do at once: try again"},
	{is: engine.ErrUnavailable, kind: stoav1.ErrorKind_ERROR_KIND_BUSY, code: codes.ResourceExhausted, exit: exitRefused, hint: "nothing was written: try again when the cluster answers"},
	{is: engine.ErrMoved, kind: stoav1.ErrorKind_ERROR_KIND_BUSY, code: codes.ResourceExhausted, exit: exitRefused, hint: "others change the same rows at once: try again"},
	{is: ErrSecret, kind: stoav1.ErrorKind_ERROR_KIND_SECRET, code: codes.PermissionDenied, exit: exitRefused, hint: "`stoa serve --peer USER=secrets` lets a user read secrets"},
	{is: ErrBound, kind: stoav1.ErrorKind_ERROR_KIND_KV_BOUND, code: codes.PermissionDenied, exit: exitRefused},
	{is: ErrRole, kind: stoav1.ErrorKind_ERROR_KIND_ROLE, code: codes.PermissionDenied, exit: exitRefused, hint: "`stoa status` says what this user may do here, `stoa serve --peer` who may do what"},
	{is: ErrOwned, kind: stoav1.ErrorKind_ERROR_KIND_OWNED, code: codes.FailedPrecondition, exit: exitRefused, hint: "`stoa blob`, `context`, `dag`, `kv`, `record`, `namespace` and `group` write them; `stoa serve --raw` lets others, for repair"},
	{is: ErrRequest, kind: stoav1.ErrorKind_ERROR_KIND_REQUEST, code: codes.InvalidArgument},

	{is: engine.ErrClosed, kind: stoav1.ErrorKind_ERROR_KIND_CLOSED, code: codes.Unavailable, exit: exitOpen},
	{is: namespace.ErrNoNamespace, kind: stoav1.ErrorKind_ERROR_KIND_NO_NAMESPACE, code: codes.NotFound, exit: exitNotFound, hint: "`stoa namespace list` lists those that are here"},
	{is: namespace.ErrNoGroup, kind: stoav1.ErrorKind_ERROR_KIND_NO_GROUP, code: codes.NotFound, exit: exitNotFound, hint: "`stoa namespace tree` lists the groups of a namespace"},
	{is: namespace.ErrNoContext, kind: stoav1.ErrorKind_ERROR_KIND_NO_GROUP_CONTEXT, code: codes.NotFound, exit: exitNotFound},
	{is: namespace.ErrNoOp, kind: stoav1.ErrorKind_ERROR_KIND_NO_OP, code: codes.NotFound, exit: exitNotFound},
	{is: namespace.ErrForgotten, kind: stoav1.ErrorKind_ERROR_KIND_FORGOTTEN, code: codes.FailedPrecondition},
	{is: namespace.ErrNoIdentity, kind: stoav1.ErrorKind_ERROR_KIND_NO_IDENTITY, code: codes.FailedPrecondition, exit: exitNotFound, hint: "`stoa namespace identity --new` makes one"},
	{is: namespace.ErrIdentityExists, kind: stoav1.ErrorKind_ERROR_KIND_IDENTITY_EXISTS, code: codes.AlreadyExists, exit: exitRefused},
	{is: namespace.ErrExport, kind: stoav1.ErrorKind_ERROR_KIND_IDENTITY, code: codes.InvalidArgument},
	{is: namespace.ErrIdentity, kind: stoav1.ErrorKind_ERROR_KIND_IDENTITY, code: codes.InvalidArgument},
	{is: namespace.ErrNoKey, kind: stoav1.ErrorKind_ERROR_KIND_NO_GROUP_KEY, code: codes.FailedPrecondition, exit: exitRefused, hint: "synchronize with a member who has it"},
	{is: namespace.ErrContextTaken, kind: stoav1.ErrorKind_ERROR_KIND_CONTEXT_TAKEN, code: codes.FailedPrecondition, exit: exitRefused, hint: "on the node that created the context run `stoa context place CONTEXT GROUP`, and give `stoa group register` what it prints with --placement"},
	{is: namespace.ErrNotPlaced, kind: stoav1.ErrorKind_ERROR_KIND_NOT_PLACED, code: codes.InvalidArgument, hint: "on the node that created the context `stoa context place CONTEXT GROUP` prints one"},
	{is: namespace.ErrNoContextKey, kind: stoav1.ErrorKind_ERROR_KIND_NO_CONTEXT_KEY, code: codes.NotFound, exit: exitNotFound, hint: "the node that created the context has it"},
	{is: namespace.ErrNotWriter, kind: stoav1.ErrorKind_ERROR_KIND_NOT_WRITER, code: codes.FailedPrecondition, exit: exitRefused, hint: "an admin adds the identity that `stoa namespace identity` prints, or gives it another role: `stoa group member`"},
	{is: content.ErrUnsigned, kind: stoav1.ErrorKind_ERROR_KIND_UNSIGNED, code: codes.FailedPrecondition, exit: exitRefused, hint: "its deltas go from node to node by `stoa dag since` and `stoa dag add`; where another node has them signed, `stoa context delete` and `stoa sync`"},
	{is: content.ErrSigned, kind: stoav1.ErrorKind_ERROR_KIND_SIGNED, code: codes.FailedPrecondition, exit: exitRefused, hint: "`stoa sync` brings the envelopes of other nodes"},
	{is: content.ErrNoEnvelope, kind: stoav1.ErrorKind_ERROR_KIND_NO_ENVELOPE, code: codes.NotFound, exit: exitNotFound, hint: "`stoa dag held` lists those that are set aside"},
	{is: namespace.ErrNotEffective, kind: stoav1.ErrorKind_ERROR_KIND_NOT_EFFECTIVE, code: codes.FailedPrecondition, exit: exitRefused, hint: hintConcepts},
	{is: namespace.ErrNotInvited, kind: stoav1.ErrorKind_ERROR_KIND_INVITATION, code: codes.InvalidArgument, hint: "`stoa namespace invite` prints an invitation, `stoa namespace join` makes a request of it, `stoa namespace admit` takes that"},
	{is: namespace.ErrExpired, kind: stoav1.ErrorKind_ERROR_KIND_EXPIRED, code: codes.FailedPrecondition, exit: exitRefused, hint: "ask for another invitation"},
	{is: namespace.ErrNotDue, kind: stoav1.ErrorKind_ERROR_KIND_NOT_DUE, code: codes.FailedPrecondition, exit: exitRefused, hint: "only members hold the key that is current; a member whose machine was stolen is removed, which makes a new one: `stoa group remove`; an admin makes one in any case with --now; " + hintConcepts},
	{is: namespace.ErrStated, kind: stoav1.ErrorKind_ERROR_KIND_STATED, code: codes.FailedPrecondition, exit: exitRefused, hint: "it is of version 2 where this daemon is an admin; of any other group an admin states it: `stoa group members` lists them"},
	{is: namespace.ErrRestored, kind: stoav1.ErrorKind_ERROR_KIND_RESTORED, code: codes.FailedPrecondition, exit: exitRefused, hint: "`stoa sync` with a daemon that may have it, or `stoa namespace resume` where there is none"},
	{is: namespace.ErrBehind, kind: stoav1.ErrorKind_ERROR_KIND_BEHIND, code: codes.FailedPrecondition, exit: exitRefused, hint: "begin anew"},
	{is: namespace.ErrNoSigningKey, kind: stoav1.ErrorKind_ERROR_KIND_NO_SIGNING_KEY, code: codes.NotFound, exit: exitNotFound},
	{is: namespace.ErrUneven, exit: exitRefused},
	{is: exchange.ErrProtocol, kind: stoav1.ErrorKind_ERROR_KIND_SYNC_PROTOCOL, code: codes.InvalidArgument, exit: exitRefused, hint: "both sides are to be of versions that speak alike; what was exchanged is kept"},
	{is: exchange.ErrPeer, kind: stoav1.ErrorKind_ERROR_KIND_SYNC_ENDED, code: codes.Aborted, exit: exitOpen, hint: "what was exchanged is kept: begin again"},
	{is: exchange.ErrStalled, kind: stoav1.ErrorKind_ERROR_KIND_SYNC_STALLED, code: codes.DeadlineExceeded, exit: exitOpen, hint: "what was exchanged is kept: begin again"},
	{is: namespace.ErrClosed, kind: stoav1.ErrorKind_ERROR_KIND_CLOSED, code: codes.Unavailable, exit: exitOpen},

	{is: errKV, kind: stoav1.ErrorKind_ERROR_KIND_KV_ARGUMENT, code: codes.InvalidArgument, data: refusedKV(stoav1.ErrorKind_ERROR_KIND_KV_ARGUMENT)},
	{is: errKV, kind: stoav1.ErrorKind_ERROR_KIND_KV_VALUE, code: codes.FailedPrecondition, exit: exitRefused, data: refusedKV(stoav1.ErrorKind_ERROR_KIND_KV_VALUE)},
	{is: errKV, kind: stoav1.ErrorKind_ERROR_KIND_KV_QUOTA, code: codes.ResourceExhausted, exit: exitRefused, data: refusedKV(stoav1.ErrorKind_ERROR_KIND_KV_QUOTA)},
	{is: errKV, kind: stoav1.ErrorKind_ERROR_KIND_KV_CONFLICT, code: codes.Aborted, exit: exitRefused, data: refusedKV(stoav1.ErrorKind_ERROR_KIND_KV_CONFLICT)},
	{is: errKV, kind: stoav1.ErrorKind_ERROR_KIND_KV_CAPABILITY, code: codes.Unimplemented, exit: exitRefused, data: refusedKV(stoav1.ErrorKind_ERROR_KIND_KV_CAPABILITY)},
	{is: errRecord, kind: stoav1.ErrorKind_ERROR_KIND_RECORD_ARGUMENT, code: codes.InvalidArgument, data: refusedRecord(stoav1.ErrorKind_ERROR_KIND_RECORD_ARGUMENT)},
	{is: errRecord, kind: stoav1.ErrorKind_ERROR_KIND_RECORD_NOT_FOUND, code: codes.NotFound, exit: exitNotFound, data: refusedRecord(stoav1.ErrorKind_ERROR_KIND_RECORD_NOT_FOUND)},
	{is: errRecord, kind: stoav1.ErrorKind_ERROR_KIND_RECORD_EXISTS, code: codes.AlreadyExists, exit: exitRefused, data: refusedRecord(stoav1.ErrorKind_ERROR_KIND_RECORD_EXISTS)},
	{is: errRecord, kind: stoav1.ErrorKind_ERROR_KIND_RECORD_REFUSED, code: codes.FailedPrecondition, exit: exitRefused, data: refusedRecord(stoav1.ErrorKind_ERROR_KIND_RECORD_REFUSED)},
	{is: errRecord, kind: stoav1.ErrorKind_ERROR_KIND_RECORD_CONFLICT, code: codes.Aborted, exit: exitRefused, data: refusedRecord(stoav1.ErrorKind_ERROR_KIND_RECORD_CONFLICT)},
	{is: errRecord, kind: stoav1.ErrorKind_ERROR_KIND_RECORD_QUOTA, code: codes.ResourceExhausted, exit: exitRefused, data: refusedRecord(stoav1.ErrorKind_ERROR_KIND_RECORD_QUOTA)},
	{is: errLock, kind: stoav1.ErrorKind_ERROR_KIND_LOCK_ARGUMENT, code: codes.InvalidArgument, data: refusedLock(stoav1.ErrorKind_ERROR_KIND_LOCK_ARGUMENT)},
	{is: errLock, kind: stoav1.ErrorKind_ERROR_KIND_LOCK_NOT_FOUND, code: codes.NotFound, exit: exitNotFound, data: refusedLock(stoav1.ErrorKind_ERROR_KIND_LOCK_NOT_FOUND)},
	{is: errLock, kind: stoav1.ErrorKind_ERROR_KIND_LOCK_REFUSED, code: codes.FailedPrecondition, exit: exitRefused, data: refusedLock(stoav1.ErrorKind_ERROR_KIND_LOCK_REFUSED)},
	{is: errLock, kind: stoav1.ErrorKind_ERROR_KIND_LOCK_QUOTA, code: codes.ResourceExhausted, exit: exitRefused, data: refusedLock(stoav1.ErrorKind_ERROR_KIND_LOCK_QUOTA)},
	{is: errSetting, kind: stoav1.ErrorKind_ERROR_KIND_SETTING_ARGUMENT, code: codes.InvalidArgument, data: refusedSetting(stoav1.ErrorKind_ERROR_KIND_SETTING_ARGUMENT)},
	{is: errSetting, kind: stoav1.ErrorKind_ERROR_KIND_SETTING_QUOTA, code: codes.ResourceExhausted, exit: exitRefused, data: refusedSetting(stoav1.ErrorKind_ERROR_KIND_SETTING_QUOTA)},
	{is: errLimit, kind: stoav1.ErrorKind_ERROR_KIND_LIMIT_ARGUMENT, code: codes.InvalidArgument, data: refusedLimit(stoav1.ErrorKind_ERROR_KIND_LIMIT_ARGUMENT)},
	{is: errLimit, kind: stoav1.ErrorKind_ERROR_KIND_LIMIT_NOT_FOUND, code: codes.NotFound, exit: exitNotFound, data: refusedLimit(stoav1.ErrorKind_ERROR_KIND_LIMIT_NOT_FOUND)},
	{is: errLimit, kind: stoav1.ErrorKind_ERROR_KIND_LIMIT_QUOTA, code: codes.ResourceExhausted, exit: exitRefused, data: refusedLimit(stoav1.ErrorKind_ERROR_KIND_LIMIT_QUOTA)},
	{is: errEvent, kind: stoav1.ErrorKind_ERROR_KIND_EVENT_ARGUMENT, code: codes.InvalidArgument, data: refusedEvent(stoav1.ErrorKind_ERROR_KIND_EVENT_ARGUMENT)},
	{is: errEvent, kind: stoav1.ErrorKind_ERROR_KIND_EVENT_NOT_FOUND, code: codes.NotFound, exit: exitNotFound, data: refusedEvent(stoav1.ErrorKind_ERROR_KIND_EVENT_NOT_FOUND)},
	{is: errEvent, kind: stoav1.ErrorKind_ERROR_KIND_EVENT_TRIMMED, code: codes.OutOfRange, exit: exitRefused, data: refusedEvent(stoav1.ErrorKind_ERROR_KIND_EVENT_TRIMMED)},
	{is: errEvent, kind: stoav1.ErrorKind_ERROR_KIND_EVENT_QUOTA, code: codes.ResourceExhausted, exit: exitRefused, data: refusedEvent(stoav1.ErrorKind_ERROR_KIND_EVENT_QUOTA)},
	{is: errJob, kind: stoav1.ErrorKind_ERROR_KIND_JOB_ARGUMENT, code: codes.InvalidArgument, data: refusedJob(stoav1.ErrorKind_ERROR_KIND_JOB_ARGUMENT)},
	{is: errJob, kind: stoav1.ErrorKind_ERROR_KIND_JOB_NOT_FOUND, code: codes.NotFound, exit: exitNotFound, data: refusedJob(stoav1.ErrorKind_ERROR_KIND_JOB_NOT_FOUND)},
	{is: errJob, kind: stoav1.ErrorKind_ERROR_KIND_JOB_FENCED, code: codes.FailedPrecondition, exit: exitRefused, data: refusedJob(stoav1.ErrorKind_ERROR_KIND_JOB_FENCED)},
	{is: errJob, kind: stoav1.ErrorKind_ERROR_KIND_JOB_QUOTA, code: codes.ResourceExhausted, exit: exitRefused, data: refusedJob(stoav1.ErrorKind_ERROR_KIND_JOB_QUOTA)},
	{is: errStream, kind: stoav1.ErrorKind_ERROR_KIND_STREAM_ARGUMENT, code: codes.InvalidArgument, data: refusedStream(stoav1.ErrorKind_ERROR_KIND_STREAM_ARGUMENT)},
	{is: errStream, kind: stoav1.ErrorKind_ERROR_KIND_STREAM_NOT_FOUND, code: codes.NotFound, exit: exitNotFound, data: refusedStream(stoav1.ErrorKind_ERROR_KIND_STREAM_NOT_FOUND)},
	{is: errStream, kind: stoav1.ErrorKind_ERROR_KIND_STREAM_EXISTS, code: codes.AlreadyExists, exit: exitRefused, data: refusedStream(stoav1.ErrorKind_ERROR_KIND_STREAM_EXISTS)},
	{is: errStream, kind: stoav1.ErrorKind_ERROR_KIND_STREAM_MISMATCH, code: codes.Aborted, exit: exitRefused, data: refusedStream(stoav1.ErrorKind_ERROR_KIND_STREAM_MISMATCH)},
	{is: errStream, kind: stoav1.ErrorKind_ERROR_KIND_STREAM_TRIMMED, code: codes.OutOfRange, exit: exitRefused, data: refusedStream(stoav1.ErrorKind_ERROR_KIND_STREAM_TRIMMED)},
	{is: errStream, kind: stoav1.ErrorKind_ERROR_KIND_STREAM_FENCED, code: codes.FailedPrecondition, exit: exitRefused, data: refusedStream(stoav1.ErrorKind_ERROR_KIND_STREAM_FENCED)},
	{is: errStream, kind: stoav1.ErrorKind_ERROR_KIND_STREAM_QUOTA, code: codes.ResourceExhausted, exit: exitRefused, data: refusedStream(stoav1.ErrorKind_ERROR_KIND_STREAM_QUOTA)},
	{is: errBucket, kind: stoav1.ErrorKind_ERROR_KIND_BUCKET_ARGUMENT, code: codes.InvalidArgument, data: refusedBucket(stoav1.ErrorKind_ERROR_KIND_BUCKET_ARGUMENT)},
	{is: errBucket, kind: stoav1.ErrorKind_ERROR_KIND_BUCKET_NOT_FOUND, code: codes.NotFound, exit: exitNotFound, data: refusedBucket(stoav1.ErrorKind_ERROR_KIND_BUCKET_NOT_FOUND)},
	{is: errBucket, kind: stoav1.ErrorKind_ERROR_KIND_BUCKET_EXISTS, code: codes.AlreadyExists, exit: exitRefused, data: refusedBucket(stoav1.ErrorKind_ERROR_KIND_BUCKET_EXISTS)},
	{is: errBucket, kind: stoav1.ErrorKind_ERROR_KIND_BUCKET_CONFLICT, code: codes.Aborted, exit: exitRefused, data: refusedBucket(stoav1.ErrorKind_ERROR_KIND_BUCKET_CONFLICT)},
	{is: errBucket, kind: stoav1.ErrorKind_ERROR_KIND_BUCKET_REFUSED, code: codes.FailedPrecondition, exit: exitRefused, data: refusedBucket(stoav1.ErrorKind_ERROR_KIND_BUCKET_REFUSED)},
	{is: errBucket, kind: stoav1.ErrorKind_ERROR_KIND_BUCKET_FORBIDDEN, code: codes.PermissionDenied, exit: exitRefused, data: refusedBucket(stoav1.ErrorKind_ERROR_KIND_BUCKET_FORBIDDEN)},
	{is: errBucket, kind: stoav1.ErrorKind_ERROR_KIND_BUCKET_QUOTA, code: codes.ResourceExhausted, exit: exitRefused, data: refusedBucket(stoav1.ErrorKind_ERROR_KIND_BUCKET_QUOTA)},
	{is: errContract, kind: stoav1.ErrorKind_ERROR_KIND_CONTRACT, code: codes.InvalidArgument, data: contractData},
	{is: kv.ErrSpaceNotFound, kind: stoav1.ErrorKind_ERROR_KIND_KV_NO_TENANT, code: codes.NotFound, exit: exitNotFound, hint: "`stoa kv tenants list` lists those that are here", data: noTenantData},
	{is: kv.ErrClosed, kind: stoav1.ErrorKind_ERROR_KIND_CLOSED, code: codes.Unavailable, exit: exitOpen},
	{is: kv.ErrBusy, kind: stoav1.ErrorKind_ERROR_KIND_BUSY, code: codes.ResourceExhausted, exit: exitRefused, hint: "the daemon has too much to do at once: try again", data: kvBusyData},

	{is: engine.ErrCorrupt, kind: stoav1.ErrorKind_ERROR_KIND_CORRUPT, code: codes.DataLoss, exit: exitDamage, hint: hintCorrupt},
	{is: engine.ErrNotFound, kind: stoav1.ErrorKind_ERROR_KIND_NOT_FOUND, code: codes.NotFound, exit: exitNotFound},
	{is: engine.ErrBatch, kind: stoav1.ErrorKind_ERROR_KIND_BATCH, code: codes.InvalidArgument},
	{is: engine.ErrTooLarge, kind: stoav1.ErrorKind_ERROR_KIND_TOO_LARGE, code: codes.InvalidArgument},
	{is: engine.ErrReadOnly, kind: stoav1.ErrorKind_ERROR_KIND_READ_ONLY, code: codes.FailedPrecondition, exit: exitRefused, hint: "`stoa status` says why; once that is mended, `stoa reopen`"},
	{is: engine.ErrNoSpace, kind: stoav1.ErrorKind_ERROR_KIND_NO_SPACE, code: codes.ResourceExhausted, exit: exitRefused, hint: "free some disk space: writes resume by themselves"},
	{is: engine.ErrClosed, kind: stoav1.ErrorKind_ERROR_KIND_SNAPSHOT, code: codes.FailedPrecondition, exit: exitOpen},
	{is: engine.ErrUnsupported, kind: stoav1.ErrorKind_ERROR_KIND_UNSUPPORTED, code: codes.Unimplemented, exit: exitRefused},
	{is: engine.ErrConflict, kind: stoav1.ErrorKind_ERROR_KIND_CONFLICT, code: codes.Aborted, exit: exitRefused, hint: hintConflict},
	{is: engine.ErrLocked, exit: exitOpen, hint: "stop that process, or serve another directory with --dir"},
	{is: engine.ErrSchema, exit: exitOpen, hint: "`stoa inspect`, `stoa export` and what takes --offline read it without a daemon"},
	{is: engine.ErrNotDatabase, exit: exitOpen, hint: "name a directory of the store, or one that is new, with --dir"},
	{is: engine.ErrPlace},

	{is: dag.ErrClosed, kind: stoav1.ErrorKind_ERROR_KIND_CLOSED, code: codes.Unavailable, exit: exitOpen},
	{is: dag.ErrNoContext, kind: stoav1.ErrorKind_ERROR_KIND_NO_CONTEXT, code: codes.NotFound, exit: exitNotFound, hint: "`stoa context list` lists those that are here"},
	{is: dag.ErrExists, kind: stoav1.ErrorKind_ERROR_KIND_CONTEXT_EXISTS, code: codes.AlreadyExists, exit: exitRefused},
	{is: merkle.ErrRootGone, kind: stoav1.ErrorKind_ERROR_KIND_ROOT_GONE, code: codes.FailedPrecondition, exit: exitRefused, hint: "the context has changed meanwhile: try again"},
	{is: merkle.ErrPeer, kind: stoav1.ErrorKind_ERROR_KIND_PEER, code: codes.InvalidArgument, exit: exitRefused},
	{is: dag.ErrNoDelta, kind: stoav1.ErrorKind_ERROR_KIND_NO_DELTA, code: codes.NotFound, exit: exitNotFound},
	{is: dag.ErrPosition, kind: stoav1.ErrorKind_ERROR_KIND_POSITION, code: codes.FailedPrecondition, exit: exitRefused, hint: "the context was seeded again: begin anew"},
	{is: dag.ErrNotEmpty, kind: stoav1.ErrorKind_ERROR_KIND_NOT_EMPTY, code: codes.FailedPrecondition, exit: exitRefused, hint: "--replace seeds it all the same"},
	{is: dag.ErrSeeding, kind: stoav1.ErrorKind_ERROR_KIND_SEEDING, code: codes.Aborted, exit: exitRefused},
	{is: dag.ErrSnapshotGone, kind: stoav1.ErrorKind_ERROR_KIND_SNAPSHOT_GONE, code: codes.FailedPrecondition},
	{is: dag.ErrAdopting, kind: stoav1.ErrorKind_ERROR_KIND_ADOPTING, code: codes.Unavailable, exit: exitRefused},

	{is: blob.ErrMismatch, kind: stoav1.ErrorKind_ERROR_KIND_BLOB_MISMATCH, code: codes.InvalidArgument},
	{is: blob.ErrInUse, kind: stoav1.ErrorKind_ERROR_KIND_BLOB_IN_USE, code: codes.FailedPrecondition, exit: exitRefused, hint: hintForce},
	{is: keys.ErrLayout, kind: stoav1.ErrorKind_ERROR_KIND_KEY, code: codes.InvalidArgument, data: keyData},
	{is: codec.ErrMalformed, kind: stoav1.ErrorKind_ERROR_KIND_VALUE, code: codes.InvalidArgument, data: valueData},
	{is: ErrInternal, kind: stoav1.ErrorKind_ERROR_KIND_INTERNAL, code: codes.Internal, exit: exitRefused, hint: "the daemon's log says more", data: internalData},
	{is: context.DeadlineExceeded, exit: exitOpen, hint: "the daemon did not answer in time: --timeout gives it longer"},
	{is: syscall.ENOSPC, exit: exitOpen, hint: "free some disk space"},
	{is: fs.ErrPermission, exit: exitOpen},
}

// Explain returns the exit code of a command that err ends, and what its user may do about
// it, "" if the error says it all. An error that is not in the table is taken for bad input.
func Explain(err error) (exit int, hint string) {
	for i := range errorTable {
		if k := &errorTable[i]; k.fits(err) {
			return max(k.exit, exitBad), k.hintFor(err)
		}
	}
	return exitBad, ""
}

// hintFor is what the user may do about err, which k fits.
func (k *known) hintFor(err error) string {
	if k.hint == "" && k.code == codes.InvalidArgument && k.data != nil && k.data.fieldOf(err) == "tenant" {
		return hintTenant // whatever was asked for
	}
	return k.hint
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
