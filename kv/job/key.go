package job

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
)

// The literal keys of jobs.
const (
	keyPrefix   = "ade:job:"
	queuePrefix = "queue:"
	lockPrefix  = "lock:"
	scheduled   = "scheduled"
)

// MaxListed is how many jobs a literal key shows at most.
const MaxListed = 10_000

// Lookup returns what a literal key stands for; see [Lookup].
func (s *Store) Lookup(ctx context.Context, tenant, key string) (json.RawMessage, error) {
	q, err := s.Find(tenant)
	if err != nil {
		return nil, err
	}
	if q.space == nil {
		return Lookup(ctx, nil, key)
	}
	view, err := q.space.View()
	if err != nil {
		return nil, told(err)
	}
	defer func() { _ = view.Close() }()
	return Lookup(ctx, view, key)
}

// Lookup returns what a literal key stands for in a state of the space of a tenant's jobs,
// which is nil if it has none: of ade:job:queue:QUEUE the jobs that are ready, in order, each
// an object of its payload with its type, which is the queue, and its id; of ade:job:scheduled
// [[job, due in seconds since 1970], …]; of ade:job:lock:ID the worker that has leased the job.
// Braces in a key are left out. It returns ErrNotFound for a job that nobody has leased,
// ErrTooMany for more than MaxListed, and ErrInvalidArgument for a key of no pattern.
func Lookup(ctx context.Context, view *kv.View, key string) (json.RawMessage, error) {
	rest, ok := strings.CutPrefix(kv.Untagged(key), keyPrefix)
	queue, isQueue := strings.CutPrefix(rest, queuePrefix)
	id, isLock := strings.CutPrefix(rest, lockPrefix)
	switch {
	case ok && isQueue && checkQueue(queue) == nil:
		list, err := all(ctx, view, queue, Ready)
		described := []json.RawMessage{}
		for i := range list {
			described = append(described, list[i].description())
		}
		return marshal(described, err)
	case ok && rest == scheduled:
		return marshal(allScheduled(ctx, view))
	case ok && isLock && checkID(id) == nil:
		return lockOf(view, id)
	}
	return nil, invalid("key", "no literal key of jobs looks like this; they are %s%sQUEUE of the queues %s, %s%s, and %s%sID", keyPrefix, queuePrefix, strings.Join(QueueNames(), ", "), keyPrefix, scheduled, keyPrefix, lockPrefix)
}

func marshal(v any, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// description is a job as the queue shows it.
func (i *Info) description() json.RawMessage {
	doc := document.With(i.Payload, document.Path{"type"}, document.FromText(i.Queue))
	return document.With(doc, document.Path{"id"}, document.FromText(i.ID))
}

// all returns the jobs of a queue in a state.
func all(ctx context.Context, view *kv.View, queue string, state State) (list []Info, err error) {
	if view == nil {
		return nil, nil
	}
	for o := (ListOptions{Queue: queue, State: state, Limit: 1000}); ; {
		page, next, err := listed(ctx, view, o)
		if err != nil {
			return nil, err
		}
		if list = append(list, page...); len(list) > MaxListed {
			e := refuse(CodeTooMany, "key", "the key stands for more jobs than are shown at once: list them by pages")
			e.Limit = MaxListed
			return nil, e
		}
		if o.Cursor = next; next == "" {
			return list, nil
		}
	}
}

func allScheduled(ctx context.Context, view *kv.View) (any, error) {
	var list []Info
	for _, queue := range QueueNames() {
		some, err := all(ctx, view, queue, Scheduled)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	slices.SortStableFunc(list, func(a, b Info) int { return a.Due.Compare(b.Due) })
	set := [][2]any{}
	for i := range list {
		set = append(set, [2]any{list[i].description(), list[i].Due.Unix()})
	}
	return set, nil
}

// lockOf is the worker that has leased a job.
func lockOf(view *kv.View, id string) (json.RawMessage, error) {
	nobody := refuse(CodeNotFound, "key", "nobody has leased the job")
	if view == nil {
		return nil, nobody
	}
	r, err := view.Get([]byte(id))
	if err != nil {
		return nil, told(err)
	}
	i, err := infoOf(&r)
	if err != nil {
		return nil, err
	}
	if i.State != Leased || !i.Until.After(view.Time()) {
		return nil, nobody
	}
	return json.Marshal(i.Worker)
}
