package view

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/cmd/inspect"
)

// What a store may have for the fast checks to begin by themselves, since they read all
// of it: they take a second or two.
const (
	smallRows  = 100_000
	smallBytes = 256 << 20
)

// errNotSmall ends checks of a store that has more rows than was known.
var errNotSmall = fmt.Errorf("it has more than %d rows", 2*smallRows)

// checkSmall lets the fast checks of a store of this extent begin, unless they would take
// long: unchecked says why then, and is empty otherwise.
func (s *Server) checkSmall(rows, size uint64) (unchecked string) {
	switch {
	case rows > smallRows:
		return fmt.Sprintf("The fast checks do not run by themselves: they read every row, and there are about %d.", rows)
	case size > smallBytes:
		return fmt.Sprintf("The fast checks do not run by themselves: they read the whole store, and it has %d MiB.", size>>20)
	}
	if s.jobs.get("fast", false, nil).State == "idle" { // one that has failed is not begun again
		s.jobs.get("fast", true, s.verifying(inspect.VerifyOptions{}, 2*smallRows))
	}
	return ""
}

// verifying returns the work of a verification, which breaks off behind so many rows; 0:
// it does not.
func (s *Server) verifying(o inspect.VerifyOptions, most uint64) func(context.Context, *job) {
	return func(ctx context.Context, j *job) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		err := s.store.with(func(src *inspect.Source) error {
			j.expect(src.Keys())
			return nil
		})
		o.Progress = func(rows uint64) {
			if read := j.progress(rows); most > 0 && read > most {
				cancel(errNotSmall)
			}
		}
		var v *inspect.Verdict
		if err == nil {
			v, err = s.verify(ctx, o, j.finding)
		}
		switch {
		case !errors.Is(err, context.Canceled):
		case errors.Is(context.Cause(ctx), errNotSmall):
			err = fmt.Errorf("the checks that begin by themselves were broken off: %w", errNotSmall)
		default:
			err = errors.New("it was broken off")
		}
		j.end(nil, v, err)
	}
}
