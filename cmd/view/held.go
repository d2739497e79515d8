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
	failed error           // why it did not
}

func hold(open func() (*inspect.Source, error)) (*held, error) {
	source, err := open()
	if err != nil {
		return nil, err
	}
	return &held{open: open, source: source}, nil
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

// reopen waits for those who read, closes the source and opens it again.
func (h *held) reopen() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var closing error
	if h.source != nil {
		closing = h.source.Close()
	}
	h.source, h.failed = h.open()
	return errors.Join(h.failed, closing)
}

func (h *held) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.source == nil {
		return nil
	}
	err := h.source.Close()
	h.source = nil
	return err
}
