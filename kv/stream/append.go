package stream

import (
	"context"
	"errors"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// AppendOptions say where messages are added. The zero AppendOptions are the end, whatever is
// there.
type AppendOptions struct {
	// ExpectedLast is the number of the last entry that the stream has had: 0 before the
	// first. Where it is another ErrMismatch is returned, whose Have is that one. nil: any.
	ExpectedLast *uint64
}

// Append adds messages to a stream within a unit of work of the tenant, in their order, at most
// MaxBatch and MaxBytes of them, and returns the number of the last one, which holds if
// the unit of work is written. It returns ErrNotFound if there is no such stream,
// ErrInvalidArgument, ErrTooLarge or ErrTooMany for messages that are not well formed, and
// ErrSpaceNotFound if the tenant has been dropped.
func (s *Streams) Append(w *kv.Work, stream string, o AppendOptions, list ...Message) (last uint64, err error) {
	if err := checkMessages(stream, list); err != nil {
		return 0, err
	}
	tx, err := s.in(w)
	if err != nil {
		return 0, err
	}
	return add(tx, stream, o, list)
}

// Publish is Append in a batch of its own, which returns once that is as durable as d says.
func (s *Streams) Publish(ctx context.Context, d engine.Durability, stream string, o AppendOptions, list ...Message) (last uint64, err error) {
	if err := checkMessages(stream, list); err != nil {
		return 0, err
	}
	err = s.update(ctx, d, func(tx *kv.Tx) (err error) {
		last, err = add(tx, stream, o, list)
		return err
	})
	if err != nil {
		return 0, err
	}
	return last, nil
}

func checkMessages(stream string, list []Message) error {
	if err := checkName("stream", stream); err != nil {
		return err
	}
	if len(list) > MaxBatch {
		return beyond(CodeTooMany, "messages", MaxBatch, len(list), "%d messages at once, at most %d: add them in several calls", len(list), MaxBatch)
	}
	size := 0
	for i := range list {
		if err := list[i].check(); err != nil {
			return err
		}
		size += list[i].size()
	}
	if size > MaxBytes {
		return beyond(CodeTooLarge, "messages", MaxBytes, size, "messages of %d bytes at once, at most %d: add them in several calls", size, MaxBytes)
	}
	return nil
}

// add adds messages that have been checked.
func add(tx *kv.Tx, stream string, o AppendOptions, list []Message) (uint64, error) {
	if err := needStream(tx, stream); err != nil {
		return 0, err
	}
	head, err := tx.Stream(stream)
	if err != nil {
		return 0, err
	}
	if o.ExpectedLast != nil && *o.ExpectedLast != head.Last {
		e := refuse(CodeMismatch, "expected_last", "the last entry has number %d, and %d was expected: read what came since", head.Last, *o.ExpectedLast)
		e.Limit, e.Have = *o.ExpectedLast, head.Last
		return 0, e
	}
	size := 0
	for i := range list {
		size += list[i].size()
	}
	room, payloads := make([]byte, 0, size), make([][]byte, len(list))
	for i := range list {
		start := len(room)
		room = list[i].append(room)
		payloads[i] = room[start:]
	}
	head, err = tx.AppendAll(stream, head.Limits, payloads...)
	return head.Last, err
}

// needStream returns ErrNotFound unless there is a stream.
func needStream(tx *kv.Tx, stream string) error {
	_, err := tx.Get([]byte(streamKey(stream)))
	if errors.Is(err, kv.ErrNotFound) {
		return noStream(stream)
	}
	return err
}
