package view

import (
	"errors"
	"sync"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/engine"
)

// held is the source that is shown. It may be replaced while others wait for it,
// and is never closed under who reads it.
type held struct {
	open func() (*inspect.Source, error)

	mu     sync.RWMutex
	source *inspect.Source // nil once it is closed, or if it did not open again
	rules  *governance     // of the source
	sets   *policies       // of the source, once somebody has asked for them
	first  sync.Mutex      // of who asks for them first
	failed error           // why it did not
}

func hold(open func() (*inspect.Source, error)) (*held, error) {
	h := &held{open: open}
	if h.take(); h.failed != nil {
		return nil, h.failed
	}
	return h, nil
}

// take opens the source.
func (h *held) take() {
	if h.source, h.failed = h.open(); h.failed != nil {
		return
	}
	if h.rules, h.failed = governanceOf(h.source); h.failed != nil {
		h.failed = errors.Join(h.failed, h.source.Close())
		h.source = nil
	}
}

// drop closes the source, if it is open.
func (h *held) drop() error {
	if h.source == nil {
		return nil
	}
	err := h.rules.ops.Close()
	if h.sets != nil {
		h.sets.jobs.Close()
		h.sets.locks.Close()
		err = errors.Join(err, h.sets.kv.Close())
	}
	err = errors.Join(err, h.source.Close())
	h.source, h.rules, h.sets = nil, nil, nil
	return err
}

// with calls read with the source, which stays open until it returns.
func (h *held) with(read func(*inspect.Source) error) error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.source == nil {
		return errors.Join(engine.ErrClosed, h.failed)
	}
	return read(h.source)
}

// governed is with for who asks for the governance too.
func (h *held) governed(read func(*inspect.Source, *governance) error) error {
	return h.with(func(src *inspect.Source) error { return read(src, h.rules) })
}

// recorded is with for who asks for records and what is decided by them.
func (h *held) recorded(read func(*policies) error) error {
	return h.with(func(src *inspect.Source) error {
		sets, err := h.collections(src)
		if err != nil {
			return err
		}
		return read(sets)
	})
}

// collections opens the records of the source, unless they are.
func (h *held) collections(src *inspect.Source) (sets *policies, err error) {
	h.first.Lock()
	defer h.first.Unlock()
	if h.sets == nil {
		h.sets, err = policiesOf(src)
	}
	return h.sets, err
}

// reopen waits for those who read, closes the source and opens it again.
func (h *held) reopen() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	closing := h.drop()
	h.take()
	return errors.Join(h.failed, closing)
}

func (h *held) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.drop()
}
