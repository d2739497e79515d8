package fault

import (
	"encoding/json"
	"strconv"

	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/contract"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// refusedBucket is the data of refusals of the Bucket service of one kind.
func refusedBucket(kind stoav1.ErrorKind) *data {
	return refused(kind, bucketKind, func(e *bucket.Error) []string {
		pairs := bounded(e.Limit, e.Have, FieldCode, string(e.Code), FieldField, e.Field, FieldReason, e.Reason)
		for _, more := range [][2]string{{FieldBucket, e.Bucket}, {FieldBucketKey, e.Key}, {FieldPointer, e.Pointer}} {
			if more[1] != "" {
				pairs = append(pairs, more[0], more[1])
			}
		}
		if e.Revision != 0 {
			pairs = append(pairs, FieldRevision, strconv.FormatUint(e.Revision, 10))
		}
		return pairs
	}, func(e *Error) error {
		return &bucket.Error{Code: bucket.Code(e.Fields[FieldCode]), Bucket: e.Fields[FieldBucket], Field: e.Fields[FieldField], Key: e.Fields[FieldBucketKey],
			Pointer: e.Fields[FieldPointer], Reason: e.Fields[FieldReason], Revision: e.number(FieldRevision), Limit: e.number(FieldLimit), Have: e.number(FieldSize)}
	})
}

// bucketKind returns the kind of a refusal.
func bucketKind(e *bucket.Error) stoav1.ErrorKind {
	switch e.Code {
	case bucket.CodeNotFound:
		return stoav1.ErrorKind_ERROR_KIND_BUCKET_NOT_FOUND
	case bucket.CodeExists:
		return stoav1.ErrorKind_ERROR_KIND_BUCKET_EXISTS
	case bucket.CodeRevisionMismatch:
		return stoav1.ErrorKind_ERROR_KIND_BUCKET_CONFLICT
	case bucket.CodeConflict, bucket.CodeBlocked:
		return stoav1.ErrorKind_ERROR_KIND_BUCKET_REFUSED
	case bucket.CodeForbidden:
		return stoav1.ErrorKind_ERROR_KIND_BUCKET_FORBIDDEN
	case bucket.CodeTooMany:
		return stoav1.ErrorKind_ERROR_KIND_BUCKET_QUOTA
	}
	return stoav1.ErrorKind_ERROR_KIND_BUCKET_ARGUMENT
}

// contractData is the data of what is wrong with a contract.
var contractData = typed(func(e *contract.Error) []string {
	pairs := []string{FieldCode, string(e.Code), FieldField, e.Field, FieldReason, e.Reason}
	if len(e.Faults) > 0 {
		faults, _ := json.Marshal(e.Faults) // texts
		pairs = append(pairs, FieldFaults, string(faults))
	}
	return pairs
}, func(e *Error) error {
	c := &contract.Error{Code: contract.Code(e.Fields[FieldCode]), Field: e.Fields[FieldField], Reason: e.Fields[FieldReason]}
	_ = json.Unmarshal([]byte(e.Fields[FieldFaults]), &c.Faults) // of another version, whose reason says the first
	return c
})
