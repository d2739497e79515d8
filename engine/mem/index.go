package mem

import (
	"unsafe"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// index is the present values of all columns by key, for gets: to walk down a tree
// looks at some twenty keys, each in another place. It shares the memory of the
// items of the view.
type index [column.Count + 1]map[string][]byte

func (x *index) get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if err := engine.CheckColumn(col); err != nil {
		return dst, err
	}
	value, ok := x[col][string(key)]
	if !ok {
		return dst, engine.ErrNotFound
	}
	return append(dst, value...), nil
}

// put stores a value. An item that is replaced leaves its key behind: the memory
// of both must not be that of the old one.
func (x *index) put(col column.Column, i item) {
	name := unsafe.String(unsafe.SliceData(i.key), len(i.key)) // it is never changed
	delete(x[col], name)
	x[col][name] = i.value
}

func (x *index) remove(col column.Column, key []byte) { delete(x[col], string(key)) }
