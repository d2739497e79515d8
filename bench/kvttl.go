//go:build cgo

package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// How lateness is measured: values that are due one after the other, in two slices, half of them
// looked at until they are gone, the others only listened for, since a store may
// remove what it is asked for.
const (
	lateValues   = 100
	lateLifetime = time.Second
	lateLook     = time.Millisecond // between two looks at a value, and more the later it is
	latest       = 30 * time.Second // until a value that stays is an error
)

// lateness measures one peer after the other.
func (r *kvRun) lateness(result Result) (Result, error) {
	if err := r.open(); err != nil {
		return result, err
	}
	for _, p := range r.peers {
		l := &lateRun{due: map[string]time.Time{}, events: make(chan late, 2*lateValues)}
		if err := l.run(p, r); err != nil {
			return result, fmt.Errorf("%s: %w", p.Name, err)
		}
		for _, kind := range []struct {
			name string
			late []time.Duration
		}{{"visible", l.visible}, {"told", l.told}} {
			m := Measure{Subject: p.Name + " " + kind.name, turns: []turn{{Units: len(kind.late), latencies: kind.late}}}
			m.sum()
			result.Measures = append(result.Measures, m)
			for _, q := range []struct {
				name string
				at   float64
			}{{"p50", m.P50}, {"p99", m.P99}} {
				result.figure(fmt.Sprintf("%s after it was due, %s", m.Subject, q.name), q.at/1e6, "ms", "")
			}
		}
	}
	return result, nil
}

// lateRun is the values of one peer.
type lateRun struct {
	mu     sync.Mutex
	due    map[string]time.Time // the earliest moment: after the time to live from when it was stored
	events chan late

	visible, told []time.Duration
}

// late is when a key was told to have expired.
type late struct {
	key string
	at  time.Time
}

func (l *lateRun) run(p *KVPeer, r *kvRun) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	return withClient(p, func(watcher KVClient) error {
		if err := watcher.Watch(ctx, func(key string) { l.events <- late{key, time.Now()} }); err != nil {
			return err
		}
		return withClient(p, func(c KVClient) error { return l.store(p, c, r) })
	})
}

// store stores the values, and waits until all are gone.
func (l *lateRun) store(p *KVPeer, c KVClient, r *kvRun) error {
	errs := make(chan error, lateValues)
	var group sync.WaitGroup
	next := time.Now()
	for n := range 2 * lateValues {
		row := r.data.Rows + n
		key := kvKey(row)
		if err := c.PutFor(key, kvValue(nil, r.data, row), lateLifetime); err != nil {
			return err
		}
		due := time.Now().Add(lateLifetime)
		if n%2 == 0 {
			group.Go(func() { errs <- l.look(p, key, due) })
		} else {
			l.mu.Lock()
			l.due[key] = due
			l.mu.Unlock()
		}
		next = next.Add(r.options.Slice / lateValues)
		time.Sleep(time.Until(next))
	}
	group.Wait()
	for range lateValues {
		if err := <-errs; err != nil {
			return err
		}
	}
	return l.listen()
}

// look looks at a value from shortly before it is due until it is gone.
func (l *lateRun) look(p *KVPeer, key string, due time.Time) error {
	time.Sleep(time.Until(due.Add(-10 * lateLook)))
	return withClient(p, func(c KVClient) error {
		for {
			_, found, err := c.Get(key)
			after := time.Since(due)
			switch {
			case err != nil:
				return err
			case !found:
				l.mu.Lock()
				l.visible = append(l.visible, max(after, 0))
				l.mu.Unlock()
				return nil
			case after > latest:
				return errors.New("a value stays after its time")
			}
			time.Sleep(max(lateLook, after/32))
		}
	})
}

// listen waits until all that were only listened for are told to be gone.
func (l *lateRun) listen() error {
	give := time.After(latest)
	for len(l.told) < lateValues {
		select {
		case e := <-l.events:
			if due, mine := l.due[e.key]; mine {
				delete(l.due, e.key)
				l.told = append(l.told, max(e.at.Sub(due), 0))
			}
		case <-give:
			return fmt.Errorf("of %d values that are gone nobody was told", len(l.due))
		}
	}
	return nil
}
