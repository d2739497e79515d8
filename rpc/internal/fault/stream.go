package fault

import (
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// refusedStream is the data of refusals of the Stream service of one kind.
func refusedStream(kind stoav1.ErrorKind) *data {
	return refused(kind, streamKind, func(e *stream.Error) []string {
		return bounded(e.Limit, e.Have, FieldCode, string(e.Code), FieldField, e.Field, FieldReason, e.Reason)
	}, func(e *Error) error {
		return &stream.Error{Code: stream.Code(e.Fields[FieldCode]), Field: e.Fields[FieldField], Reason: e.Fields[FieldReason], Limit: e.number(FieldLimit), Have: e.number(FieldSize)}
	})
}

// streamKind returns the kind of a refusal.
func streamKind(e *stream.Error) stoav1.ErrorKind {
	switch e.Code {
	case stream.CodeNotFound:
		return stoav1.ErrorKind_ERROR_KIND_STREAM_NOT_FOUND
	case stream.CodeExists:
		return stoav1.ErrorKind_ERROR_KIND_STREAM_EXISTS
	case stream.CodeMismatch:
		return stoav1.ErrorKind_ERROR_KIND_STREAM_MISMATCH
	case stream.CodeTrimmed:
		return stoav1.ErrorKind_ERROR_KIND_STREAM_TRIMMED
	case stream.CodeFenced:
		return stoav1.ErrorKind_ERROR_KIND_STREAM_FENCED
	case stream.CodeTooMany:
		return stoav1.ErrorKind_ERROR_KIND_STREAM_QUOTA
	}
	return stoav1.ErrorKind_ERROR_KIND_STREAM_ARGUMENT
}
