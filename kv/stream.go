package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
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
	Newest      time.Time // when the last entry was added; no later one is added before it

	rows uint64 // the first entry whose row is still there; it may be before First
	due  uint64 // up to when no entry is too old; 0: nothing is armed
}

// The value of a stream's head is the first row u64 ‖ last u64 ‖ entries u64 ‖ age u64 ms
// ‖ due u64 ms ‖ newest u64 ms; that of an entry is time u64 ms ‖ payload.

func parseStreamHead(row, src []byte) (i StreamInfo, err error) {
	if len(src) != 48 {
		return i, damaged(row, "not the head of a stream")
	}
	number := func(n int) uint64 { return binary.LittleEndian.Uint64(src[8*n:]) }
	age, newest := number(3), number(5)
	i = StreamInfo{rows: number(0), Last: number(1), due: number(4), Limits: StreamLimits{Entries: number(2), Age: time.Duration(min(age, maxTime)) * time.Millisecond}, Newest: timeOf(newest)}
	if i.rows == 0 || i.rows > i.Last+1 || age > maxTime || newest > maxTime {
		return i, damaged(row, "a stream that ends before it begins, or at no time")
	}
	i.First = i.first()
	return i, nil
}

// first is the first entry of those that are as many as are kept: rows are removed some
// at a time.
func (i *StreamInfo) first() uint64 {
	if keep := i.Limits.Entries; keep > 0 && i.Last-i.rows >= keep && i.Last >= i.rows {
		return i.Last - keep + 1
	}
	return i.rows
}

func (i StreamInfo) bytes() []byte {
	var b []byte
	for _, n := range []uint64{i.rows, i.Last, i.Limits.Entries, uint64(i.Limits.Age / time.Millisecond), i.due, msOf(i.Newest)} {
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
		return row, StreamInfo{First: 1, rows: 1}, nil
	}
	if err == nil {
		i, err = parseStreamHead(row, value)
	}
	return row, i, err
}

func (tx *Tx) entryRow(stream string, n uint64) []byte {
	return tx.u.key(Row{Scope: tx.scope, Shape: ShapeEntry, Name: []byte(stream), Number: n})
}

// entry returns an entry whose row is to be there.
func (tx *Tx) entry(stream string, n uint64) (Entry, error) {
	row := tx.entryRow(stream, n)
	value, err := tx.u.get(row)
	if errors.Is(err, engine.ErrNotFound) {
		return Entry{}, damaged(row, "the entry of a stream is missing")
	}
	if err != nil {
		return Entry{}, err
	}
	e, err := parseEntry(row, value)
	e.Number = n
	return e, err
}

// trimmed is the error for an entry that is no longer kept, where the first one is
// another; its Have is the entry, its Limit the first one.
func trimmed(n, first uint64) *Error {
	return &Error{Code: CodeTrimmed, Field: "entry", Have: n, Limit: first, Reason: fmt.Sprintf("entry %d is no longer kept; the first one that is has number %d", n, first)}
}

// Append adds an entry to a stream, and trims it to limits, which hold from then
// on. It returns the entry's number.
func (tx *Tx) Append(stream string, payload []byte, limits StreamLimits) (uint64, error) {
	info, err := tx.AppendAll(stream, limits, payload)
	return info.Last, err
}

// AppendAll adds entries to a stream in their order, as [Tx.Append] adds one, and returns
// the stream as it is then. All of them have the time Newest.
func (tx *Tx) AppendAll(stream string, limits StreamLimits, payloads ...[]byte) (StreamInfo, error) {
	if len(payloads) == 0 && limits.check() == nil {
		return tx.Stream(stream)
	}
	return tx.extend(stream, limits, payloads)
}

// LimitStream trims a stream to limits, which hold from then on, and returns the stream as
// it is then. One that has had no entry yet has them from its first one on.
func (tx *Tx) LimitStream(stream string, limits StreamLimits) (StreamInfo, error) {
	return tx.extend(stream, limits, nil)
}

func (l StreamLimits) check() error {
	if l.Age < 0 || l.Age%time.Millisecond != 0 {
		return invalid("age", "the age of entries is a whole number of milliseconds, and 0 is any")
	}
	return nil
}

