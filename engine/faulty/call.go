package faulty

// call is one call on its way to the wrapped engine.
type call struct {
	engine *Engine
	life   uint64 // of what is called
	dead   bool   // it came after a crash
	hit    bool
	fault  Fault
	err    error // of a Fail
}

// begin counts a call of something that belongs to the given life.
func (e *Engine) begin(kind Calls, life uint64) call {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := call{engine: e, life: life, dead: e.crashed || life != e.life}
	if c.dead || !e.count(kind) {
		return c
	}
	c.hit, c.fault, c.err = true, e.o.Fault, e.o.Err
	if c.err == nil {
		c.err = ErrFault
	}
	return c
}

// count counts a call and reports whether it is to be hit. The caller holds mu.
func (e *Engine) count(kind Calls) bool {
	switch kind {
	case Writes:
		e.counts.Writes++
	case Reads:
		e.counts.Reads++
	default:
		e.counts.Maintenance++
	}
	if e.o.At == 0 || e.o.Calls != All && e.o.Calls != kind {
		return false
	}
	n := e.counts.of(e.o.Calls)
	return n >= e.o.At && (e.o.Times < 0 || n-e.o.At < uint64(max(e.o.Times, 1)))
}

func (c Counts) of(kind Calls) uint64 {
	switch kind {
	case Writes:
		return c.Writes
	case Reads:
		return c.Reads
	}
	return c.Reads + c.Writes + c.Maintenance
}

// before returns what the call is to return instead of having its effect, or
// nil.
func (c call) before() error {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	if c.hit && c.fault == Fail {
		return c.err
	}
	if c.hit && c.fault == CrashBefore && c.life == c.engine.life {
		c.engine.crashed = true
	}
	if c.gone() {
		return ErrCrashed
	}
	return nil
}

// end returns what the call is to return instead of err.
func (c call) end(err error) error {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	if c.hit && c.fault != Fail && c.life == c.engine.life {
		c.engine.crashed = true
	}
	if c.gone() {
		return ErrCrashed
	}
	return err
}

// gone reports whether the process that made the call has died. The caller
// holds mu.
func (c call) gone() bool { return c.dead || c.engine.crashed || c.life != c.engine.life }

// now returns the life that calls of the engine itself belong to.
func (e *Engine) now() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.life
}

// do makes a call that has no result but its error.
func (e *Engine) do(kind Calls, fn func() error) error {
	c := e.begin(kind, e.now())
	if err := c.before(); err != nil {
		return err
	}
	return c.end(fn())
}
