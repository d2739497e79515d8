package natskv

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// lister sends what a list has, from a goroutine that ends with it.
type lister[T any] struct {
	items chan T
	stop  context.CancelFunc

	mu  sync.Mutex
	err error
}

// list begins a list, of which fill sends all, for as long as send returns true.
func list[T any](ctx context.Context, fill func(ctx context.Context, send func(T) bool) error) *lister[T] {
	l := &lister[T]{items: make(chan T, room)}
	ctx, l.stop = context.WithCancel(ctx)
	go func() {
		defer close(l.items)
		err := fill(ctx, func(item T) bool {
			select {
			case l.items <- item:
				return true
			case <-ctx.Done():
				return false
			}
		})
		l.mu.Lock()
		defer l.mu.Unlock()
		l.err = err
		if l.err == nil {
			l.err = ctx.Err()
		}
		l.stop()
	}()
	return l
}

// failed returns what ended a list before its end, once its channel is closed.
func (l *lister[T]) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// keyLister is a list of keys.
type keyLister struct{ *lister[string] }

func (l keyLister) Keys() <-chan string { return l.items }

// Stop ends the list. It returns what ended it before all keys were sent, if something did.
func (l keyLister) Stop() error {
	err := l.failed()
	l.stop()
	return err
}

// Keys are in order.
func (kv *keyValue) Keys(ctx context.Context, opts ...jetstream.WatchOpt) (keys []string, err error) {
	if err := checkListing(opts); err != nil {
		return nil, err
	}
	for key, err := range kv.b.Keys(ctx) {
		if err != nil {
			return nil, told(err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, jetstream.ErrNoKeysFound
	}
	slices.Sort(keys)
	return keys, nil
}

func (kv *keyValue) ListKeys(ctx context.Context, opts ...jetstream.WatchOpt) (jetstream.KeyLister, error) {
	if err := checkListing(opts); err != nil {
		return nil, err
	}
	return kv.ListKeysFiltered(ctx)
}

func (kv *keyValue) ListKeysFiltered(ctx context.Context, filters ...string) (jetstream.KeyLister, error) {
	if err := checkFilters(filters); err != nil {
		return nil, err
	}
	return keyLister{list(ctx, func(ctx context.Context, send func(string) bool) error {
		for key, err := range kv.b.Keys(ctx, filters...) {
			if err != nil {
				return told(err)
			}
			if !send(key) {
				return nil
			}
		}
		return nil
	})}, nil
}

// checkListing refuses options of a watch that say which keys there are in the list.
func checkListing(opts []jetstream.WatchOpt) error {
	o, err := watching(opts)
	if err == nil && (o.UpdatesOnly || o.Resume) {
		err = fmt.Errorf("%w: keys are listed as they are: neither UpdatesOnly nor ResumeFromRevision goes with that", jetstream.ErrInvalidOption)
	}
	return err
}
