package event

import (
	"context"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Append adds an event to a stream within a unit of work of the tenant, and returns its
// id, which holds if the unit of work is written. It returns ErrInvalidArgument or
// ErrTooLarge for an event that is not well formed, and ErrSpaceNotFound if the tenant has
// been dropped.
func (f *Feed) Append(w *kv.Work, stream string, e Event) (ID, error) {
	var one [1]ID
	err := f.add(w, stream, []Event{e}, one[:])
	return one[0], err
}

// AppendAll is Append of several events, at most MaxBatch, in their order.
func (f *Feed) AppendAll(w *kv.Work, stream string, events []Event) ([]ID, error) {
	ids := make([]ID, len(events))
	return ids, f.add(w, stream, events, ids)
}

func (f *Feed) add(w *kv.Work, stream string, events []Event, ids []ID) error {
	if err := checkEvents(stream, events); err != nil {
		return err
	}
	if f.space == nil {
		return kv.ErrSpaceNotFound
	}
	tx, err := w.In(f.space)
	if err != nil {
		return err
	}
	return f.store.addTo(tx, stream, events, ids)
}

// Append adds an event to a stream of the tenant that a transaction is of, in its batch, as
// [Feed.Append] does for who knows the tenant. It returns ErrSpaceNotFound if
// the tenant has no streams: nobody has opened them.
func (s *Store) Append(beside *kv.Tx, stream string, e Event) (ID, error) {
	events, ids := [1]Event{e}, [1]ID{}
	if err := checkEvents(stream, events[:]); err != nil {
		return ID{}, err
	}
	err := s.adding(events[:], ids[:], func(payloads [][]byte) (kv.StreamInfo, error) {
		return beside.AppendBeside(kv.SystemEvent, streamSpace, stream, s.keep, payloads...)
	})
	return ids[0], err
}

func checkEvents(stream string, events []Event) error {
	if err := checkStream(stream); err != nil {
		return err
	}
	if len(events) > MaxBatch {
		return tooMany("events", MaxBatch, "%d events at once, at most %d: add them in several calls", len(events), MaxBatch)
	}
	for i := range events {
		if err := events[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// addTo adds events that have been checked.
func (s *Store) addTo(tx *kv.Tx, stream string, events []Event, ids []ID) error {
	return s.adding(events, ids, func(payloads [][]byte) (kv.StreamInfo, error) { return tx.AppendAll(stream, s.keep, payloads...) })
}

// adding adds the entries of events by add, and says their ids.
func (s *Store) adding(events []Event, ids []ID, add func(payloads [][]byte) (kv.StreamInfo, error)) error {
	size := 0
	for i := range events {
		size += 16 + len(events[i].Name) + len(events[i].Source) + len(events[i].Payload)
	}
	room, payloads := make([]byte, 0, size), make([][]byte, len(events))
	for i := range events {
		start := len(room)
		room = events[i].append(room)
		payloads[i] = room[start:]
	}
	info, err := add(payloads)
	for i := range ids {
		ids[i] = ID{uint64(info.Newest.UnixMilli()), info.Last - uint64(len(ids)-1-i)}
	}
	return err
}

// Publish adds events to a stream in a batch of its own, in their order, at most MaxBatch,
// and returns their ids once they are as durable as d says. Errors are those of Append.
func (f *Feed) Publish(ctx context.Context, d engine.Durability, stream string, events []Event) ([]ID, error) {
	if err := checkEvents(stream, events); err != nil {
		return nil, err
	}
	if f.space == nil {
		return nil, kv.ErrSpaceNotFound
	}
	ids := make([]ID, len(events))
	err := f.space.Update(ctx, d, func(tx *kv.Tx) error { return f.store.addTo(tx, stream, events, ids) })
	if err != nil {
		return nil, told(err)
	}
	return ids, nil
}
