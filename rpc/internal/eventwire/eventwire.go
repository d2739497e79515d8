// Package eventwire says how what package event has goes into messages of the Event service,
// for both ends.
package eventwire

import (
	"errors"

	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/rpc/internal/op"
)

var (
	_ = op.Pair(fromID, parseID)
	_ = op.Tags[event.ReadOptions]("Wait", "wait_ms")
	_ = op.Tags[event.Pending]("Idle", "idle_ms")
)

// fromID spells an id; the zero ID is an empty field.
func fromID(id *event.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

func parseID(field, text string) (event.ID, error) {
	id, err := event.ParseID(text)
	var refused *event.Error
	if errors.As(err, &refused) {
		return id, &op.FieldError{Field: field, Reason: refused.Reason}
	}
	return id, err
}
