package blob

import (
	"context"
	"sync"

	"github.com/stoadb/stoa/codec"
)

// idLocks are locks by id. The zero idLocks are all free.
type idLocks struct {
	mu   sync.Mutex
	held map[codec.BlobID]*idLock
}

// idLock is the lock of one id, which is kept while somebody holds it or waits.
type idLock struct {
	token chan struct{} // holds one token while the lock is held
	users int           // guarded by idLocks.mu
}

// lock waits until nobody else holds the lock of id, or until ctx is done, whose
// error it returns then.
func (l *idLocks) lock(ctx context.Context, id codec.BlobID) (unlock func(), err error) {
	one := l.join(id)
	select {
	case one.token <- struct{}{}:
		return func() { <-one.token; l.leave(id, one) }, nil
	case <-ctx.Done():
		l.leave(id, one)
		return nil, ctx.Err()
	}
}

// tryLock takes the lock of id if it is free.
func (l *idLocks) tryLock(id codec.BlobID) (unlock func(), ok bool) {
	one := l.join(id)
	select {
	case one.token <- struct{}{}:
		return func() { <-one.token; l.leave(id, one) }, true
	default:
		l.leave(id, one)
		return nil, false
	}
}

func (l *idLocks) join(id codec.BlobID) *idLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.held[id]
	if one == nil {
		if l.held == nil {
			l.held = make(map[codec.BlobID]*idLock)
		}
		one = &idLock{token: make(chan struct{}, 1)}
		l.held[id] = one
	}
	one.users++
	return one
}

func (l *idLocks) leave(id codec.BlobID, one *idLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(l.held, id)
	}
}
