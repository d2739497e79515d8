package fault

import (
	"strconv"

	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// refusedRecord is the data of refusals of the Record service of one kind.
func refusedRecord(kind stoav1.ErrorKind) *data {
	return refused(kind, recordKind, func(r *record.Error) []string {
		pairs := []string{FieldCode, string(r.Code), FieldField, r.Field, FieldReason, r.Reason}
		if r.Collection != "" {
			pairs = append(pairs, FieldCollection, r.Collection)
		}
		if r.Code == record.CodeConflict {
			pairs = append(pairs, FieldRevision, strconv.FormatUint(r.Revision, 10))
		}
		if r.Limit != 0 || r.Have != 0 {
			pairs = append(pairs, FieldLimit, strconv.FormatUint(r.Limit, 10), FieldSize, strconv.FormatUint(r.Have, 10))
		}
		if r.Detail != "" {
			pairs = append(pairs, FieldAnswers, r.Detail)
		}
		return pairs
	}, rebuildRecord)
}

// recordKind returns the kind of a refusal.
func recordKind(e *record.Error) stoav1.ErrorKind {
	switch e.Code {
	case record.CodeNotFound:
		return stoav1.ErrorKind_ERROR_KIND_RECORD_NOT_FOUND
	case record.CodeAlreadyExists:
		return stoav1.ErrorKind_ERROR_KIND_RECORD_EXISTS
	case record.CodeImmutable, record.CodeIllegalTransition, record.CodePrecondition, record.CodeTrimmed,
		approval.CodeForbidden, approval.CodeAlreadyResponded, approval.CodeDelegationCycle, approval.CodeUnsupported, approval.CodeBatchRefused:
		return stoav1.ErrorKind_ERROR_KIND_RECORD_REFUSED
	case record.CodeConflict:
		return stoav1.ErrorKind_ERROR_KIND_RECORD_CONFLICT
	case record.CodeQuotaExhausted:
		return stoav1.ErrorKind_ERROR_KIND_RECORD_QUOTA
	}
	return stoav1.ErrorKind_ERROR_KIND_RECORD_ARGUMENT
}

// rebuildRecord returns the refusal that e stands for, from its fields.
func rebuildRecord(e *Error) error {
	return &record.Error{Code: record.Code(e.Fields[FieldCode]), Collection: e.Fields[FieldCollection], Field: e.Fields[FieldField],
		Reason: e.Fields[FieldReason], Revision: e.number(FieldRevision), Limit: e.number(FieldLimit), Have: e.number(FieldSize), Detail: e.Fields[FieldAnswers]}
}
