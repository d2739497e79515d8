package natskv

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/subject"
)

// room is how many entries wait for their receiver, as in nats.go.
const room = 256

func (kv *keyValue) Watch(ctx context.Context, keys string, opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	return kv.WatchFiltered(ctx, []string{keys}, opts...)
}

func (kv *keyValue) WatchAll(ctx context.Context, opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	return kv.WatchFiltered(ctx, nil, opts...)
}

func (kv *keyValue) WatchFiltered(ctx context.Context, keys []string, opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	w, err := kv.watch(ctx, keys, opts)
	if err != nil { // nil of a type would not be nil to the caller
		return nil, err
	}
	return w, nil
}

// History of several keys, by a filter, is in order of the revisions, as in nats.go.
func (kv *keyValue) History(ctx context.Context, key string, opts ...jetstream.WatchOpt) (list []jetstream.KeyValueEntry, err error) {
	w, err := kv.watch(ctx, []string{key}, append(opts[:len(opts):len(opts)], jetstream.IncludeHistory()))
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.Stop() }()
	for e := range w.updates {
		if e == nil {
			if len(list) == 0 {
				return nil, jetstream.ErrKeyNotFound
			}
			return list, nil
		}
		list = append(list, e)
	}
	return nil, w.ended()
}

// checkFilters returns jetstream.ErrInvalidKey for what is no filter.
func checkFilters(list []string) error {
	for _, filter := range list {
		if _, err := subject.Parse(filter); err != nil {
			return refusal{jetstream.ErrInvalidKey, err}
		}
	}
	return nil
}

// watcher is a watch, whose entries come from a goroutine that ends with it.
type watcher struct {
	ctx     context.Context
	stop    context.CancelFunc
	updates chan jetstream.KeyValueEntry

	mu  sync.Mutex
	err error // that ended it
}

// Updates returns the channel that the entries come on. Between what there was when the watch
// began and what comes after that is a nil. It is closed once the watch has ended.
func (w *watcher) Updates() <-chan jetstream.KeyValueEntry { return w.updates }

// Stop ends the watch. It returns [nats.ErrBadSubscription] for one that has ended.
func (w *watcher) Stop() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		return nats.ErrBadSubscription
	}
	w.stop()
	return nil
}

// ended returns what ended the watch, whose channel is closed.
func (w *watcher) ended() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return told(w.err)
}

// watch begins a watch. It returns once that sees whatever comes from then on.
func (kv *keyValue) watch(ctx context.Context, filters []string, opts []jetstream.WatchOpt) (*watcher, error) {
	if err := checkFilters(filters); err != nil {
		return nil, err
	}
	o, err := watching(opts)
	if err != nil {
		return nil, err
	}
	o.Filters = filters
	w := &watcher{updates: make(chan jetstream.KeyValueEntry, room)}
	w.ctx, w.stop = context.WithCancel(ctx)
	begun := make(chan struct{})
	go w.run(kv, o, begun)
	<-begun
	if err := w.ended(); err != nil {
		return nil, err
	}
	return w, nil
}

// run sends what a watch tells until it ends, and closes begun once it has told something.
func (w *watcher) run(kv *keyValue, o bucket.WatchOptions, begun chan struct{}) {
	begin := sync.OnceFunc(func() { close(begun) })
	defer begin()
	defer close(w.updates)
	defer w.stop()
	var first *entry // of those that there were, that is held back until it is known whether more come
	var last uint64  // revision that was told
	done := false
	for event, err := range kv.b.Watch(w.ctx, o) {
		if err == nil && event.Kind == bucket.EventResync {
			last, err = kv.known(w.ctx, last)
		}
		if err != nil {
			w.mu.Lock()
			w.err = err
			w.mu.Unlock()
			return
		}
		begin()
		switch event.Kind {
		case bucket.EventInitDone:
			if first != nil && !w.send(first) || !done && !o.UpdatesOnly && !w.send(nil) {
				return
			}
			first, done = nil, true
		case bucket.EventEntry:
			e := event.Entry
			if e.Revision <= last { // what there is is told anew, since what came meanwhile is no longer known
				continue
			}
			last = e.Revision
			next := &entry{bucket: kv.name, e: e}
			if done {
				if !w.send(next) {
					return
				}
				continue
			}
			if first != nil {
				first.delta = 1
				if !w.send(first) {
					return
				}
			}
			first = next
		}
	}
}

// known returns up to which revision, of those that a watch has told, what there is is known: none
// where the bucket has lost some, as a power loss takes what was not synced.
func (kv *keyValue) known(ctx context.Context, last uint64) (uint64, error) {
	s, err := kv.b.Status(ctx)
	if err != nil || s.Revision < last {
		return 0, err
	}
	return last, nil
}

// send hands an entry to who receives them; nil: all that there was has been sent.
func (w *watcher) send(e *entry) bool {
	var update jetstream.KeyValueEntry
	if e != nil {
		update = e
	}
	select {
	case w.updates <- update:
		return true
	case <-w.ctx.Done():
		return false
	}
}
