package lock

import (
	"container/heap"
	"math"
	"slices"
	"sync"
	"time"
)

// alarm is a moment at which something is to be looked at. It is one's that it is a part
// of, and in the line of a store's alarms while it is set.
type alarm struct {
	at    uint64 // ms since 1970
	place int    // in the line, from 1; 0: it is not set
	of    any    // *waiter, *queue, *heart or *tenant
}

// alarms are those that are set, the first one first.
type alarms struct {
	mu   sync.Mutex // nothing else is taken while it is held
	line alarmLine
	poke chan struct{} // the first one is another
}

type alarmLine []*alarm

func (l alarmLine) Len() int           { return len(l) }
func (l alarmLine) Less(i, j int) bool { return l[i].at < l[j].at }
func (l alarmLine) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].place, l[j].place = i+1, j+1
}
func (l *alarmLine) Push(a any) {
	*l = append(*l, a.(*alarm))
	a.(*alarm).place = len(*l)
}
func (l *alarmLine) Pop() any {
	last := (*l)[len(*l)-1]
	(*l)[len(*l)-1], last.place = nil, 0
	*l = (*l)[:len(*l)-1]
	return last
}

// sooner sets an alarm, unless it is set to an earlier moment; MaxUint64 is none.
func (l *alarms) sooner(a *alarm, at uint64) {
	if at == math.MaxUint64 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case a.place == 0:
		a.at = at
		heap.Push(&l.line, a)
	case at < a.at:
		a.at = at
		heap.Fix(&l.line, a.place-1)
	default:
		return
	}
	if a.place == 1 {
		select {
		case l.poke <- struct{}{}:
		default: // it is poked already
		}
	}
}

// stop takes an alarm back.
func (l *alarms) stop(a *alarm) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.place > 0 {
		heap.Remove(&l.line, a.place-1)
	}
}

// isSet reports whether an alarm is in the line.
func (l *alarms) isSet(a *alarm) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return a.place > 0
}

// take returns those that have come by now, at most most of them, and the moment of the
// next; MaxUint64: there is none.
func (l *alarms) take(now uint64, most int) (list []*alarm, next uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.line) > 0 && l.line[0].at <= now && len(list) < most {
		list = append(list, heap.Pop(&l.line).(*alarm))
	}
	if len(l.line) == 0 {
		return list, math.MaxUint64
	}
	return list, l.line[0].at
}

const (
	ringAtOnce = 256                    // alarms that are looked after together
	ringLook   = 500 * time.Millisecond // how often the time of day, which may jump, is looked at
	ringRetry  = time.Second            // until what failed is tried again
)

// watchman looks after alarms until the store is closed.
func (s *Store) watchman() {
	for {
		now := millis(s.kv.Now())
		list, next := s.alarms.take(now, ringAtOnce)
		if len(list) > 0 {
			s.ring(list)
			continue
		}
		var fired <-chan time.Time
		stop := func() bool { return false }
		if next != math.MaxUint64 {
			fired, stop = s.kv.Timer(moment(min(next, now+uint64(ringLook/time.Millisecond))))
		}
		select {
		case <-s.closed:
			stop()
			return
		case <-s.alarms.poke:
		case <-fired:
		}
		stop()
	}
}

// ring does what alarms stand for: who has waited for long enough is told so, and locks
// are settled, those of a tenant together.
func (s *Store) ring(list []*alarm) {
	locks, agents := map[*tenant][]string{}, map[*tenant][]string{}
	for _, a := range list {
		switch of := a.of.(type) {
		case *waiter:
			if s.timeOut(of) {
				locks[of.t] = append(locks[of.t], of.Name)
			}
		case *tenant:
			s.sweep(of)
		case *heart:
			agents[of.t] = append(agents[of.t], of.agent)
		case *queue:
			locks[of.t] = append(locks[of.t], of.name)
		}
	}
	for t, names := range locks {
		slices.Sort(names)
		s.settle(t, names, agents[t])
		delete(agents, t)
	}
	for t, names := range agents {
		s.settle(t, nil, names)
	}
}
