package rpc

import (
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// describeDag returns an error of package dag that has data as it goes over the
// wire, or nil.
func describeDag(err error) *Error {
	var (
		moved   *dag.RootMoved
		ahead   *hlc.Ahead
		jumped  *hlc.Jumped
		early   *hlc.Early
		refusal *dag.Refusal
	)
	switch {
	case errors.Is(err, dag.ErrSnapshot): // whatever is wrong with it
		return nil
	case errors.As(err, &moved):
		return NewError(stoav1.ErrorKind_ERROR_KIND_ROOT_MOVED, moved.Error(), FieldContext, moved.Context.String(),
			FieldRead, moved.Read.String(), FieldRoot, moved.Have.String())
	case errors.As(err, &ahead):
		return NewError(stoav1.ErrorKind_ERROR_KIND_CLOCK_AHEAD, ahead.Error(),
			FieldPhysical, ahead.Physical.UTC().Format(time.RFC3339Nano), FieldNext, ahead.Next.UTC().Format(time.RFC3339Nano),
			FieldRetryAfter, strconv.FormatInt(ahead.RetryAfter.Milliseconds()+1, 10))
	case errors.As(err, &jumped):
		return NewError(stoav1.ErrorKind_ERROR_KIND_CLOCK_JUMPED, jumped.Error(),
			FieldPhysical, jumped.Physical.UTC().Format(time.RFC3339Nano), FieldExpected, jumped.Expected.UTC().Format(time.RFC3339Nano))
	case errors.As(err, &early):
		return NewError(stoav1.ErrorKind_ERROR_KIND_EARLY, early.Error(), FieldTime, strconv.FormatUint(early.Stamp.Time, 10),
			FieldNode, early.Stamp.ID.String(), FieldRetryAfter, strconv.FormatInt(early.RetryAfter.Milliseconds()+1, 10))
	case errors.As(err, &refusal):
		return NewError(stoav1.ErrorKind_ERROR_KIND_REFUSED, refusal.Error(), FieldDelta, refusal.Delta.String(),
			FieldReason, refusal.Reason.String(), FieldDetail, refusal.Detail)
	}
	return nil
}

// rebuildDag returns the error of package dag that e stands for, from its
// fields. What a field does not say is zero.
func (e *Error) rebuildDag() error {
	switch e.Kind {
	case stoav1.ErrorKind_ERROR_KIND_ROOT_MOVED:
		return &dag.RootMoved{Context: idIn[codec.ContextID](e, FieldContext),
			Read: idIn[codec.Hash](e, FieldRead), Have: idIn[codec.Hash](e, FieldRoot)}
	case stoav1.ErrorKind_ERROR_KIND_CLOCK_AHEAD:
		a := &hlc.Ahead{RetryAfter: e.retryAfter()}
		a.Physical, _ = time.Parse(time.RFC3339Nano, e.Fields[FieldPhysical])
		a.Next, _ = time.Parse(time.RFC3339Nano, e.Fields[FieldNext])
		return a
	case stoav1.ErrorKind_ERROR_KIND_CLOCK_JUMPED:
		j := &hlc.Jumped{}
		j.Physical, _ = time.Parse(time.RFC3339Nano, e.Fields[FieldPhysical])
		j.Expected, _ = time.Parse(time.RFC3339Nano, e.Fields[FieldExpected])
		return j
	case stoav1.ErrorKind_ERROR_KIND_EARLY:
		a := &hlc.Early{RetryAfter: e.retryAfter()}
		a.Stamp.Time, _ = strconv.ParseUint(e.Fields[FieldTime], 10, 64)
		a.Stamp.ID, _ = codec.ParseNodeID(e.Fields[FieldNode])
		return a
	default:
		r := &dag.Refusal{Delta: idIn[codec.DeltaID](e, FieldDelta), Detail: e.Fields[FieldDetail]}
		for reason := dag.BadID; reason <= dag.RefusedAncestor; reason++ {
			if reason.String() == e.Fields[FieldReason] {
				r.Reason = reason
			}
		}
		return r
	}
}

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
