package kv

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/stoadb/stoa/engine"
)

// A group reads a stream together: each entry goes to one of its consumers, and
// is pending there until it is acknowledged. Group names and consumers are texts
// of 1 to MaxName bytes.

// GroupInfo is where a group is.
type GroupInfo struct {
	Delivered uint64 // the number of the last entry that went to a consumer
	Pending   uint64 // how many are not acknowledged
}

// The value of a group row is delivered u64 ‖ pending u64.

func parseGroup(row, src []byte) (i GroupInfo, err error) {
	if len(src) != 16 {
		return i, damaged(row, "not a group of a stream")
	}
	return GroupInfo{binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[8:])}, nil
}

func (tx *Tx) group(stream, group string) (row []byte, i GroupInfo, err error) {
	row = tx.u.key(Row{Scope: tx.scope, Shape: ShapeGroup, Name: []byte(stream), Key: []byte(group)})
	value, err := tx.u.get(row)
	if errors.Is(err, engine.ErrNotFound) {
		return row, i, &Error{Code: CodeNotFound, Field: "group", Reason: "the stream has no such group"}
	}
	if err == nil {
		i, err = parseGroup(row, value)
	}
	return row, i, err
}

// Group returns where a group is, or ErrNotFound.
func (tx *Tx) Group(stream, group string) (GroupInfo, error) {
	_, i, err := tx.group(stream, group)
	return i, err
}

func (tx *Tx) putGroup(row []byte, i GroupInfo) {
	tx.u.put(row, binary.LittleEndian.AppendUint64(u64Bytes(i.Delivered), i.Pending))
}

// CreateGroup makes a group that reads what comes after an entry, and says
// whether there was none. One that is there stays where it is. It begins with the first
// entry that is kept where after is before that, and where after is beyond the last one
// with the next that is added.
func (tx *Tx) CreateGroup(stream, group string, after uint64) (bool, error) {
	if err := checkName("group", group); err != nil {
		return false, err
	}
	place, err := tx.placeAfter(stream, after)
	if err != nil {
		return false, err
	}
	row, _, err := tx.group(stream, group)
	if !errors.Is(err, ErrNotFound) {
		return false, err
	}
	tx.putGroup(row, GroupInfo{Delivered: place})
	return true, nil
}

// placeAfter is where a group of a stream is that is to go on after an entry.
func (tx *Tx) placeAfter(stream string, after uint64) (uint64, error) {
	_, head, err := tx.streamHead(stream)
	if err != nil {
		return 0, err
	}
	first, err := tx.firstKept(stream, &head)
	return min(max(after, first-1), head.Last), err
}

// MoveGroup has a group go on after an entry, as one that is created there; what is pending
// stays so. What it is given again where it is moved back is delivered once more. It
// returns ErrNotFound if there is no such group.
func (tx *Tx) MoveGroup(stream, group string, after uint64) error {
	place, err := tx.placeAfter(stream, after)
	if err != nil {
		return err
	}
	row, info, err := tx.group(stream, group)
	if err != nil {
		return err
	}
	if place != info.Delivered {
		info.Delivered = place
		tx.putGroup(row, info)
		tx.changed = true
	}
	return nil
}

// DropGroup removes a group and what is pending in it. It returns ErrNotFound if
// there is none.
func (tx *Tx) DropGroup(stream, group string) error {
	row, _, err := tx.group(stream, group)
	if err != nil {
		return err
	}
	tx.u.deleteAll(under(tx.scope, ShapePending, []byte(stream), []byte(group)).Start)
	tx.u.delete(row)
	return nil
}

// Deliver gives a consumer the next entries that no consumer of the group has
// had, at most limit of them. It returns ErrNotFound if there is no such group, and
// ErrTrimmed, whose Limit is the first entry that is kept, if the one that comes next for
// the group no longer is: then the group is to be moved to where it goes on.
func (tx *Tx) Deliver(stream, group, consumer string, limit int) ([]Entry, error) {
	if err := checkName("consumer", consumer); err != nil {
		return nil, err
	}
	_, head, err := tx.streamHead(stream)
	if err != nil {
		return nil, err
	}
	row, info, err := tx.group(stream, group)
	if err != nil {
		return nil, err
	}
	first, err := tx.firstKept(stream, &head)
	if err != nil {
		return nil, err
	}
	if info.Delivered+1 < first {
		return nil, trimmed(info.Delivered+1, first)
	}
	before := info
	var entries []Entry
	for size := 0; len(entries) < limit && info.Delivered < head.Last && size < pageBytes; {
		info.Delivered++
		e, err := tx.entry(stream, info.Delivered)
		if err != nil {
			return nil, err
		}
		row, p, err := tx.pending(stream, group, e.Number)
		if errors.Is(err, ErrNotFound) {
			info.Pending++
		} else if err != nil {
			return nil, err
		}
		p.deliver(consumer, tx.Now())
		tx.u.put(row, p.bytes())
		size += len(e.Payload)
		entries = append(entries, e)
	}
	if info != before {
		tx.putGroup(row, info)
	}
	return entries, nil
}

// Acknowledge ends that entries are pending, and returns how many were.
func (tx *Tx) Acknowledge(stream, group string, numbers ...uint64) (int, error) {
	row, info, err := tx.group(stream, group)
	if err != nil {
		return 0, err
	}
	done := 0
	for _, n := range numbers {
		row, _, err := tx.pending(stream, group, n)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		tx.u.delete(row)
		done++
	}
	if done > 0 {
		info.Pending -= uint64(done)
		tx.putGroup(row, info)
	}
	return done, nil
}

// Claim gives a consumer those of the pending entries whose last delivery is at
// least idle ago, and counts a delivery more. Of those that the stream no longer
// keeps nothing stays pending: gone are their numbers. It returns ErrNotFound if there is no
// such group.
func (tx *Tx) Claim(stream, group, consumer string, idle time.Duration, numbers ...uint64) (entries []Entry, gone []uint64, err error) {
	if err := checkName("consumer", consumer); err != nil {
		return nil, nil, err
	}
	_, head, err := tx.streamHead(stream)
	if err != nil {
		return nil, nil, err
	}
	if _, _, err := tx.group(stream, group); err != nil {
		return nil, nil, err
	}
	for _, n := range numbers {
		row, p, err := tx.pending(stream, group, n)
		if errors.Is(err, ErrNotFound) || err == nil && tx.Now().Sub(p.Since) < idle {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		e, err := tx.entryKept(stream, head, n)
		if errors.Is(err, ErrTrimmed) {
			gone = append(gone, n)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		p.deliver(consumer, tx.Now())
		tx.u.put(row, p.bytes())
		entries = append(entries, e)
	}
	if len(gone) > 0 {
		_, err = tx.Acknowledge(stream, group, gone...)
	}
	return entries, gone, err
}

// entryKept returns an entry, or ErrTrimmed if it is too old or not there.
func (tx *Tx) entryKept(stream string, head StreamInfo, n uint64) (Entry, error) {
	if n < head.First || n > head.Last {
		return Entry{}, trimmed(n, head.First)
	}
	e, err := tx.entry(stream, n)
	if err == nil && head.tooOld(e, tx.u.now) {
		return Entry{}, trimmed(n, head.First)
	}
	return e, err
}
