package rpc

import (
	"errors"
	"strconv"
	"strings"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// describeKV returns an error of packages kv and kvstorage as it goes over the
// wire, or nil.
func describeKV(err error) *Error {
	var refusal *kvstorage.Error
	if errors.As(err, &refusal) {
		pairs := []string{FieldCode, string(refusal.Code), FieldField, refusal.Field, FieldReason, refusal.Reason}
		if refusal.Name != "" {
			pairs = append(pairs, FieldWhat, refusal.Name)
		}
		if refusal.Limit != 0 || refusal.Have != 0 {
			pairs = append(pairs, FieldLimit, strconv.FormatUint(refusal.Limit, 10), FieldSize, strconv.FormatUint(refusal.Have, 10))
		}
		return NewError(kvKind(refusal), refusal.Error(), pairs...)
	}
	var inner *kv.Error
	if !errors.As(err, &inner) {
		return nil
	}
	switch inner.Code {
	case kv.CodeClosed:
		return NewError(stoav1.ErrorKind_ERROR_KIND_CLOSED, inner.Error())
	case kv.CodeBusy:
		return NewError(stoav1.ErrorKind_ERROR_KIND_BUSY, inner.Error(), FieldWhat, inner.Field)
	case kv.CodeNoSpace:
		return NewError(stoav1.ErrorKind_ERROR_KIND_KV_NO_TENANT, "kv: no such tenant, or not any more", FieldReason, inner.Reason)
	}
	return nil
}

// kvKind returns the kind of a refusal.
func kvKind(e *kvstorage.Error) stoav1.ErrorKind {
	switch e.Code {
	case kvstorage.CapabilityMissing:
		return stoav1.ErrorKind_ERROR_KIND_KV_CAPABILITY
	case kvstorage.NotANumber, kvstorage.Overflow:
		return stoav1.ErrorKind_ERROR_KIND_KV_VALUE
	case kvstorage.QuotaExhausted:
		return stoav1.ErrorKind_ERROR_KIND_KV_QUOTA
	case kvstorage.Conflict:
		return stoav1.ErrorKind_ERROR_KIND_KV_CONFLICT
	case kvstorage.LimitExceeded:
		if strings.HasPrefix(e.Name, "quota") {
			return stoav1.ErrorKind_ERROR_KIND_KV_QUOTA
		}
	}
	return stoav1.ErrorKind_ERROR_KIND_KV_ARGUMENT
}

// rebuildKV returns the refusal that e stands for, from its fields.
func (e *Error) rebuildKV() error {
	r := &kvstorage.Error{Code: kvstorage.Code(e.Fields[FieldCode]), Field: e.Fields[FieldField], Reason: e.Fields[FieldReason], Name: e.Fields[FieldWhat]}
	r.Limit, _ = strconv.ParseUint(e.Fields[FieldLimit], 10, 64)
	r.Have, _ = strconv.ParseUint(e.Fields[FieldSize], 10, 64)
	return r
}
