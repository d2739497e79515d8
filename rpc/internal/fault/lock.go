package fault

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// refusedLock is the data of refusals of the Lock service of one kind.
func refusedLock(kind stoav1.ErrorKind) *data {
	return refused(kind, lockKind, func(l *lock.Error) []string {
		pairs := []string{FieldCode, string(l.Code), FieldField, l.Field, FieldReason, l.Reason}
		add := func(name, value string, some bool) {
			if some {
				pairs = append(pairs, name, value)
			}
		}
		add(FieldLock, l.Lock, l.Lock != "")
		add(FieldHolders, listed(l.Holders), len(l.Holders) > 0)
		add(FieldRemaining, strconv.FormatInt(l.Remaining.Milliseconds(), 10), l.Remaining != 0)
		add(FieldToken, strconv.FormatUint(l.Token, 10), l.Token != 0)
		add(FieldCycle, listed(l.Cycle), len(l.Cycle) > 0)
		add(FieldLimit, strconv.FormatUint(l.Limit, 10), l.Limit != 0)
		add(FieldSize, strconv.FormatUint(l.Have, 10), l.Have != 0)
		return pairs
	}, rebuildLock)
}

// lockKind returns the kind of a refusal.
func lockKind(e *lock.Error) stoav1.ErrorKind {
	switch e.Code {
	case lock.CodeInvalidArgument:
		return stoav1.ErrorKind_ERROR_KIND_LOCK_ARGUMENT
	case lock.CodeNotFound:
		return stoav1.ErrorKind_ERROR_KIND_LOCK_NOT_FOUND
	case lock.CodeTooMany:
		return stoav1.ErrorKind_ERROR_KIND_LOCK_QUOTA
	}
	return stoav1.ErrorKind_ERROR_KIND_LOCK_REFUSED
}

// listed returns names of agents as a field has them, as JSON.
func listed(names []string) string {
	text, _ := json.Marshal(names) // which never fails
	return string(text)
}

// rebuildLock returns the refusal that e stands for, from its fields.
func rebuildLock(e *Error) error {
	l := &lock.Error{Code: lock.Code(e.Fields[FieldCode]), Field: e.Fields[FieldField], Reason: e.Fields[FieldReason], Lock: e.Fields[FieldLock],
		Token: e.number(FieldToken), Limit: e.number(FieldLimit), Have: e.number(FieldSize)}
	_ = json.Unmarshal([]byte(e.Fields[FieldHolders]), &l.Holders)
	_ = json.Unmarshal([]byte(e.Fields[FieldCycle]), &l.Cycle)
	ms, _ := strconv.ParseInt(e.Fields[FieldRemaining], 10, 64)
	l.Remaining = time.Duration(ms) * time.Millisecond
	return l
}
