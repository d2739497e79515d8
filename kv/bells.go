package kv

import (
	"sync"
	"sync/atomic"

	"github.com/stoadb/stoa/keys"
)

// bells wake those who wait for changes of a space. Ringing costs a load of a
// number where nobody waits.
type bells struct {
	listeners atomic.Int64
	mu        sync.Mutex
	byScope   map[keys.Scope]*bell
}

type bell struct {
	rung      chan struct{} // closed and replaced by the next ring
	listeners int
}

// listen makes ring wake whoever waits for next(scope), until stop is called.
func (b *bells) listen(scope keys.Scope) (stop func()) {
	b.listeners.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byScope == nil {
		b.byScope = map[keys.Scope]*bell{}
	}
	one := b.byScope[scope]
	if one == nil {
		one = &bell{rung: make(chan struct{})}
		b.byScope[scope] = one
	}
	one.listeners++
	return func() {
		b.listeners.Add(-1)
		b.mu.Lock()
		defer b.mu.Unlock()
		if one.listeners--; one.listeners == 0 {
			delete(b.byScope, scope)
		}
	}
}

// next returns what is closed when the space changes after this call. The caller
// listens.
func (b *bells) next(scope keys.Scope) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.byScope[scope].rung
}

func (b *bells) ring(scope keys.Scope) {
	if b.listeners.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.byScope[scope]; one != nil {
		close(one.rung)
		one.rung = make(chan struct{})
	}
}
