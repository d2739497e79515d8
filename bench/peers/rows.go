package main

import (
	"errors"

	"github.com/stoadb/stoa/bench"
)

// loadRows is how many rows are written at once when a store is filled.
const loadRows = 1000

var (
	errSize   = errors.New("a key or value of another size")
	errStored = errors.New("a row that should not be stored is")
	errAbsent = errors.New("a row that should be stored is not")
)

// rows builds keys and values in memory that it uses again.
type rows struct {
	data  *bench.Dataset
	key   [bench.KeyBytes]byte
	value [bench.ValueBytes]byte
}

// at returns the key of a row, valid until the next call.
func (r *rows) at(row int) []byte {
	key, _ := r.data.Key(row).AppendBinary(r.key[:0]) // a key of this type always encodes
	return key
}

// of returns the key and the value of a row, valid until the next call.
func (r *rows) of(row int) (key, value []byte) {
	r.data.Fill(r.value[:], row)
	return r.at(row), r.value[:]
}

// sized checks what a scan came by.
func sized(key, value []byte) error {
	if len(key) != bench.KeyBytes || len(value) != bench.ValueBytes {
		return errSize
	}
	return nil
}
