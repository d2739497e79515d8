package approval

import (
	"encoding/json"
	"fmt"

	"github.com/stoadb/stoa/kv/record"
)

// The codes of refusals, beside those of records.
const (
	// CodeForbidden is of who answers, or delegates, what somebody else is asked.
	CodeForbidden record.Code = "FORBIDDEN"
	// CodeAlreadyResponded is of a second answer. The detail has the first one, as an
	// object of the fields of the approval.
	CodeAlreadyResponded record.Code = "ALREADY_RESPONDED"
	// CodeDelegationCycle is of a delegation to who was asked before.
	CodeDelegationCycle record.Code = "DELEGATION_CYCLE"
	// CodeUnsupported is of what the tenant's configuration does not allow, or the process
	// was started without.
	CodeUnsupported record.Code = "UNSUPPORTED"
	// CodeBatchRefused is of answers that were given together, some of which are refused:
	// none of them counts. The detail has a list of objects of approval_id, code, message.
	CodeBatchRefused record.Code = "BATCH_REFUSED"
)

// What errors.Is finds; each is the refusals of one code.
var (
	ErrForbidden        error = &record.Error{Code: CodeForbidden}
	ErrAlreadyResponded error = &record.Error{Code: CodeAlreadyResponded}
	ErrDelegationCycle  error = &record.Error{Code: CodeDelegationCycle}
	ErrUnsupported      error = &record.Error{Code: CodeUnsupported}
	ErrBatchRefused     error = &record.Error{Code: CodeBatchRefused}
)

func refuse(code record.Code, collection, field, format string, args ...any) *record.Error {
	return &record.Error{Code: code, Collection: collection, Field: field, Reason: fmt.Sprintf(format, args...)}
}

// malformed is the refusal of an argument.
func malformed(collection, field, format string, args ...any) *record.Error {
	return refuse(record.CodeValidation, collection, field, format, args...)
}

// tooMany is the refusal of more than there may be.
func tooMany(collection, field string, limit, have int, format string, args ...any) *record.Error {
	e := refuse(record.CodeTooLarge, collection, field, format, args...)
	e.Limit, e.Have = uint64(limit), uint64(have)
	return e
}

// detailed is a refusal with what else it says.
func detailed(e *record.Error, detail any) *record.Error {
	text, _ := json.Marshal(detail) // texts only, which never fails
	e.Detail = string(text)
	return e
}
