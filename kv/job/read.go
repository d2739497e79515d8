package job

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// placeOf is the place that a term of indexPlace says.
func placeOf(term []byte) uint64 { return binary.BigEndian.Uint64(term[2:]) }

// Put is Schedule in a batch of its own.
func (q *Queues) Put(ctx context.Context, d engine.Durability, j Job) error {
	return q.update(ctx, d, func(tx *kv.Tx) error { return q.schedule(tx, j) })
}

// Add is Enqueue in a batch of its own.
func (q *Queues) Add(ctx context.Context, d engine.Durability, j Job) (id string, made bool, err error) {
	err = q.update(ctx, d, func(tx *kv.Tx) (err error) {
		id, made, err = q.enqueue(tx, j)
		return err
	})
	return id, made && err == nil, err
}

// Remove is Cancel in a batch of its own.
func (q *Queues) Remove(ctx context.Context, d engine.Durability, id string) (existed bool, err error) {
	err = q.update(ctx, d, func(tx *kv.Tx) (err error) {
		existed, err = remove(tx, id)
		return err
	})
	return existed && err == nil, err
}

// Get returns a job, or ErrNotFound.
func (q *Queues) Get(id string) (Info, error) {
	if err := checkID(id); err != nil {
		return Info{}, err
	}
	if q.space == nil {
		return Info{}, noJob()
	}
	r, err := q.space.Get([]byte(id))
	if err != nil {
		return Info{}, told(err)
	}
	return infoOf(&r)
}

func infoOf(r *kv.Record) (Info, error) {
	s, err := parse(string(r.Key), r.Value)
	if err != nil {
		return Info{}, err
	}
	return s.info(string(r.Key)), nil
}

// ListOptions say which jobs a list has.
type ListOptions struct {
	Queue  string
	State  State
	Cursor string // of the page before, whose other options were the same; "": the first page
	Limit  int    // jobs of a page, at most kv.MaxPage; 0: 100
}

// List returns a page of the jobs of a queue in a state, and the cursor of the next one, ""
// if there is none: those that are ready in their order, those that are scheduled by when
// they are due, leased ones by when that is over, dead ones by when they died.
func (q *Queues) List(ctx context.Context, o ListOptions) ([]Info, string, error) {
	if err := checkQueue(o.Queue); err != nil {
		return nil, "", err
	}
	if o.State < Scheduled || o.State > Dead {
		return nil, "", invalid("state", "the jobs of which state: scheduled, ready, leased or dead")
	}
	if q.space == nil {
		return nil, "", nil
	}
	view, err := q.space.View()
	if err != nil {
		return nil, "", told(err)
	}
	defer func() { _ = view.Close() }()
	return listed(ctx, view, o)
}

func listed(ctx context.Context, view *kv.View, o ListOptions) (list []Info, next string, err error) {
	from, to := termsOf(queueNumber(o.Queue), o.State, 0)
	found, next, err := view.ByIndex(ctx, indexPlace, kv.IndexOptions{From: from, To: to, Cursor: o.Cursor, Limit: o.Limit})
	if err != nil {
		return nil, "", told(err)
	}
	for i := range found {
		info, err := infoOf(&found[i].Record)
		if err != nil {
			return nil, "", err
		}
		list = append(list, info)
	}
	return list, next, nil
}

// isGone reports whether an error is that of a tenant that was dropped.
func isGone(err error) bool { return errors.Is(err, kv.ErrSpaceNotFound) }
