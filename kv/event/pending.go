package event

import (
	"context"
	"errors"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Pending is an entry that a consumer has and has not acknowledged.
type Pending struct {
	ID         ID // Ms is 0 if the entry is no longer kept
	Consumer   string
	Idle       time.Duration // since it was last delivered
	Deliveries uint32
}

// ListPending returns what is pending in a group behind an id, oldest first, at most limit of
// it, 0 for 100, at most kv.MaxPage. It returns ErrNotFound if there is no such group.
func (f *Feed) ListPending(ctx context.Context, stream, group string, after ID, limit int) ([]Pending, error) {
	if err := checkStream(stream); err != nil {
		return nil, err
	}
	if err := checkName("group", group); err != nil {
		return nil, err
	}
	view, err := f.view()
	if err != nil {
		return nil, told(err)
	}
	if view == nil {
		return nil, told(kv.ErrNotFound)
	}
	defer func() { _ = view.Close() }()
	found, err := view.Pending(ctx, stream, group, after.Seq, limit)
	if err != nil {
		return nil, told(err)
	}
	list := make([]Pending, len(found))
	for i, p := range found {
		list[i] = Pending{Consumer: p.Consumer, Idle: max(view.Time().Sub(p.Since), 0), Deliveries: p.Deliveries}
		if list[i].ID, err = nameOf(view, stream, p.Number); err != nil {
			return nil, told(err)
		}
	}
	return list, nil
}

// numbers are those of entries by their ids, at most MaxBatch. An id whose number is
// another entry's by now, as of a tenant that was dropped, is left out.
func (f *Feed) numbers(stream string, ids []ID) ([]uint64, error) {
	if len(ids) > MaxBatch {
		return nil, tooMany("ids", MaxBatch, "%d ids at once, at most %d", len(ids), MaxBatch)
	}
	view, err := f.view()
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	list := make([]uint64, 0, len(ids))
	for _, id := range ids {
		is, err := nameOf(view, stream, id.Seq)
		if err != nil {
			return nil, err
		}
		if is.Ms == 0 || id.Ms == 0 || is == id {
			list = append(list, id.Seq)
		}
	}
	return list, nil
}

// Acknowledge ends that entries are pending in a group, at most MaxBatch of them, and returns
// how many were. It returns ErrNotFound if there is no such group.
func (f *Feed) Acknowledge(ctx context.Context, d engine.Durability, stream, group string, ids []ID) (int, error) {
	if err := errors.Join(checkStream(stream), checkName("group", group)); err != nil {
		return 0, first(err)
	}
	if f.space == nil {
		return 0, kv.ErrSpaceNotFound
	}
	numbers, err := f.numbers(stream, ids)
	if err != nil {
		return 0, told(err)
	}
	var done int
	err = f.space.Update(ctx, d, func(tx *kv.Tx) (err error) {
		done, err = tx.Acknowledge(stream, group, numbers...)
		return err
	})
	return done, told(err)
}

// ClaimOptions say which pending entries are claimed.
type ClaimOptions struct {
	Idle  time.Duration // since the last delivery, at least; at most MaxIdle
	IDs   []ID          // these, at most MaxBatch; nil: the oldest
	Limit int           // without IDs: how many, 0 for 100, at most MaxBatch
}

// Claim gives a consumer entries that are pending in its group and that nobody was given for
// some time, and counts a delivery more; oldest first without IDs. Of what the stream no
// longer keeps nothing stays pending: gone are the ids of those entries, whose Ms is 0. It
// returns ErrNotFound if there is no such group.
func (f *Feed) Claim(ctx context.Context, d engine.Durability, c Consumer, o ClaimOptions) (list []Entry, gone []ID, err error) {
	if err := errors.Join(c.check(), checkLimit(&o.Limit)); err != nil {
		return nil, nil, first(err)
	}
	if o.Idle < 0 || o.Idle > MaxIdle {
		return nil, nil, invalid("idle", "entries are claimed that are idle for 0 to %s", MaxIdle)
	}
	if f.space == nil {
		return nil, nil, kv.ErrSpaceNotFound
	}
	var claimed []kv.Entry
	var lost []uint64
	if o.IDs == nil {
		claimed, lost, err = f.space.ClaimIdle(ctx, d, c.Stream, c.Group, c.Name, o.Idle, o.Limit)
		if err == nil {
			list, err = entriesOf(claimed)
		}
	} else if numbers, numbersErr := f.numbers(c.Stream, o.IDs); numbersErr != nil {
		err = numbersErr
	} else {
		err = f.space.Update(ctx, d, func(tx *kv.Tx) (err error) {
			if claimed, lost, err = tx.Claim(c.Stream, c.Group, c.Name, o.Idle, numbers...); err == nil {
				list, err = copied(claimed)
			}
			return err
		})
	}
	for _, n := range lost {
		gone = append(gone, ID{Seq: n})
	}
	return list, gone, told(err)
}
