package kv

import (
	"sync"
	"sync/atomic"

	"github.com/stoadb/stoa/keys"
)

// notifier wakes those who wait for changes of a space. To notify costs a load of a
// number where nobody waits.
type notifier struct {
	listeners atomic.Int64
	mu        sync.Mutex
	byScope   map[keys.Scope]*topic
}

// topic is a space that somebody waits for changes of.
type topic struct {
	changed   chan struct{} // closed and replaced by the next change
	listeners int
}

// subscribe makes notify wake whoever waits for next(scope), until stop is called.
func (n *notifier) subscribe(scope keys.Scope) (stop func()) {
	n.listeners.Add(1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byScope == nil {
		n.byScope = map[keys.Scope]*topic{}
	}
	t := n.byScope[scope]
	if t == nil {
		t = &topic{changed: make(chan struct{})}
		n.byScope[scope] = t
	}
	t.listeners++
	return func() {
		n.listeners.Add(-1)
		n.mu.Lock()
		defer n.mu.Unlock()
		if t.listeners--; t.listeners == 0 {
			delete(n.byScope, scope)
		}
	}
}

// next returns what is closed when the space changes after this call. The caller
// has subscribed.
func (n *notifier) next(scope keys.Scope) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byScope[scope].changed
}

// notify wakes all who wait for changes of a space.
func (n *notifier) notify(scope keys.Scope) {
	if n.listeners.Load() == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if t := n.byScope[scope]; t != nil {
		close(t.changed)
		t.changed = make(chan struct{})
	}
}
