package rpc

import (
	"errors"

	"google.golang.org/grpc/codes"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// govSentinels are the errors of package namespace that have a kind and no data.
var govSentinels = []struct {
	is   error
	kind stoav1.ErrorKind
	code codes.Code
}{
	{namespace.ErrNoNamespace, stoav1.ErrorKind_ERROR_KIND_NO_NAMESPACE, codes.NotFound},
	{namespace.ErrNoGroup, stoav1.ErrorKind_ERROR_KIND_NO_GROUP, codes.NotFound},
	{namespace.ErrNoContext, stoav1.ErrorKind_ERROR_KIND_NO_GROUP_CONTEXT, codes.NotFound},
	{namespace.ErrNoOp, stoav1.ErrorKind_ERROR_KIND_NO_OP, codes.NotFound},
	{namespace.ErrForgotten, stoav1.ErrorKind_ERROR_KIND_FORGOTTEN, codes.FailedPrecondition},
	{namespace.ErrNoIdentity, stoav1.ErrorKind_ERROR_KIND_NO_IDENTITY, codes.FailedPrecondition},
	{namespace.ErrIdentityExists, stoav1.ErrorKind_ERROR_KIND_IDENTITY_EXISTS, codes.AlreadyExists},
	{namespace.ErrExport, stoav1.ErrorKind_ERROR_KIND_IDENTITY, codes.InvalidArgument},
	{namespace.ErrIdentity, stoav1.ErrorKind_ERROR_KIND_IDENTITY, codes.InvalidArgument},
	{namespace.ErrNoKey, stoav1.ErrorKind_ERROR_KIND_NO_GROUP_KEY, codes.FailedPrecondition},
	{namespace.ErrContextTaken, stoav1.ErrorKind_ERROR_KIND_CONTEXT_TAKEN, codes.FailedPrecondition},
	{namespace.ErrNotPlaced, stoav1.ErrorKind_ERROR_KIND_NOT_PLACED, codes.InvalidArgument},
	{namespace.ErrNoContextKey, stoav1.ErrorKind_ERROR_KIND_NO_CONTEXT_KEY, codes.NotFound},
	{namespace.ErrNotEffective, stoav1.ErrorKind_ERROR_KIND_NOT_EFFECTIVE, codes.FailedPrecondition},
	{namespace.ErrNotInvited, stoav1.ErrorKind_ERROR_KIND_INVITATION, codes.InvalidArgument},
	{namespace.ErrExpired, stoav1.ErrorKind_ERROR_KIND_EXPIRED, codes.FailedPrecondition},
	{namespace.ErrNotDue, stoav1.ErrorKind_ERROR_KIND_NOT_DUE, codes.FailedPrecondition},
	{namespace.ErrBehind, stoav1.ErrorKind_ERROR_KIND_BEHIND, codes.FailedPrecondition},
	{namespace.ErrNoSigningKey, stoav1.ErrorKind_ERROR_KIND_NO_SIGNING_KEY, codes.NotFound},
}

// govKindOf is kindOf for the kinds of the services Namespace and Group.
func govKindOf(k stoav1.ErrorKind) (kind, bool) {
	if k == stoav1.ErrorKind_ERROR_KIND_OP_REFUSED {
		return kind{codes.InvalidArgument, namespace.ErrRefused}, true
	}
	for _, known := range govSentinels {
		if known.kind == k {
			return kind{known.code, known.is}, true
		}
	}
	return kind{codes.Unknown, ErrInternal}, false
}

// describeGov returns an error of package namespace as it goes over the wire, or nil.
func describeGov(err error) *Error {
	var refusal *namespace.Refusal
	if errors.As(err, &refusal) {
		return NewError(stoav1.ErrorKind_ERROR_KIND_OP_REFUSED, refusal.Error(), FieldOp, refusal.Op.String(),
			FieldReason, refusal.Reason.String(), FieldDetail, refusal.Detail)
	}
	if errors.Is(err, namespace.ErrClosed) {
		return NewError(stoav1.ErrorKind_ERROR_KIND_CLOSED, err.Error())
	}
	for _, known := range govSentinels {
		if errors.Is(err, known.is) {
			text := withoutPaths(err.Error())
			return NewError(known.kind, text, FieldReason, text)
		}
	}
	return nil
}

// rebuildRefusal returns the refusal of an op that e stands for.
func (e *Error) rebuildRefusal() error {
	r := &namespace.Refusal{Op: idIn[codec.OpID](e, FieldOp), Detail: e.Fields[FieldDetail]}
	for reason := namespace.BadForm; reason <= namespace.RefusedAncestor; reason++ {
		if reason.String() == e.Fields[FieldReason] {
			r.Reason = reason
		}
	}
	return r
}
