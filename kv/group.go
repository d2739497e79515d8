package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/stoadb/stoa/column"
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

// Pending is an entry that a consumer has and has not acknowledged.
type Pending struct {
	Number     uint64
	Consumer   string
	Since      time.Time // when it was last delivered
	Deliveries uint32
}

// The value of a group row is delivered u64 ‖ pending u64; that of a pending row
// is since u64 ms ‖ deliveries u32 ‖ consumer.

func parseGroup(row, src []byte) (i GroupInfo, err error) {
	if len(src) != 16 {
		return i, damaged(row, "not a group of a stream")
	}
	return GroupInfo{binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[8:])}, nil
}

func parsePending(row, src []byte) (p Pending, err error) {
	if len(src) < 13 || len(src) > 12+MaxName || !isTime(src) {
		return p, damaged(row, "not a pending entry")
	}
	return Pending{
		Since:      timeOf(binary.LittleEndian.Uint64(src)),
		Deliveries: binary.LittleEndian.Uint32(src[8:]),
		Consumer:   string(src[12:]),
	}, nil
}

func (p Pending) bytes() []byte {
	b := binary.LittleEndian.AppendUint32(u64Bytes(uint64(p.Since.UnixMilli())), p.Deliveries)
	return append(b, p.Consumer...)
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

func (tx *Tx) putGroup(row []byte, i GroupInfo) {
	tx.u.put(row, binary.LittleEndian.AppendUint64(u64Bytes(i.Delivered), i.Pending))
}

func (tx *Tx) pendingRow(stream, group string, n uint64) []byte {
	return tx.u.key(Row{Scope: tx.scope, Shape: ShapePending, Name: []byte(stream), Group: []byte(group), Number: n})
}

// CreateGroup makes a group that reads what comes after an entry, and says
// whether there was none. One that is there stays where it is.
func (tx *Tx) CreateGroup(stream, group string, after uint64) (bool, error) {
	if err := errors.Join(checkName("stream", stream), checkName("group", group)); err != nil {
		return false, err
	}
	row, _, err := tx.group(stream, group)
	if !errors.Is(err, ErrNotFound) {
		return false, err
	}
	tx.putGroup(row, GroupInfo{Delivered: after})
	return true, nil
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
// had, at most limit of them. It returns ErrNotFound if there is no such group.
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
	before := info
	info.Delivered = max(info.Delivered, head.First-1)
	var entries []Entry
	for size := 0; len(entries) < limit && info.Delivered < head.Last && size < pageBytes; {
		info.Delivered++
		e, err := tx.entry(stream, info.Delivered)
		if err != nil {
			return nil, err
		}
		if head.tooOld(e, tx.u.now) {
			continue
		}
		p := Pending{Consumer: consumer, Since: tx.Now(), Deliveries: 1}
		tx.u.put(tx.pendingRow(stream, group, e.Number), p.bytes())
		info.Pending++
		size += len(e.Payload)
		entries = append(entries, e)
	}
	if info != before {
		tx.putGroup(row, info)
	}
	return entries, nil
}

// pending returns a pending entry of a group, or ErrNotFound.
func (tx *Tx) pending(stream, group string, n uint64) (row []byte, p Pending, err error) {
	row = tx.pendingRow(stream, group, n)
	value, err := tx.u.get(row)
	if errors.Is(err, engine.ErrNotFound) {
		return row, p, notFound()
	}
	if err == nil {
		p, err = parsePending(row, value)
	}
	p.Number = n
	return row, p, err
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
// keeps nothing stays pending. It returns ErrNotFound if there is no such group.
func (tx *Tx) Claim(stream, group, consumer string, idle time.Duration, numbers ...uint64) ([]Entry, error) {
	if err := checkName("consumer", consumer); err != nil {
		return nil, err
	}
	_, head, err := tx.streamHead(stream)
	if err != nil {
		return nil, err
	}
	if _, _, err := tx.group(stream, group); err != nil {
		return nil, err
	}
	var entries []Entry
	for _, n := range numbers {
		row, p, err := tx.pending(stream, group, n)
		if errors.Is(err, ErrNotFound) || err == nil && tx.Now().Sub(p.Since) < idle {
			continue
		}
		if err != nil {
			return nil, err
		}
		e, err := tx.entryKept(stream, head, n)
		if errors.Is(err, ErrTrimmed) {
			if _, err := tx.Acknowledge(stream, group, n); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		p.Consumer, p.Since = consumer, tx.Now()
		if p.Deliveries < math.MaxUint32 {
			p.Deliveries++
		}
		tx.u.put(row, p.bytes())
		entries = append(entries, e)
	}
	return entries, nil
}

// entryKept returns an entry, or ErrTrimmed if it is too old or not there.
func (tx *Tx) entryKept(stream string, head StreamInfo, n uint64) (Entry, error) {
	if n < head.First || n > head.Last {
		return Entry{}, trimmed(n)
	}
	e, err := tx.entry(stream, n)
	if err == nil && head.tooOld(e, tx.u.now) {
		return Entry{}, trimmed(n)
	}
	return e, err
}

// Group returns where a group is, or ErrNotFound.
func (v *View) Group(stream, group string) (GroupInfo, error) {
	row := Row{Scope: v.scope, Shape: ShapeGroup, Name: []byte(stream), Key: []byte(group)}.AppendKey(nil)
	value, err := v.reader.Get(nil, column.Generic, row)
	if errors.Is(err, engine.ErrNotFound) {
		return GroupInfo{}, &Error{Code: CodeNotFound, Field: "group", Reason: "the stream has no such group"}
	}
	if err != nil {
		return GroupInfo{}, err
	}
	return parseGroup(row, value)
}

// Pending returns what is pending in a group after an entry, oldest first, at
// most limit of it, 0 for 100. It returns ErrNotFound if there is no such group.
func (v *View) Pending(ctx context.Context, stream, group string, after uint64, limit int) ([]Pending, error) {
	if limit < 0 || limit > MaxPage {
		return nil, invalid("limit", "a page has 1 to %d entries, and 0 is %d", MaxPage, defaultPage)
	}
	if limit == 0 {
		limit = defaultPage
	}
	if _, err := v.Group(stream, group); err != nil {
		return nil, err
	}
	if after == math.MaxUint64 {
		return nil, nil
	}
	r := under(v.scope, ShapePending, []byte(stream), []byte(group))
	r.Start, r.Limit = appendU64(r.Start[:len(r.Start):len(r.Start)], after+1), limit
	var list []Pending
	for row, err := range scanRows(ctx, v.reader, r) {
		if err != nil {
			return nil, err
		}
		p, err := parsePending(row.raw, row.value)
		if err != nil {
			return nil, err
		}
		p.Number = row.Number
		list = append(list, p)
	}
	return list, nil
}

// ClaimIdle gives a consumer pending entries of a group whose last delivery is
// at least idle ago, oldest first, at most limit of them, which is 1 to MaxPage.
// It returns ErrNotFound if there is no such group.
func (s *Space) ClaimIdle(ctx context.Context, d engine.Durability, stream, group, consumer string, idle time.Duration, limit int) ([]Entry, error) {
	var claimed []Entry
	for after := uint64(0); ; {
		page, err := s.now().Pending(ctx, stream, group, after, limit)
		if err != nil || len(page) == 0 {
			return claimed, err
		}
		var numbers []uint64
		for _, p := range page {
			after = p.Number
			if timeOf(s.store.line.now()).Sub(p.Since) >= idle && len(numbers) < limit-len(claimed) {
				numbers = append(numbers, p.Number)
			}
		}
		var got []Entry
		if len(numbers) > 0 {
			err = s.Update(ctx, d, func(tx *Tx) (err error) {
				got, err = tx.Claim(stream, group, consumer, idle, numbers...)
				for i := range got {
					got[i].Payload = append([]byte(nil), got[i].Payload...)
				}
				return err
			})
		}
		if claimed = append(claimed, got...); err != nil || len(claimed) >= limit {
			return claimed, err
		}
	}
}
