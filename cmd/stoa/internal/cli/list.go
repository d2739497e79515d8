package cli

import (
	"fmt"
	"io"
)

// List emits each of what a page after page yields, as a line of JSON or of
// text, and then says how many there were.
func List[T any](p *Process, noun string, all func(yield func(T, error) bool), doc func(T) (any, error), text func(io.Writer, T)) error {
	n := 0
	for v, err := range all {
		if err != nil {
			return err
		}
		n++
		d, err := doc(v)
		if err != nil {
			return err
		}
		if err := p.Emit(d, func(w io.Writer) { text(w, v) }); err != nil {
			return err
		}
	}
	if !p.JSON {
		fmt.Fprintln(p.Stderr, Count(n, noun))
	}
	return nil
}
