package dag

import (
	"errors"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// view is the store with the changes of a batch that is being made on top. It is for
// one goroutine.
type view struct {
	engine.Overlay
	buf []byte
}

// has reports whether there is a row of Generic under key.
func (v *view) has(key []byte) (bool, error) {
	var err error
	v.buf, err = v.Get(v.buf[:0], column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// errStop ends a scan that has seen enough.
var errStop = errors.New("dag: enough")

// scan calls fn with the rows of Generic from start on whose keys begin with
// prefix, in order, until it returns an error; errStop is none. fn must not change
// the batch; key and value are valid during the call.
func (v *view) scan(prefix, start []byte, fn func(key, value []byte) error) error {
	rg := engine.Prefixed(prefix)
	rg.Start = start
	if err := each(v, rg, fn); err != errStop {
		return err
	}
	return nil
}
