package torture

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stoadb/stoa/rpc"
)

// load is the workers of a harness at work, each on a goroutine of its own.
type load struct {
	workers []named
	acks    []int        // by worker; read after end
	total   atomic.Int64 // of acknowledgements
	refused []atomic.Int64
	unsure  []bool      // by worker: it has to recount
	over    atomic.Bool // from now on calls may fail
	errs    chan error  // one of each worker
	bears   func(error) bool
	served  *served
	frail   bool // it may end by itself
	rest    time.Duration
}

// work has the workers use a daemon until end.
func (h *harness) work(clients []*rpc.Client) *load {
	n := len(h.workers)
	l := &load{
		workers: h.workers, acks: make([]int, n), refused: make([]atomic.Int64, n), unsure: make([]bool, n),
		errs: make(chan error, n), bears: h.bears, rest: h.rest, served: h.served, frail: h.frail,
	}
	for i := range l.workers {
		go func() { l.errs <- l.one(i, clients[i%len(clients)]) }()
	}
	return l
}

// one is a worker at work. It returns what is wrong.
func (l *load) one(i int, c *rpc.Client) error {
	for !l.over.Load() {
		err := l.turn(i, c)
		switch {
		case err == nil:
			l.acks[i]++
			l.total.Add(1)
		case errors.Is(err, errLater):
		case isWrong(err):
			return fmt.Errorf("%s: %w", l.workers[i].does, err)
		case l.over.Load():
		case l.bears != nil && l.bears(err):
			l.unsure[i] = true
			l.refused[i].Add(1)
			time.Sleep(5 * time.Millisecond)
		case l.frail && l.served.over(5*time.Second):
			return nil
		case errors.Is(err, rpc.ErrUnavailable):
			return fmt.Errorf("%s: %w; the daemon %s", l.workers[i].does, err, l.served.fate())
		default:
			return fmt.Errorf("%s: %w", l.workers[i].does, err)
		}
		time.Sleep(l.rest)
	}
	return nil
}

// turn is one use, after a recount where one has failed.
func (l *load) turn(i int, c *rpc.Client) error {
	if l.unsure[i] {
		if err := recount(l.workers[i], c); err != nil {
			return err
		}
		l.unsure[i] = false
	}
	return l.workers[i].use(c)
}

// progress waits until n more writes are acknowledged, or one has failed.
func (l *load) progress(n int) error { return l.progressOf(n, func() bool { return false }) }

// progressOf is progress of a daemon that may end by itself: it waits no longer then.
func (l *load) progressOf(n int, ended func() bool) error {
	from := l.total.Load()
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(200 * time.Microsecond) {
		now := l.total.Load() - from
		if now >= int64(n) || len(l.errs) > 0 || ended() { // end says which
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d writes were acknowledged within ten minutes, of %d", now, n)
		}
	}
}

// standstill waits until every worker has been refused something three times, or one has failed.
func (l *load) standstill() error {
	for deadline := time.Now().Add(10 * time.Minute); len(l.errs) == 0; time.Sleep(time.Millisecond) {
		taken := 0
		for taken < len(l.refused) && l.refused[taken].Load() >= 3 {
			taken++
		}
		if taken == len(l.refused) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: still taken after ten minutes and %d writes", l.workers[taken].does, l.total.Load())
		}
	}
	return nil // end says why
}

// end waits until no worker works any more, counts what they did, and returns what
// was wrong. Before the daemon is killed over must be set.
func (l *load) end(h *harness) (err error) {
	l.over.Store(true)
	for range l.workers {
		err = errors.Join(err, <-l.errs)
	}
	for i, w := range l.workers {
		h.acks[w.does] += l.acks[i]
	}
	return err
}
