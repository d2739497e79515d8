package faulty

import "github.com/stoadb/stoa/engine"

// Apply makes all changes of a batch, or none; see [engine.Writer]. It is a counted
// write.
func (e *Engine) Apply(b *engine.Batch) error {
	return e.do(Writes, func() error { return e.inner.Apply(b) })
}

// Update lets fn read and write with no other write in between; see [engine.Engine]. It
// is a counted write. Where it is to have no effect fn runs all the same, so that a
// caller who takes from fn what was never written is found out. What fn reads are
// counted reads; after a crash at one of them nothing is written, whatever fn returns.
func (e *Engine) Update(fn func(engine.Getter, *engine.Batch) error) error {
	what := e.begin(Writes)
	if what == gone {
		return ErrCrashed
	}
	return e.end(what, e.inner.Update(func(g engine.Getter, b *engine.Batch) error {
		if err := fn(reader{e, g.(engine.Reader)}, b); err != nil {
			return err
		}
		return e.end(pass, e.fault(what))
	}))
}
