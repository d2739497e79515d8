package faulty

import "github.com/stoadb/stoa/engine"

// Apply is engine.Writer's.
func (e *Engine) Apply(b *engine.Batch) error {
	return e.do(Writes, func() error { return e.inner.Apply(b) })
}

// Update is engine.Engine's. See Options for when fn is called.
func (e *Engine) Update(fn func(engine.Getter, *engine.Batch) error) error {
	c := e.begin(Writes, e.now())
	if c.dead {
		return ErrCrashed
	}
	return c.end(e.inner.Update(func(g engine.Getter, b *engine.Batch) error {
		if err := fn(getter{e, g, c.life}, b); err != nil {
			return err
		}
		return c.before()
	}))
}
