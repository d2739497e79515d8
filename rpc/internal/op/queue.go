package op

import (
	"context"
	"sync"
)

// QueueBytes is how many bytes of items wait on most streams that wait for their clients.
const QueueBytes = 1 << 20

// Queue is where what one goroutine makes waits for another that takes it more
// slowly: whoever takes gets all that is there. It has one writer and one reader.
type Queue[T any] struct {
	limit int // bytes that may wait, before the writer waits too; a larger one when nothing else does

	mu     sync.Mutex
	full   []T // guarded by mu
	bytes  int // guarded by mu; of full
	closed bool

	news, space chan struct{} // each holds one signal
}

// NewQueue returns a queue in which so many bytes may wait.
func NewQueue[T any](limit int) *Queue[T] {
	return &Queue[T]{limit: limit, news: make(chan struct{}, 1), space: make(chan struct{}, 1)}
}

// Put adds what takes that many bytes, or returns false when ctx is done.
func (q *Queue[T]) Put(ctx context.Context, v T, bytes int) bool {
	for {
		q.mu.Lock()
		room := len(q.full) == 0 || q.bytes+bytes <= q.limit
		if room {
			q.full, q.bytes = append(q.full, v), q.bytes+bytes
		}
		q.mu.Unlock()
		if room {
			signal(q.news)
			return true
		}
		select {
		case <-q.space:
		case <-ctx.Done():
			return false
		}
	}
}

// Close says that nothing follows.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	signal(q.news)
}

// Take waits and takes all that is there; none: nothing follows, or ctx is done.
func (q *Queue[T]) Take(ctx context.Context) []T {
	for {
		q.mu.Lock()
		all, closed := q.full, q.closed
		q.full, q.bytes = nil, 0
		q.mu.Unlock()
		if len(all) > 0 || closed {
			signal(q.space)
			return all
		}
		select {
		case <-q.news:
		case <-ctx.Done():
			return nil
		}
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Pass sends what fill puts into a queue of so many bytes as it comes, and
// together what has come while the client took the items before. It returns what
// fill or send does, and not before both have. What was put and is not sent goes to dropped, unless that is nil.
func Pass[T any](ctx context.Context, h Host, pace Pace, limit int, fill func(context.Context, *Queue[T]) error, send func([]T) error, dropped func([]T)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q := NewQueue[T](limit)
	filled := h.Detached(ctx, func() error {
		defer q.Close()
		return fill(ctx, q)
	})
	for {
		items := q.Take(ctx)
		if len(items) == 0 {
			break
		}
		if err := pace.During(func() error { return send(items) }); err != nil {
			cancel()
			<-filled
			q.drop(dropped)
			return err
		}
	}
	cancel()
	defer q.drop(dropped)
	return <-filled
}

// drop hands what is left to dropped, unless that is nil. Nothing is put any more.
func (q *Queue[T]) drop(dropped func([]T)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if dropped != nil && len(q.full) > 0 {
		dropped(q.full)
	}
	q.full = nil
}
