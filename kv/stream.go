package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Entry is one of a stream.
type Entry struct {
	Number  uint64 // 1 for the first of the stream, and then without a gap
	Time    time.Time
	Payload []byte
}

// StreamLimits say what a stream keeps: whichever comes first.
type StreamLimits struct {
	Entries uint64        // the newest; 0: all
	Age     time.Duration // those younger than this; 0: all
}

// StreamInfo is the head of a stream. First is Last+1 if it has no entries.
type StreamInfo struct {
	First, Last uint64
	Limits      StreamLimits

	due uint64 // when the first entry is too old; 0: nothing is armed
}

// The value of a stream's head is first u64 ‖ last u64 ‖ entries u64 ‖ age u64 ms
// ‖ due u64 ms; that of an entry is time u64 ms ‖ payload.

func parseStreamHead(row, src []byte) (i StreamInfo, err error) {
	if len(src) != 40 {
		return i, damaged(row, "not the head of a stream")
	}
	number := func(n int) uint64 { return binary.LittleEndian.Uint64(src[8*n:]) }
	age := number(3)
	i = StreamInfo{First: number(0), Last: number(1), due: number(4), Limits: StreamLimits{Entries: number(2), Age: time.Duration(min(age, maxTime)) * time.Millisecond}}
	if i.First == 0 || i.First > i.Last+1 || age > maxTime {
		return i, damaged(row, "a stream that ends before it begins")
	}
	return i, nil
}

