package fault

import (
	"strconv"

	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// refusedJob is the data of refusals of the Job service of one kind.
func refusedJob(kind stoav1.ErrorKind) *data {
	return refused(kind, jobKind, func(j *job.Error) []string {
		pairs := bounded(j.Limit, j.Have, FieldCode, string(j.Code), FieldField, j.Field, FieldReason, j.Reason)
		if j.Token != 0 {
			pairs = append(pairs, FieldToken, strconv.FormatUint(j.Token, 10))
		}
		return pairs
	}, func(e *Error) error {
		return &job.Error{Code: job.Code(e.Fields[FieldCode]), Field: e.Fields[FieldField], Reason: e.Fields[FieldReason], Token: e.number(FieldToken),
			Limit: e.number(FieldLimit), Have: e.number(FieldSize)}
	})
}

// jobKind returns the kind of a refusal.
func jobKind(e *job.Error) stoav1.ErrorKind {
	switch e.Code {
	case job.CodeNotFound:
		return stoav1.ErrorKind_ERROR_KIND_JOB_NOT_FOUND
	case job.CodeFenced:
		return stoav1.ErrorKind_ERROR_KIND_JOB_FENCED
	case job.CodeTooMany:
		return stoav1.ErrorKind_ERROR_KIND_JOB_QUOTA
	}
	return stoav1.ErrorKind_ERROR_KIND_JOB_ARGUMENT
}
