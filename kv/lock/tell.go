package lock

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/event"
)

// eventSource is who tells the stream of locks what happens to them.
const eventSource = "stoa"

// teller returns what tells each change of a lock in a stream; nil: nobody does.
func teller(events *event.Store) func(tx *kv.Tx, old, r kv.Record) error {
	if events == nil {
		return nil
	}
	return func(tx *kv.Tx, old, r kv.Record) error {
		if agentKey(r.Key) {
			return nil
		}
		from := Free
		if old.Kind == kv.Put {
			from = modeOf(old.Value)
		}
		list, err := eventsOf(&r)
		if err != nil {
			return err
		}
		for i := range list {
			if e := &list[i]; e.Kind != EventRenewed {
				_, err := events.Append(tx, event.Lock, event.Event{Name: "lock:" + e.Kind.String(), Payload: e.payload(from), Source: eventSource})
				if errors.Is(err, kv.ErrSpaceNotFound) {
					return nil // locks of a time before there were streams, which nobody has asked for since
				}
				if err != nil {
					return err
				}
			}
			from = list[i].Mode
		}
		return nil
	}
}

// payload is what the stream says of an event: how the lock was held before, and is.
func (e *Event) payload(from Mode) json.RawMessage {
	b := make([]byte, 0, 160+len(e.Name)+len(e.Agent))
	b = append(append(b, `{"agent_id":`...), document.FromText(e.Agent)...)
	b = append(append(b, `,"from":"`...), from.String()...)
	b = strconv.AppendInt(append(b, `","holders":`...), int64(e.Holders), 10)
	b = append(append(b, `,"lock":`...), document.FromText(Key(e.Name))...)
	b = strconv.AppendUint(append(b, `,"revision":`...), e.Revision, 10)
	b = append(append(b, `,"to":"`...), e.Mode.String()...)
	b = append(b, '"')
	if e.Token != 0 {
		b = strconv.AppendUint(append(b, `,"token":`...), e.Token, 10)
	}
	return append(b, '}')
}
