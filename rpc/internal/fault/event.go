package fault

import (
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// refusedEvent is the data of refusals of the Event service of one kind.
func refusedEvent(kind stoav1.ErrorKind) *data {
	return refused(kind, eventKind, func(e *event.Error) []string {
		pairs := bounded(e.Limit, e.Have, FieldCode, string(e.Code), FieldField, e.Field, FieldReason, e.Reason)
		if !e.First.IsZero() {
			pairs = append(pairs, FieldFirst, e.First.String())
		}
		return pairs
	}, func(e *Error) error {
		r := &event.Error{Code: event.Code(e.Fields[FieldCode]), Field: e.Fields[FieldField], Reason: e.Fields[FieldReason], Limit: e.number(FieldLimit), Have: e.number(FieldSize)}
		r.First, _ = event.ParseID(e.Fields[FieldFirst]) // of another version, whose reason says it too
		return r
	})
}

// eventKind returns the kind of a refusal.
func eventKind(e *event.Error) stoav1.ErrorKind {
	switch e.Code {
	case event.CodeNotFound:
		return stoav1.ErrorKind_ERROR_KIND_EVENT_NOT_FOUND
	case event.CodeTrimmed:
		return stoav1.ErrorKind_ERROR_KIND_EVENT_TRIMMED
	case event.CodeTooMany:
		return stoav1.ErrorKind_ERROR_KIND_EVENT_QUOTA
	}
	return stoav1.ErrorKind_ERROR_KIND_EVENT_ARGUMENT
}
