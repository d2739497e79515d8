package fault

import (
	"encoding/hex"
	"strconv"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
)

var rootMovedData = typed(func(m *dag.RootMoved) []string {
	return []string{FieldContext, m.Context.String(), FieldRead, m.Read.String(), FieldRoot, m.Have.String()}
}, func(e *Error) error {
	return &dag.RootMoved{Context: idIn[codec.ContextID](e, FieldContext), Read: idIn[codec.Hash](e, FieldRead), Have: idIn[codec.Hash](e, FieldRoot)}
})

var aheadData = typed(func(a *hlc.Ahead) []string {
	return []string{FieldPhysical, wireTime(a.Physical), FieldNext, wireTime(a.Next), FieldRetryAfter, milliseconds(a.RetryAfter)}
}, func(e *Error) error {
	return &hlc.Ahead{Physical: e.time(FieldPhysical), Next: e.time(FieldNext), RetryAfter: e.retryAfter()}
})

var jumpedData = typed(func(j *hlc.Jumped) []string {
	return []string{FieldPhysical, wireTime(j.Physical), FieldExpected, wireTime(j.Expected)}
}, func(e *Error) error {
	return &hlc.Jumped{Physical: e.time(FieldPhysical), Expected: e.time(FieldExpected)}
})

var earlyData = typed(func(a *hlc.Early) []string {
	return []string{FieldTime, strconv.FormatUint(a.Stamp.Time, 10), FieldNode, a.Stamp.ID.String(), FieldRetryAfter, milliseconds(a.RetryAfter)}
}, func(e *Error) error {
	a := &hlc.Early{RetryAfter: e.retryAfter()}
	a.Stamp.Time = e.number(FieldTime)
	a.Stamp.ID, _ = codec.ParseNodeID(e.Fields[FieldNode])
	return a
})

var refusalData = typed(func(r *dag.Refusal) []string {
	return []string{FieldDelta, r.Delta.String(), FieldReason, r.Reason.String(), FieldDetail, r.Detail}
}, func(e *Error) error {
	return &dag.Refusal{Delta: idIn[codec.DeltaID](e, FieldDelta), Detail: e.Fields[FieldDetail],
		Reason: reasonIn(e, dag.BadID, dag.RefusedAncestor)}
})

// reasonIn returns the reason in e, one of those from first to last.
func reasonIn[R interface {
	~uint8
	String() string
}](e *Error, first, last R) (reason R) {
	for r := first; r <= last; r++ {
		if r.String() == e.Fields[FieldReason] {
			reason = r
		}
	}
	return reason
}

func wireTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func (e *Error) time(field string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, e.Fields[field])
	return t
}

// milliseconds rounds up.
func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds()+1, 10) }

func (e *Error) retryAfter() time.Duration {
	ms, _ := strconv.ParseInt(e.Fields[FieldRetryAfter], 10, 64)
	return time.Duration(ms) * time.Millisecond
}

// idIn returns the id in a field of e.
func idIn[T ~[32]byte](e *Error, field string) (id T) {
	if b, err := hex.DecodeString(e.Fields[field]); err == nil && len(b) == len(id) {
		id = T(b)
	}
	return id
}
