package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/lock"
)

// patience is how long is waited, in time that really passes, for what is to come.
const patience = time.Minute

// Try asks for a lock without waiting.
func (h *Host) Try(agent, name string, mode lock.Mode) (lock.Grant, error) {
	return h.Acquire(ctx, "t", lock.Request{Name: name, Agent: agent, Mode: mode, Durability: engine.WAL})
}

// Take takes a lock that is free.
func (h *Host) Take(agent, name string, mode lock.Mode) lock.Grant {
	h.T.Helper()
	g, err := h.Try(agent, name, mode)
	require.NoError(h.T, err)
	return g
}

// Free releases a lock, and says whether the agent held it.
func (h *Host) Free(agent, name string) bool {
	h.T.Helper()
	held, err := h.Release(ctx, "t", lock.Holding{Name: name, Agent: agent}, engine.WAL)
	require.NoError(h.T, err)
	return held
}

// Of is what is known of a lock.
func (h *Host) Of(name string) lock.Lock {
	h.T.Helper()
	l, err := h.Get("t", name)
	require.NoError(h.T, err)
	return l
}

// Call is a request that waits. Grant and Err are what came of it, once it is Done.
type Call struct {
	Cancel context.CancelFunc
	Done   chan struct{}
	Grant  lock.Grant
	Err    error
}

// Wait has a request wait, and returns once it is in the queue, or has its answer.
func (h *Host) Wait(r lock.Request) *Call {
	h.T.Helper()
	ctx, cancel := context.WithCancel(ctx)
	r.Wait, r.Durability = true, engine.WAL
	c := &Call{Cancel: cancel, Done: make(chan struct{})}
	queued := make(chan struct{}, 1)
	moved := r.Moved
	r.Moved = func(place int) {
		select {
		case queued <- struct{}{}:
		default:
		}
		if moved != nil {
			moved(place)
		}
	}
	go func() {
		c.Grant, c.Err = h.Acquire(ctx, "t", r)
		close(c.Done)
	}()
	select {
	case <-queued:
	case <-c.Done:
	case <-time.After(patience):
		require.Fail(h.T, "it does not wait")
	}
	return c
}

// queued has a request wait, and demands that it is in the queue.
func (h *Host) queued(r lock.Request) *Call {
	h.T.Helper()
	c := h.Wait(r)
	select {
	case <-c.Done:
		require.Fail(h.T, "it is answered at once", "%+v: %v", r, c.Err)
	default:
	}
	return c
}

// Granted waits for the answer, which is a grant.
func (h *Host) Granted(c *Call) lock.Grant {
	h.T.Helper()
	h.Answered(c)
	require.NoError(h.T, c.Err)
	return c.Grant
}

// Answered waits for the answer.
func (h *Host) Answered(c *Call) {
	h.T.Helper()
	select {
	case <-c.Done:
	case <-time.After(patience):
		require.Fail(h.T, "no answer")
	}
}

// Waits demands that a call has no answer.
func (h *Host) Waits(c *Call) {
	h.T.Helper()
	select {
	case <-c.Done:
		require.Fail(h.T, "it has an answer", "%v %v", c.Grant, c.Err)
	case <-time.After(2 * time.Millisecond):
	}
}

// Soon waits while time stands still.
func (h *Host) Soon(what string, done func() bool) {
	h.T.Helper()
	if done() {
		return
	}
	require.Eventually(h.T, done, patience, time.Millisecond, what)
}

// Space is that of the locks of a tenant; nil: it has none.
func (h *Host) Space(tenant string) *kv.Space {
	h.T.Helper()
	of := lock.Type()
	space, err := h.KV.Space(tenant, of.System, of.Space)
	if errors.Is(err, kv.ErrSpaceNotFound) {
		return nil
	}
	require.NoError(h.T, err)
	return space
}

// refused demands that a request was refused with a code, and returns why.
func (h *Host) refused(err error, code lock.Code) *lock.Error {
	h.T.Helper()
	var e *lock.Error
	require.ErrorAs(h.T, err, &e)
	require.Equal(h.T, code, e.Code, e.Error())
	return e
}
