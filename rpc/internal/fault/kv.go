package fault

import (
	"errors"
	"strconv"
	"strings"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// refusedKV is the data of refusals of the Kv service of one kind.
func refusedKV(kind stoav1.ErrorKind) *data {
	return refused(kind, kvKind, func(r *kvstorage.Error) []string {
		pairs := []string{FieldCode, string(r.Code), FieldField, r.Field, FieldReason, r.Reason}
		if r.Name != "" {
			pairs = append(pairs, FieldWhat, r.Name)
		}
		if r.Limit != 0 || r.Have != 0 {
			pairs = append(pairs, FieldLimit, strconv.FormatUint(r.Limit, 10), FieldSize, strconv.FormatUint(r.Have, 10))
		}
		return pairs
	}, rebuildKV)
}

// noTenantData has the text of the service, which knows tenants only.
var noTenantData = &data{
	fits: func(err error) bool { return errors.Is(err, kv.ErrSpaceNotFound) },
	describe: func(err error) (string, []string) {
		var inner *kv.Error
		errors.As(err, &inner)
		return "kv: no such tenant, or not any more", []string{FieldReason, inner.Reason}
	},
	rebuild: func(*Error) error { return kv.ErrSpaceNotFound },
}

// kvBusyData says what there is too much of.
var kvBusyData = &data{
	fits: func(err error) bool {
		var inner *kv.Error
		return errors.As(err, &inner) && inner.Code == kv.CodeBusy
	},
	describe: func(err error) (string, []string) {
		var inner *kv.Error
		errors.As(err, &inner)
		return inner.Error(), []string{FieldWhat, inner.Field}
	},
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
func rebuildKV(e *Error) error {
	return &kvstorage.Error{Code: kvstorage.Code(e.Fields[FieldCode]), Field: e.Fields[FieldField], Reason: e.Fields[FieldReason],
		Name: e.Fields[FieldWhat], Limit: e.number(FieldLimit), Have: e.number(FieldSize)}
}
