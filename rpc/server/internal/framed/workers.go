package framed

import "sync"

// maxIdleWorkers is how many goroutines are kept for calls to come.
const maxIdleWorkers = 64

// workers run calls on goroutines that are used again: the stack of a new one is
// small, and grows, at each call, by copying all of it several times.
type workers struct {
	jobs chan func()
	stop chan struct{}
	all  sync.WaitGroup

	mu   sync.Mutex
	idle int
}

func newWorkers() *workers { return &workers{jobs: make(chan func()), stop: make(chan struct{})} }

// run runs job on a goroutine. It does not wait.
func (w *workers) run(job func()) {
	select {
	case w.jobs <- job:
	default:
		w.all.Go(func() { w.work(job) })
	}
}

func (w *workers) work(job func()) {
	for {
		job()
		job = nil // what it holds is garbage while the worker is idle
		if !w.rest(1) {
			return
		}
		select {
		case job = <-w.jobs:
			w.rest(-1)
		case <-w.stop:
			return
		}
	}
}

// rest counts who is idle, and returns false if there are enough.
func (w *workers) rest(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 && w.idle >= maxIdleWorkers {
		return false
	}
	w.idle += n
	return true
}

// end ends the goroutines, once all jobs are done, and waits for them. No job may
// come after it.
func (w *workers) end() {
	close(w.stop)
	w.all.Wait()
}
