package engine

import (
	"fmt"
	"runtime/debug"
)

// Shared is a batch that the requests of a [Queue] put their changes into together.
type Shared[T any] interface {
	// Do puts the changes of a request into the batch.
	Do(T) error
	// Changes returns a number that grows with what Do puts.
	Changes() int
	// Full reports whether the batch takes no further request.
	Full() bool
}

// Together does the first of group, in order, until the batch is full, and returns
// how many, as the function of a Queue does. A request that fails without having
// changed the batch fails alone. An error is that of one which has, or which panics:
// it is the last of those that Together has done, and the batch is half done, and not
// to be written. What it panics with is its Panic; the error has the stack.
func Together[T any](b Shared[T], group []*Request[T]) (n int, err error) {
	defer func() {
		if p := recover(); p != nil {
			group[n-1].Panic, err = p, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	for n < len(group) && (n == 0 || !b.Full()) {
		r := group[n]
		n++
		before := b.Changes()
		err := b.Do(r.Task)
		if err != nil && b.Changes() != before {
			return n, err
		}
		r.Err = err
	}
	return n, nil
}
