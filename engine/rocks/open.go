//go:build cgo

package rocks

import "sync"

// openList is the iterators and snapshots that are to be given back before a
// store is closed.
type openList struct {
	mu    sync.Mutex
	first *opened
}

// opened is a place in the list.
type opened struct {
	prev, next *opened
	release    interface{ release(*store) }
}

func (l *openList) add(o *opened) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.next = l.first; o.next != nil {
		o.next.prev = o
	}
	l.first = o
}

func (l *openList) remove(o *opened) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.next != nil {
		o.next.prev = o.prev
	}
	if o.prev != nil {
		o.prev.next = o.next
	} else {
		l.first = o.next
	}
	o.prev, o.next = nil, nil
}

// closeAll gives everything back. Nobody else uses the store any more.
func (l *openList) closeAll(st *store) {
	for o := l.first; o != nil; o = o.next {
		o.release.release(st)
	}
	l.first = nil
}
