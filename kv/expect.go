package kv

import "context"

// expectation is the key of what a context has units of work expect.
type expectation struct{}

// Expecting returns a context by which each unit of work ([Store.Update], [Space.Update]) is
// made only if check, which is called first in it, refuses nothing: else nothing of the
// unit is written, and the error is that of check. So a caller can have any change, of
// whatever package makes it, expect something of other spaces of its tenant. What is
// checked is part of the batch; check must not change anything. Of contexts within one
// another the innermost counts.
func Expecting(ctx context.Context, check func(*Work) error) context.Context {
	return context.WithValue(ctx, expectation{}, check)
}

// Expects reports whether ctx is of [Expecting]: then even a change that comes to nothing is
// to be made, so that its expectation is looked at.
func Expects(ctx context.Context) bool { return ctx.Value(expectation{}) != nil }

// expected looks at what a context expects.
func (u *unit) expected(ctx context.Context) error {
	if check, ok := ctx.Value(expectation{}).(func(*Work) error); ok {
		return check(&Work{u})
	}
	return nil
}
