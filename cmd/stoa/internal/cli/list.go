package cli

import (
	"bufio"
	"errors"
	"io"
	"iter"
)

// List prints each of all, as a line of JSON or of text, and then says how many there
// were.
func List[T any](p *Process, noun string, all iter.Seq2[T, error], doc func(T) (any, error), text func(io.Writer, T)) error {
	w := bufio.NewWriter(p.Stdout)
	n, err := writeList(p, w, all, doc, text)
	if err := errors.Join(err, w.Flush()); err != nil {
		return err
	}
	p.Guide(Count(n, noun))
	return nil
}

// writeList writes a list, and returns how many there were.
func writeList[T any](p *Process, w io.Writer, all iter.Seq2[T, error], doc func(T) (any, error), text func(io.Writer, T)) (n int, err error) {
	for v, err := range all {
		if err != nil {
			return n, err
		}
		n++
		if !p.JSON {
			text(w, v)
			continue
		}
		d, err := doc(v)
		if err == nil {
			err = WriteJSON(w, d)
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
