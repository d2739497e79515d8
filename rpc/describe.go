package rpc

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Describe returns err as it goes over the wire, or nil if it has no kind: an
// error that is not foreseen, whose text is for the daemon's log only.
func Describe(err error) *Error {
	var (
		told     *Error
		conflict *engine.Conflict
	)
	switch {
	case errors.As(err, &told):
		return told
	case errors.As(err, &conflict):
		return KeyError(stoav1.ErrorKind_ERROR_KIND_CONFLICT, conflict.Column, conflict.Key,
			"engine: conflict: "+conflict.Column.String()+" "+shortHex(conflict.Key)+": "+expected(conflict.Absent),
			FieldAbsent, strconv.FormatBool(conflict.Absent))
	}
	if e := describeDag(err); e != nil {
		return e
	}
	if e := describeGov(err); e != nil {
		return e
	}
	if e := describeKV(err); e != nil {
		return e
	}
	if e := describeBlob(err); e != nil {
		return e
	}
	for _, known := range sentinels {
		if errors.Is(err, known.is) {
			text := withoutPaths(err.Error())
			return NewError(known.kind, text, FieldReason, text)
		}
	}
	return describeRow(err)
}

// sentinels are the errors of packages engine and dag that have a kind and no
// data.
var sentinels = []struct {
	is   error
	kind stoav1.ErrorKind
}{
	{engine.ErrCorrupt, stoav1.ErrorKind_ERROR_KIND_CORRUPT},
	{engine.ErrNotFound, stoav1.ErrorKind_ERROR_KIND_NOT_FOUND},
	{engine.ErrBatch, stoav1.ErrorKind_ERROR_KIND_BATCH},
	{engine.ErrTooLarge, stoav1.ErrorKind_ERROR_KIND_TOO_LARGE},
	{engine.ErrReadOnly, stoav1.ErrorKind_ERROR_KIND_READ_ONLY},
	{engine.ErrNoSpace, stoav1.ErrorKind_ERROR_KIND_NO_SPACE},
	{engine.ErrClosed, stoav1.ErrorKind_ERROR_KIND_CLOSED},
	{engine.ErrUnsupported, stoav1.ErrorKind_ERROR_KIND_UNSUPPORTED},
	{dag.ErrClosed, stoav1.ErrorKind_ERROR_KIND_CLOSED},
	{merkle.ErrRootGone, stoav1.ErrorKind_ERROR_KIND_ROOT_GONE},
	{merkle.ErrPeer, stoav1.ErrorKind_ERROR_KIND_PEER},
	{dag.ErrNoDelta, stoav1.ErrorKind_ERROR_KIND_NO_DELTA},
	{dag.ErrPosition, stoav1.ErrorKind_ERROR_KIND_POSITION},
	{dag.ErrSnapshot, stoav1.ErrorKind_ERROR_KIND_SEED},
	{dag.ErrNotEmpty, stoav1.ErrorKind_ERROR_KIND_NOT_EMPTY},
	{dag.ErrSeeding, stoav1.ErrorKind_ERROR_KIND_SEEDING},
	{dag.ErrSnapshotGone, stoav1.ErrorKind_ERROR_KIND_SNAPSHOT_GONE},
	{dag.ErrAdopting, stoav1.ErrorKind_ERROR_KIND_ADOPTING},
}

func describeRow(err error) *Error {
	var (
		ke *keys.Error
		ve *codec.Error
	)
	switch {
	case errors.As(err, &ke):
		return NewError(stoav1.ErrorKind_ERROR_KIND_KEY, ke.Error(), FieldColumn, ke.Column.String(),
			FieldType, ke.Type, FieldField, ke.Field, FieldOffset, strconv.Itoa(ke.Offset), FieldReason, ke.Reason)
	case errors.As(err, &ve):
		return NewError(stoav1.ErrorKind_ERROR_KIND_VALUE, ve.Error(),
			FieldType, ve.Type, FieldField, ve.Field, FieldOffset, strconv.Itoa(ve.Offset), FieldReason, ve.Reason)
	}
	return nil
}

// DescribeRow returns err, what keys.Check says of a row, as it goes over the
// wire, with the key. pairs are more fields.
func DescribeRow(err error, col column.Column, key []byte, pairs ...string) *Error {
	e := describeRow(err)
	if e == nil {
		return nil
	}
	for fields := append(keyFields(col, key), pairs...); len(fields) > 1; fields = fields[2:] {
		e.Fields[fields[0]] = fields[1]
	}
	return e
}

func expected(absent bool) string {
	if absent {
		return "the batch expected nothing there"
	}
	return "the batch expected another value"
}

// paths are absolute paths of the daemon's machine, but for their last part.
var paths = regexp.MustCompile(`(^|[\s"'=(:])/(?:[^\s:"'()]*/)*([^\s:"'()/]*)`)

// withoutPaths returns text with the last part only of every path in it.
func withoutPaths(text string) string { return paths.ReplaceAllString(text, "$1$2") }

// FromStatus returns what a call returned as an error of this package: an
// *Error, ErrUnavailable, an error that is context.Canceled or
// context.DeadlineExceeded, or err as it is.
func FromStatus(err error) error {
	if err == nil {
		return nil
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	for _, d := range s.Details() {
		info, ok := d.(*errdetails.ErrorInfo)
		if !ok || info.GetDomain() != Domain {
			continue
		}
		e := &Error{Kind: kindNamed(info.GetReason()), Message: s.Message(), Fields: info.GetMetadata(), code: s.Code()}
		e.cause = e.rebuild()
		return e
	}
	return fromCode(s)
}

// failure is a status without details: an error of gRPC itself.
type failure struct {
	status *status.Status
	cause  error
}

func (f *failure) Error() string              { return f.cause.Error() + ": " + f.status.Message() }
func (f *failure) Unwrap() error              { return f.cause }
func (f *failure) GRPCStatus() *status.Status { return f.status }

func fromCode(s *status.Status) error {
	switch s.Code() {
	case codes.Canceled:
		return &failure{s, context.Canceled}
	case codes.DeadlineExceeded:
		return &failure{s, context.DeadlineExceeded}
	case codes.Unavailable:
		return &failure{s, ErrUnavailable}
	case codes.Unimplemented:
		return &failure{s, engine.ErrUnsupported}
	case codes.ResourceExhausted:
		if strings.Contains(s.Message(), "larger than max") {
			return &failure{s, engine.ErrTooLarge}
		}
		return &failure{s, ErrBusy}
	}
	return s.Err()
}