// extend adds entries to a stream, or none, and trims it to limits.
func (tx *Tx) extend(stream string, limits StreamLimits, payloads [][]byte) (StreamInfo, error) {
	if err := limits.check(); err != nil {
		return StreamInfo{}, err
	}
	for _, p := range payloads {
		if len(p) > MaxValue {
			return StreamInfo{}, &Error{Code: CodeValueTooLarge, Field: "payload", Limit: MaxValue, Have: uint64(len(p)), Reason: "the payload is too long"}
		}
	}
	head, info, err := tx.streamHead(stream)
	if err != nil {
		return info, err
	}
	old := info.due
	// What is too old by the limits so far stays gone, whatever the new ones say; and what
	// is too many.
	if err := tx.dropOld(stream, &info); err != nil {
		return StreamInfo{}, err
	}
	if limits != info.Limits {
		tx.dropEntries(stream, &info, info.First)
		info.Limits, info.due = limits, 0
	}
	if len(payloads) > 0 {
		// Times of entries don't go back, also where the time of a new process does.
		info.Newest = timeOf(max(tx.u.now, msOf(info.Newest)))
	}
	for _, p := range payloads {
		info.Last++
		tx.u.scratch = append(binary.LittleEndian.AppendUint64(tx.u.scratch[:0], msOf(info.Newest)), p...)
		tx.u.put(tx.entryRow(stream, info.Last), tx.u.scratch)
	}
	if info.First = info.first(); info.First-info.rows >= max(info.Limits.Entries/trimShare, 1) {
		tx.dropEntries(stream, &info, info.First)
	}
	if err := tx.dropOld(stream, &info); err != nil {
		return StreamInfo{}, err
	}
	return info, tx.putStreamHead(head, stream, old, &info)
}

// fewEntries is how many entries are removed one by one rather than as a range, which makes
// an engine that keeps rows in memory forget all of the column: as many as one batch adds.
const fewEntries = 1024

// dropEntries removes the rows of the entries before first.
func (tx *Tx) dropEntries(stream string, info *StreamInfo, first uint64) {
	if first-info.rows > fewEntries {
		tx.u.batch.DeleteRange(column.Generic, tx.entryRow(stream, info.rows), tx.entryRow(stream, first))
		info.rows = first
	}
	for ; info.rows < first; info.rows++ {
		tx.u.delete(tx.entryRow(stream, info.rows))
	}
	info.First = info.first()
}

// firstKept is the first entry of a stream that is not too old either. They are so from
// the first one on, as their times don't go back.
func (tx *Tx) firstKept(stream string, info *StreamInfo) (first uint64, err error) {
	if info.Limits.Age == 0 || tx.u.now < info.due {
		return info.First, nil
	}
	old := sort.Search(int(info.Last+1-info.First), func(i int) bool {
		e, entryErr := tx.entry(stream, info.First+uint64(i))
		err = errors.Join(err, entryErr)
		return !info.tooOld(e, tx.u.now)
	})
	return info.First + uint64(old), err
}

// dropOld removes the entries that are too old.
func (tx *Tx) dropOld(stream string, info *StreamInfo) error {
	first, err := tx.firstKept(stream, info)
	if err == nil && first > info.First {
		tx.dropEntries(stream, info, first)
		info.due = 0
	}
	return err
}

// putStreamHead writes the head, and arms the moment before which no entry is too old. It
// is that of the first entry when it was armed: where entries go because there are many,
// it is not moved with each of them.
func (tx *Tx) putStreamHead(head []byte, stream string, old uint64, info *StreamInfo) error {
	switch {
	case info.Limits.Age == 0 || info.First > info.Last:
		info.due = 0
	case info.due == 0:
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

// ageStream trims a stream one of whose entries may be too old.
func (tx *Tx) ageStream(due Row) error {
	stream := string(due.Key)
	head, info, err := tx.streamHead(stream)
	if err != nil || info.due != due.Due {
		return err
	}
	if err := tx.dropOld(stream, &info); err != nil {
		return err
	}
	info.due = 0
	return tx.putStreamHead(head, stream, due.Due, &info)
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

// Entry returns an entry of a stream, or ErrTrimmed, whose Limit is the first entry that is
// kept, if it is no longer kept, or not there yet.
func (tx *Tx) Entry(stream string, n uint64) (Entry, error) {
	_, head, err := tx.streamHead(stream)
	if err != nil {
		return Entry{}, err
	}
	return tx.entryKept(stream, head, n)
}

// FirstEntry returns the number of the first entry that is kept; see [View.FirstEntry].
func (tx *Tx) FirstEntry(stream string) (uint64, error) {
	_, head, err := tx.streamHead(stream)
	if err != nil {
		return 0, err
	}
	return tx.firstKept(stream, &head)
}
