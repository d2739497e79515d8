package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine/rocks"
)

// withOffline opens a directory that no daemon has open, for writing, does what
// is asked, and prints that it is done.
func (p *process) withOffline(dir string, do func(*rocks.Engine) error, done any, text func(io.Writer)) error {
	e, err := openOffline(dir, rocks.Options{MustExist: true})
	if err != nil {
		return err
	}
	if err := errors.Join(do(e), e.Close()); err != nil {
		return err
	}
	return p.emit(done, text)
}

// rewriteColumns rewrites the tables of a column; of all, if it is 0.
func rewriteColumns(e *rocks.Engine, col column.Column) error {
	for c := range column.All {
		if col != 0 && c != col {
			continue
		}
		if err := e.Rewrite(c); err != nil {
			return fmt.Errorf("%s is not compacted: %w", c, err)
		}
	}
	return nil
}
