package fault

import (
	"strconv"

	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// bounded are fields of a refusal that may be about a number, and so has a bound.
func bounded(limit, have uint64, pairs ...string) []string {
	if limit != 0 {
		pairs = append(pairs, FieldLimit, strconv.FormatUint(limit, 10))
	}
	if have != 0 {
		pairs = append(pairs, FieldSize, strconv.FormatUint(have, 10))
	}
	return pairs
}

// refusedLimit is the data of refusals of the Limit service of one kind.
func refusedLimit(kind stoav1.ErrorKind) *data {
	return refused(kind, limitKind, func(l *limit.Error) []string {
		return bounded(l.Limit, l.Have, FieldCode, string(l.Code), FieldField, l.Field, FieldReason, l.Reason)
	}, func(e *Error) error {
		return &limit.Error{Code: limit.Code(e.Fields[FieldCode]), Field: e.Fields[FieldField], Reason: e.Fields[FieldReason], Limit: e.number(FieldLimit), Have: e.number(FieldSize)}
	})
}

// limitKind returns the kind of a refusal.
func limitKind(e *limit.Error) stoav1.ErrorKind {
	switch e.Code {
	case limit.CodeNotFound:
		return stoav1.ErrorKind_ERROR_KIND_LIMIT_NOT_FOUND
	case limit.CodeTooMany:
		return stoav1.ErrorKind_ERROR_KIND_LIMIT_QUOTA
	}
	return stoav1.ErrorKind_ERROR_KIND_LIMIT_ARGUMENT
}

// refusedSetting is the data of refusals of the Setting service of one kind.
func refusedSetting(kind stoav1.ErrorKind) *data {
	return refused(kind, settingKind, func(s *setting.Error) []string {
		pairs := bounded(s.Limit, s.Have, FieldCode, string(s.Code), FieldField, s.Field, FieldReason, s.Reason)
		if s.Name != "" {
			pairs = append(pairs, FieldSetting, s.Name)
		}
		return pairs
	}, func(e *Error) error {
		return &setting.Error{Code: setting.Code(e.Fields[FieldCode]), Field: e.Fields[FieldField], Reason: e.Fields[FieldReason], Name: e.Fields[FieldSetting],
			Limit: e.number(FieldLimit), Have: e.number(FieldSize)}
	})
}

// settingKind returns the kind of a refusal.
func settingKind(e *setting.Error) stoav1.ErrorKind {
	if e.Code == setting.CodeTooMany {
		return stoav1.ErrorKind_ERROR_KIND_SETTING_QUOTA
	}
	return stoav1.ErrorKind_ERROR_KIND_SETTING_ARGUMENT
}
