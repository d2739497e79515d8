package torture

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/rpc"
)

// watch is told of every change of a tenant, over all lives of its daemon.
type watch struct {
	tenant string
	time   *reckoning
	// patience is how long to wait for what is to be told.
	patience time.Duration

	mu      sync.Mutex
	seen    uint64                   // the last revision
	has     map[string]time.Duration // when what a key has expires; 0: never
	expired int
	err     error // what is wrong

	cancel context.CancelFunc
	ended  chan struct{}
}

// follow goes on with a daemon.
func (w *watch) follow(c *rpc.Client) error {
	w.end()
	if w.err != nil {
		return w.err
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.ended = cancel, make(chan struct{})
	go func() {
		defer close(w.ended)
		m := w.time.before()
		for e, err := range c.KV(w.tenant).Watch(ctx, rpc.After(w.seen), rpc.Once()) {
			if err != nil {
				return // the daemon has ended; what it has not told it tells later
			}
			w.mu.Lock()
			bad := w.take(e.Kind, e.Revision, e.Item.Key, sinceEpoch(e.Item.Expires), w.time.after(m))
			if w.err == nil {
				w.err = bad
			}
			w.mu.Unlock()
			if bad != nil {
				return
			}
		}
	}()
	return nil
}

// take takes note of an event. The caller holds mu.
func (w *watch) take(kind kv.EventKind, revision uint64, key string, expires time.Duration, t times) error {
	if kind == kv.EventSynced {
		return nil
	}
	if kind == kv.EventResync || revision != w.seen+1 {
		return wrongf("%s: a watch was told of %s %d after %d", w.tenant, kind, revision, w.seen)
	}
	w.seen = revision
	due, there := w.has[key]
	switch kind {
	case kv.EventPut:
		w.has[key] = expires
		return nil
	case kv.EventExpire:
		w.expired++
		if !there || due == 0 || t.last < due {
			return wrongf("%s: a watch was told at %s at the latest that %s has expired, which it does at %s", w.tenant, moments(t.last), key, moments(due))
		}
		if strings.HasPrefix(key, leftAlone) {
			w.time.swept(due)
		}
	}
	if !there {
		return wrongf("%s: a watch was told of the %s of %s, which was not there", w.tenant, kind, key)
	}
	delete(w.has, key)
	return nil
}

// end ends the watch of a daemon.
func (w *watch) end() {
	if w.cancel != nil {
		w.cancel()
		<-w.ended
		w.cancel = nil
	}
}

// failed returns what is wrong.
func (w *watch) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// gone reports whether it was told that what a key had at a revision is gone.
func (w *watch) gone(key string, revision uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, there := w.has[key]
	return !there && w.seen >= revision
}

// due reports whether something expires by now that it was not told of.
func (w *watch) due(now time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range w.has {
		if at != 0 && at <= now {
			return true
		}
	}
	return false
}

// settle waits until it was told of everything that has expired. A sweep that is late is
// not wrong, since the machine may be busy; one that does not come is.
func (w *watch) settle() error {
	now := w.time.before()
	for deadline := time.Now().Add(w.patience); ; time.Sleep(time.Millisecond) {
		late, due := "", time.Duration(0)
		w.mu.Lock()
		err := w.err
		for key, at := range w.has {
			if at != 0 && at <= now.first {
				late, due = key, at
			}
		}
		w.mu.Unlock()
		if err != nil || late == "" {
			return err
		}
		if time.Now().After(deadline) {
			return wrongf("%s: no watch was told that %s has expired, which it did at %s; it was %s", w.tenant, late, moments(due), moments(now.first))
		}
	}
}

// agrees compares what it was told with what there is, at times after which nothing was
// changed but by the passing of time.
func (w *watch) agrees(there map[string]time.Duration, t times) error {
	for deadline := time.Now().Add(w.patience); ; time.Sleep(time.Millisecond) {
		err := w.differs(there, t)
		if err == nil || w.failed() != nil || time.Now().After(deadline) {
			return errors.Join(w.failed(), err)
		}
	}
}

func (w *watch) differs(there map[string]time.Duration, t times) error {
	now := w.time.after(w.time.before())
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, at := range there {
		if due, ok := w.has[key]; !ok && (at == 0 || now.last < at) || ok && due != at {
			return wrongf("%s: %s expires at %s; a watch was told %t, %s", w.tenant, key, moments(at), ok, moments(due))
		}
	}
	for key, due := range w.has {
		if _, ok := there[key]; !ok && (due == 0 || t.last < due) {
			return wrongf("%s: a watch was told of %s, until %s, which is not there", w.tenant, key, moments(due))
		}
	}
	return nil
}