func (i StreamInfo) bytes() []byte {
	var b []byte
	for _, n := range []uint64{i.First, i.Last, i.Limits.Entries, uint64(i.Limits.Age / time.Millisecond), i.due} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

func (i StreamInfo) tooOld(e Entry, now uint64) bool {
	return i.Limits.Age > 0 && uint64(e.Time.Add(i.Limits.Age).UnixMilli()) <= now
}

func parseEntry(row, src []byte) (e Entry, err error) {
	if len(src) < 8 || !isTime(src) {
		return e, damaged(row, "an entry that is cut short, or was added at no time")
	}
	return Entry{Time: timeOf(binary.LittleEndian.Uint64(src)), Payload: src[8:]}, nil
}

func (tx *Tx) streamHead(stream string) (row []byte, i StreamInfo, err error) {
	if err := checkName("stream", stream); err != nil {
		return nil, i, err
	}
	row = tx.u.key(Row{Scope: tx.scope, Shape: ShapeHead, Kind: KindStream, Key: []byte(stream)})
	value, err := tx.u.get(row)
	if errors.Is(err, engine.ErrNotFound) {
		return row, StreamInfo{First: 1}, nil
	}
	if err == nil {
		i, err = parseStreamHead(row, value)
	}
	return row, i, err
}

func (tx *Tx) entryRow(stream string, n uint64) []byte {
	return tx.u.key(Row{Scope: tx.scope, Shape: ShapeEntry, Name: []byte(stream), Number: n})
}

// entry returns an entry, or ErrTrimmed.
func (tx *Tx) entry(stream string, n uint64) (Entry, error) {
	row := tx.entryRow(stream, n)
	value, err := tx.u.get(row)
	if errors.Is(err, engine.ErrNotFound) {
		return Entry{}, trimmed(n)
	}
	if err != nil {
		return Entry{}, err
	}
	e, err := parseEntry(row, value)
	e.Number = n
	return e, err
}

func trimmed(n uint64) *Error {
	return &Error{Code: CodeTrimmed, Field: "entry", Have: n, Reason: "the entry is no longer kept"}
}

// Append adds an entry to a stream, and trims it to limits, which hold from then
// on. It returns the entry's number.
func (tx *Tx) Append(stream string, payload []byte, limits StreamLimits) (uint64, error) {
	if len(payload) > MaxValue {
		return 0, &Error{Code: CodeValueTooLarge, Field: "payload", Limit: MaxValue, Have: uint64(len(payload)), Reason: "the payload is too long"}
	}
	if limits.Age < 0 || limits.Age%time.Millisecond != 0 {
		return 0, invalid("age", "the age of entries is a whole number of milliseconds, and 0 is any")
	}
	head, info, err := tx.streamHead(stream)
	if err != nil {
		return 0, err
	}
	old := info.due
	// What is too old by the limits so far stays gone, whatever the new ones say.
	if err := tx.dropOld(stream, &info); err != nil {
		return 0, err
	}
	info.Limits, info.Last = limits, info.Last+1
	tx.u.put(tx.entryRow(stream, info.Last), append(u64Bytes(tx.u.now), payload...))
	if keep := limits.Entries; keep > 0 && info.Last-info.First >= keep {
		tx.dropEntries(stream, &info, info.Last-keep+1)
	}
	if err := tx.dropOld(stream, &info); err != nil {
		return 0, err
	}
	return info.Last, tx.putStreamHead(head, stream, old, info)
}

// fewEntries is how many entries are removed one by one rather than as a range.
const fewEntries = 8

// dropEntries removes the entries before first.
func (tx *Tx) dropEntries(stream string, info *StreamInfo, first uint64) {
	if first-info.First > fewEntries {
		tx.u.batch.DeleteRange(column.Generic, tx.entryRow(stream, info.First), tx.entryRow(stream, first))
		info.First = first
	}
	for ; info.First < first; info.First++ {
		tx.u.delete(tx.entryRow(stream, info.First))
	}
}

// dropOld removes the entries that are too old. They are the first ones, as time
// never goes back.
func (tx *Tx) dropOld(stream string, info *StreamInfo) (err error) {
	if info.Limits.Age == 0 {
		return nil
	}
	old := sort.Search(int(info.Last+1-info.First), func(i int) bool {
		e, entryErr := tx.entry(stream, info.First+uint64(i))
		err = errors.Join(err, entryErr)
		return !info.tooOld(e, tx.u.now)
	})
	if err == nil {
		tx.dropEntries(stream, info, info.First+uint64(old))
	}
	return err
}

// putStreamHead writes the head, and arms the moment when its first entry is too
// old.
func (tx *Tx) putStreamHead(head []byte, stream string, old uint64, info StreamInfo) error {
	info.due = 0
	if info.Limits.Age > 0 && info.First <= info.Last {
		e, err := tx.entry(stream, info.First)
		if err != nil {
			return err
		}
		info.due = uint64(e.Time.Add(info.Limits.Age).UnixMilli())
	}
	due := Row{Shape: ShapeDue, Of: tx.scope, Kind: byte(ShapeEntry), Key: []byte(stream)}
	if due.Due = old; old != info.due && old != 0 {
		tx.u.delete(tx.u.key(due))
	}
	if due.Due = info.due; old != info.due && info.due != 0 {
		tx.u.due(due)
	}
	tx.changed = true
	tx.u.put(head, info.bytes())
	return nil
}

// ageStream trims a stream whose first entry is too old.
func (tx *Tx) ageStream(due Row) error {
	stream := string(due.Key)
	head, info, err := tx.streamHead(stream)
	if err != nil || info.due != due.Due {
		return err
	}
	if err := tx.dropOld(stream, &info); err != nil {
		return err
	}
	return tx.putStreamHead(head, stream, due.Due, info)
}

// DeleteStream removes a stream with its groups. A later one of the same name
// begins anew.
func (tx *Tx) DeleteStream(stream string) error {
	head, info, err := tx.streamHead(stream)
	if err != nil {
		return err
	}
	for _, shape := range []Shape{ShapeEntry, ShapeGroup, ShapePending} {
		tx.u.deleteAll(under(tx.scope, shape, []byte(stream)).Start)
	}
	if info.due != 0 {
		tx.u.delete(tx.u.key(Row{Shape: ShapeDue, Due: info.due, Of: tx.scope, Kind: byte(ShapeEntry), Key: []byte(stream)}))
	}
	tx.u.delete(head)
	tx.changed = true
	return nil
}

// Stream returns the head of a stream.
func (tx *Tx) Stream(stream string) (StreamInfo, error) {
	_, i, err := tx.streamHead(stream)
	return i, err
}

// Stream returns the head of a stream.
func (v *View) Stream(stream string) (StreamInfo, error) {
	row := Row{Scope: v.scope, Shape: ShapeHead, Kind: KindStream, Key: []byte(stream)}.AppendKey(nil)
	value, err := v.reader.Get(nil, column.Generic, row)
	if errors.Is(err, engine.ErrNotFound) {
		return StreamInfo{First: 1}, nil
	}
	if err != nil {
		return StreamInfo{}, err
	}
	return parseStreamHead(row, value)
}

// Entries returns the entries of a stream after a number, oldest first, at most
// limit of them, 0 for 100, as many as take pageBytes. Those that are too old
// are left out.
func (v *View) Entries(ctx context.Context, stream string, after uint64, limit int) ([]Entry, error) {
	if limit < 0 || limit > MaxPage {
		return nil, invalid("limit", "a page has 1 to %d entries, and 0 is %d", MaxPage, defaultPage)
	}
	if limit == 0 {
		limit = defaultPage
	}
	info, err := v.Stream(stream)
	if err != nil || after >= info.Last {
		return nil, err
	}
	r := under(v.scope, ShapeEntry, []byte(stream))
	r.Start = appendU64(r.Start[:len(r.Start):len(r.Start)], after+1)
	var entries []Entry
	size, now := 0, v.time()
	for row, err := range scanRows(ctx, v.reader, r) {
		if err != nil {
			return nil, err
		}
		e, err := parseEntry(row.raw, row.value)
		if err != nil {
			return nil, err
		}
		if info.tooOld(e, now) {
			continue
		}
		e.Number, e.Payload = row.Number, slices.Clone(e.Payload)
		entries = append(entries, e)
		if size += len(e.Payload); len(entries) == limit || size >= pageBytes {
			break
		}
	}
	return entries, nil
}

// Entries returns entries of a stream as it is now; see [View.Entries].
func (s *Space) Entries(ctx context.Context, stream string, after uint64, limit int) ([]Entry, error) {
	return s.now().Entries(ctx, stream, after, limit)
}

// Follow yields the entries of a stream after a number, and then those to come,
// until ctx ends, the store is closed or the space is dropped, whose errors are
// the last thing it yields. It yields ErrTrimmed, and ends, if an entry that it
// has not yielded is no longer kept.
func (s *Space) Follow(ctx context.Context, stream string, after uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		defer s.store.notifier.subscribe(s.scope)()
		w := watcher{space: s, ctx: ctx}
		for {
			changed := s.store.notifier.next(s.scope)
			entries, err := s.Entries(ctx, stream, after, watchPage)
			if err == nil && len(entries) > 0 && entries[0].Number != after+1 {
				err = trimmed(after + 1)
			}
			for i := 0; i < len(entries) && err == nil; i++ {
				if !yield(entries[i], nil) {
					return
				}
				after = entries[i].Number
			}
			if err == nil && len(entries) == 0 {
				err = w.wait(changed)
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
		}
	}
}
