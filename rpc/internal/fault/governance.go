package fault

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
)

var opRefusalData = typed(func(r *namespace.Refusal) []string {
	return []string{FieldOp, r.Op.String(), FieldReason, r.Reason.String(), FieldDetail, r.Detail}
}, func(e *Error) error {
	return &namespace.Refusal{Op: idIn[codec.OpID](e, FieldOp), Detail: e.Fields[FieldDetail],
		Reason: reasonIn(e, namespace.BadForm, namespace.NotFollowed)}
})
