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
	scope     keys.Scope
	listeners atomic.Int64         // changed under notifier.mu
	now       atomic.Pointer[turn] // set under notifier.mu
	tail      tail
}

// turn is the time between two changes of a space.
type turn struct {
	number uint64 // 1, 2, 3 and so on
	over   chan struct{}
}

// subscribe returns the topic of a space, for as long as leave has not been called for it.
func (n *notifier) subscribe(scope keys.Scope) *topic {
	n.listeners.Add(1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byScope == nil {
		n.byScope = map[keys.Scope]*topic{}
	}
	t := n.byScope[scope]
	if t == nil {
		t = &topic{scope: scope}
		t.now.Store(&turn{1, make(chan struct{})})
		n.byScope[scope] = t
	}
	t.listeners.Add(1)
	return t
}

// leave ends a subscription.
func (n *notifier) leave(t *topic) {
	n.listeners.Add(-1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if t.listeners.Add(-1) == 0 {
		delete(n.byScope, t.scope)
	}
}

// next returns the turn that is over when the space changes after this call.
func (t *topic) next() *turn { return t.now.Load() }

// notify wakes all who wait for changes of a space.
func (n *notifier) notify(scope keys.Scope) {
	if n.listeners.Load() == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if t := n.byScope[scope]; t != nil {
		was := t.now.Load()
		t.now.Store(&turn{was.number + 1, make(chan struct{})})
		close(was.over)
	}
}
