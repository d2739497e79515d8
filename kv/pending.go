package kv

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/stoadb/stoa/engine"
)

// Pending is an entry that a consumer has and has not acknowledged.
type Pending struct {
	Number     uint64
	Consumer   string
	Since      time.Time // when it was last delivered
	Deliveries uint32
}

// The value of a pending row is since u64 ms ‖ deliveries u32 ‖ consumer.

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

func (tx *Tx) pendingRow(stream, group string, n uint64) []byte {
	return tx.u.key(Row{Scope: tx.scope, Shape: ShapePending, Name: []byte(stream), Group: []byte(group), Number: n})
}

// deliver counts a delivery.
func (p *Pending) deliver(consumer string, now time.Time) {
	p.Consumer, p.Since = consumer, now
	if p.Deliveries < math.MaxUint32 {
		p.Deliveries++
	}
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

// Pending returns a pending entry of a group, or ErrNotFound.
func (tx *Tx) Pending(stream, group string, n uint64) (Pending, error) {
	_, p, err := tx.pending(stream, group, n)
	return p, err
}

// SetPending has entries be pending in a group as the list says, whether they were so before or
// not: for who gives entries to consumers by rules of its own, to whom Consumer and Since are
// what it makes of them. It wakes who waits for changes of the space. It returns ErrNotFound if
// there is no such group, and ErrInvalidArgument for an entry that the stream has not had yet.
func (tx *Tx) SetPending(stream, group string, list ...Pending) error {
	_, head, err := tx.streamHead(stream)
	if err != nil {
		return err
	}
	groupRow, info, err := tx.group(stream, group)
	if err != nil {
		return err
	}
	before := info
	for _, p := range list {
		if err := checkName("consumer", p.Consumer); err != nil {
			return err
		}
		if p.Number == 0 || p.Number > head.Last {
			return invalid("entry", "the stream has had no entry %d yet", p.Number)
		}
		row, _, err := tx.pending(stream, group, p.Number)
		if errors.Is(err, ErrNotFound) {
			info.Pending++
		} else if err != nil {
			return err
		}
		p.Since = timeOf(momentOf(p.Since))
		tx.u.put(row, p.bytes())
		tx.changed = true
	}
	if info != before {
		tx.putGroup(groupRow, info)
	}
	return nil
}
